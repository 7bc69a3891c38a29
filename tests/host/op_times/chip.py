#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of a chip for weft's external operator times: matmuls at 500 Tflop/s, nothing else."""

import json
import sys

for line in sys.stdin:
    question = json.loads(line)
    if "weft_operator_times" in question:
        answer = {"weft_operator_times": 1, "name": sys.argv[1] + " chip"}
    elif question["operator"] == "matmul":
        operations = 2 * question["rows"] * question["columns"] * question["inner"] * question["groups"]
        answer = {"id": question["id"], "time_us": operations / 500e6}
    else:
        answer = {"id": question["id"], "time_us": None}
    print(json.dumps(answer), flush=True)
