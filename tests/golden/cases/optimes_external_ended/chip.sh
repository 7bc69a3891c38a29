# SPDX-License-Identifier: Apache-2.0
read greeting
exit 4
