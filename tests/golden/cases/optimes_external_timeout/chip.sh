# SPDX-License-Identifier: Apache-2.0
read greeting
read silence
