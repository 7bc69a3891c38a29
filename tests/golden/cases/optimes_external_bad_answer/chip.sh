# SPDX-License-Identifier: Apache-2.0
read greeting
echo '{"weft_operator_times": 1, "name": "shell"}'
read question
echo '{"id": 1, "time_ms": 0.8}'
