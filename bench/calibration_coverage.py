#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often weft calibrate finds parameters that are known, and how often its intervals hold them.

Usage: bench/calibration_coverage.py [--weft=build/weft] [--repetitions=20] [--noise=0.005,0.01,0.02,0.05] [--threads=2]

Two jobs on a fat tree run with five parameters that nobody tells the calibration. Times of their flows, collectives and iterations get
noise, drawn anew for each repetition, and `weft calibrate` is to find the parameters from them, with all its defaults. Prints for each
noise and parameter how often
  covered      the 95 % interval held the true value
  within 5 %   the value was found within 5 %
  flagged      or the calibration said that the times do not tell it so well
Exit status 1 if an interval of 20 repetitions held the truth in fewer than 18, or in a like share of another number, or if a value was
neither found within 5 % nor flagged.
"""

import argparse
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TRUTH = {
    "flow.wqe_latency": "2.3us",
    "flow.switching_delay": "800ns",
    "flow.network_efficiency": "0.93",
    "flow.extra_header": "50B",
    "host.kernel_launch_latency": "6us",
}
TABLES = {"flows.csv": "fct_ns", "collectives.csv": "duration_ns", "iterations.csv": "duration_s"}
FILES = {
    "wide.textproto": """ranks: 16
communicator { name: "all" size: 16 }
role { name: "all"
  op { name: "c1" compute { duration: "20us" } }
  op { name: "a1" collective { type: ALL_REDUCE communicator: "all" size: "64kB" } deps: "c1" }
  op { name: "c2" compute { duration: "20us" } deps: "a1" }
  op { name: "a2" collective { type: ALL_REDUCE communicator: "all" size: "1MB" } deps: "c2" }
  op { name: "c3" compute { duration: "20us" } deps: "a2" }
  op { name: "a3" collective { type: ALL_GATHER communicator: "all" size: "4MB" } deps: "c3" }
}
""",
    "small.textproto": """ranks: 4
communicator { name: "all" size: 4 }
role { name: "all"
  op { name: "c1" compute { duration: "20us" } }
  op { name: "a1" collective { type: ALL_REDUCE communicator: "all" size: "1kB" } deps: "c1" }
  op { name: "c2" compute { duration: "20us" } deps: "a1" }
  op { name: "a2" collective { type: ALL_REDUCE communicator: "all" size: "200kB" } deps: "c2" }
  op { name: "c3" compute { duration: "5us" } deps: "a2" }
}
""",
    "scenario.textproto": """topology { builder: "fat_tree" set { name: "k" value: "8" } set { name: "nic_rate" value: "100Gbps" }
           set { name: "fabric_rate" value: "100Gbps" } }
job { name: "wide" gpus: 16 iterations: 2 workload { file: "wide.textproto" } }
job { name: "small" gpus: 4 iterations: 20 workload { file: "small.textproto" } }
set { name: "collective.all_reduce" value: "ring" }
set { name: "collective.all_gather" value: "ring" }
set { name: "collective.protocol" value: "ideal" }
""",
}
UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "B": 1.0, "": 1.0}


def number(text):
    value, unit = re.fullmatch(r"([-+.\de]+?)(ps|ns|us|ms|s|B|)", text).groups()
    return float(value) * UNITS[unit]


def weft(program, folder, *arguments):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"calibration_coverage.py: error: weft {' '.join(arguments)} ended with status {done.returncode}\n{done.stderr}")
    return done.stdout


def write_noisy(folder, noise, seed):
    draw = random.Random(seed)
    for table, column in TABLES.items():
        with open(folder / "truth" / table, newline="") as source, open(folder / table, "w", newline="") as target:
            rows = csv.DictReader(source)
            writer = csv.DictWriter(target, rows.fieldnames)
            writer.writeheader()
            for row in rows:
                row[column] = f"{float(row[column]) * (1 + noise * draw.gauss(0, 1)):.12g}"
                writer.writerow(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="build/weft", help="the program; default %(default)s")
    parser.add_argument("--repetitions", type=int, default=20, help="of each noise; default %(default)s")
    parser.add_argument("--noise", default="0.005,0.01,0.02,0.05", help="standard deviations, as shares; default %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="of each calibration; default %(default)s")
    options = parser.parse_args()
    program = str(Path(options.weft).resolve())

    is_good = True
    print(f"{'noise':>6}  {'parameter':28}  {'covered':>8}  {'within 5 %':>10}  {'flagged':>8}  {'neither':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        settings = [f"--set={parameter}={value}" for parameter, value in TRUTH.items()]
        weft(program, folder, "run", "scenario.textproto", *settings, "--quiet", "--out=truth")
        for noise in [float(text) for text in options.noise.split(",")]:
            counts = {parameter: [0, 0, 0, 0] for parameter in TRUTH}
            for repetition in range(options.repetitions):
                write_noisy(folder, noise, f"{noise} {repetition}")
                measured = [f"--measured={table}" for table in TABLES]
                found = json.loads(
                    weft(program, folder, "calibrate", "--scenario=scenario.textproto", *measured, f"--fit={','.join(TRUTH)}", "--json",
                         "--quiet", "--anew", f"--threads={options.threads}")
                )  # fmt: skip
                for one in found["parameters"]:
                    truth = number(TRUTH[one["name"]])
                    count = counts[one["name"]]
                    count[0] += number(one["low"]) <= truth <= number(one["high"])
                    is_within = abs(number(one["fitted"]) - truth) <= 0.05 * truth
                    is_flagged = one["knowledge"] != "identified"
                    count[1] += is_within
                    count[2] += is_flagged
                    count[3] += not is_within and not is_flagged
            for parameter, (covered, within, flagged, neither) in counts.items():
                is_good = is_good and covered >= 0.9 * options.repetitions and neither == 0
                print(f"{noise:6.1%}  {parameter:28}  {covered:8}  {within:10}  {flagged:8}  {neither:8}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
