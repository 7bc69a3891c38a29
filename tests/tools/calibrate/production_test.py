#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flow mode is calibrated to packet mode in two small scenarios, one of them held out, by bench/calibration_production.py.

Usage: production_test.py WEFT

Expectation: of a ring nothing collides, so that both modes are within 1 % before and within 0.5 % after. A production with latencies,
headers and an efficiency of its own is more than 10 % off before; after, the ring is within 0.5 % again, the all-to-all that was held
out errs by what its collisions make, and the latency of the work queue is found to 6 %.
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parents[3] / "bench" / "calibration_production.py"


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def main():
    failures = []

    def expect(holds, what):
        if not holds:
            failures.append(what)

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-B", str(BENCH), f"--weft={sys.argv[1]}", "--scenarios=tree16", f"--out={folder}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        errors = {(row["production"], row["ordering_constraint"], row["part"]): row for row in read_rows(Path(folder) / "errors.csv")}
        parameters = {(row["production"], row["ordering_constraint"], row["parameter"]): row
                      for row in read_rows(Path(folder) / "parameters.csv")}  # fmt: skip
    for constraint in ("off", "on"):
        for production, part, before, after in [
            ("packet", "training", (0, 0.01), (0, 0.005)),
            ("packet", "held out", (0, 0.03), (0, 0.03)),
            ("packet, slow", "training", (0.10, 0.20), (0, 0.005)),
            ("packet, slow", "held out", (0.10, 0.20), (0, 0.04)),
        ]:
            row = errors[production, constraint, part]
            for when, (low, high) in (("before", before), ("after", after)):
                error = float(row[f"MAPE_{when}"])
                expect(low <= error <= high, f"{production}, {part}, constraint {constraint}: {error:.4f} {when}, not {low} .. {high}")
        found = parameters["packet, slow", constraint, "flow.wqe_latency"]
        expect(found["fitted"].endswith("us") and abs(float(found["fitted"][:-2]) / 2.3 - 1) < 0.06, f"wqe_latency: {found}")
        expect(found["knowledge"] == "identified", f"wqe_latency: {found}")
    for failure in failures:
        print(failure)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
