#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the time of a run grows with the cluster: one mix of jobs per 1,024 GPUs, on ever more GPUs.

Usage: bench/scaling.py [--weft=build/weft] [--gpus=1024,2048,...] [--repetitions=3] [--out=DIR] [--routing=spray] [--instructions]
                        [--set=NAME=VALUE ...]

Every 1,024 GPUs of a rail-optimized fabric of HGX H100 servers run the same jobs, three iterations each:
  one mixture-of-experts job of 512 GPUs     all-to-all in groups of 64 GPUs, all-reduce over the groups
  one tensor- and data-parallel job of 256   all-gather in groups of 8, all-reduce over 32
  four data-parallel jobs of 64              all-reduce over all
Paths are sprayed, so that ranks that are alike are simulated once (host.fold_ranks); with --routing=ecmp they are hashed, and collide:
every rank is simulated. Prints the CPU time of every run (user and system, reading and writing included, the least of the repetitions),
the exponent of the growth between neighbours, and the time over n log n relative to the first size, which must not grow; writes
scaling.csv and the plot scaling.svg. Exit status 1 if the time over n log n at the largest cluster is more than twice that at the
smallest.
With --instructions it counts what the program does instead of timing it, once and under valgrind, some 25 times as slowly: this grows
with the work alone, while time also grows where the state of a large cluster no longer fits into caches. Exit status 1 if these
grow faster than n log n.
"""

import argparse
import csv
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

GPUS_PER_MIX = 1024


class Cost(NamedTuple):
    name: str  # in scaling.csv
    title: str
    unit: str
    worst: float  # over n log n, relative to the smallest cluster


TIME = Cost("cpu_s", "CPU time", "s", 2.0)
INSTRUCTIONS = Cost("million_instructions", "Instructions", "M", 1.0)

WORKLOADS = {
    "experts": """ranks: 512
communicator { name: "ep" size: 64 }
communicator { name: "dp" size: 8 stride: 64 }
role { name: "all"
  op { name: "attention" compute { duration: "1ms" } }
  op { name: "dispatch" collective { type: ALL_TO_ALL communicator: "ep" size: "64MB" } deps: "attention" }
  op { name: "experts" compute { duration: "2ms" } deps: "dispatch" }
  op { name: "combine" collective { type: ALL_TO_ALL communicator: "ep" size: "64MB" } deps: "experts" }
  op { name: "gradients" collective { type: ALL_REDUCE communicator: "dp" size: "256MB" } deps: "combine" }
}
""",
    "tensor": """ranks: 256
communicator { name: "tp" size: 8 }
communicator { name: "dp" size: 32 stride: 8 }
role { name: "all"
  op { name: "forward" compute { duration: "3ms" } }
  op { name: "gather" collective { type: ALL_GATHER communicator: "tp" size: "32MB" } deps: "forward" }
  op { name: "backward" compute { duration: "6ms" } deps: "gather" }
  op { name: "gradients" collective { type: ALL_REDUCE communicator: "dp" size: "512MB" } deps: "backward" }
}
""",
    "data": """ranks: 64
role { name: "all"
  op { name: "step" compute { duration: "5ms" } }
  op { name: "gradients" collective { type: ALL_REDUCE size: "1GB" } deps: "step" }
}
""",
}
JOBS = ["experts", "tensor", "data", "data", "data", "data"]


def write_scenario(folder, gpus):
    for name, text in WORKLOADS.items():
        (folder / f"{name}.textproto").write_text(text)
    shape = {"hosts": gpus // 8, "server": "hgx_h100", "hosts_per_leaf_group": 64, "spines": 64}
    sets = " ".join(f'set {{ name: "{name}" value: "{value}" }}' for name, value in shape.items())
    lines = [f'topology {{ builder: "rail_optimized" {sets} }}']
    for mix in range(gpus // GPUS_PER_MIX):
        for i, job in enumerate(JOBS):
            lines.append(f'job {{ name: "{job}{mix}.{i}" iterations: 3 workload {{ file: "{job}.textproto" }} }}')
    path = folder / f"scenario_{gpus}.textproto"
    path.write_text("\n".join(lines) + "\n")
    return path


def cpu_seconds(command):
    """Of the command and nothing else."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"scaling.py: error: {' '.join(command)} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def instructions(command):
    """That the command executes, in millions."""
    if shutil.which("valgrind") is None:
        sys.exit("scaling.py: error: --instructions needs valgrind")
    counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    process = subprocess.run([*counter, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    counts = re.findall(r"I\s+refs:\s+([\d,]+)", process.stderr)
    if process.returncode != 0 or not counts:
        sys.exit(f"scaling.py: error: {' '.join(command)} under valgrind ended with status {process.returncode}\n{process.stderr}")
    # Processes that it starts are told of as well.
    return max(int(count.replace(",", "")) for count in counts) / 1e6


def n_log_n(gpus):
    return gpus * math.log2(gpus)


def plot(rows, cost, path):
    """The cost over GPUs, both axes logarithmic, with n log n through the first point."""
    width, height, left, bottom, top = 640, 420, 70, 50, 30
    first = rows[0]
    bound = [first[cost.name] * n_log_n(row["gpus"]) / n_log_n(first["gpus"]) for row in rows]
    low = math.floor(math.log10(min(row[cost.name] for row in rows)))
    high = math.ceil(math.log10(max(bound + [row[cost.name] for row in rows])))
    high = max(high, low + 1)
    span = math.log2(rows[-1]["gpus"] / first["gpus"]) or 1

    def x(gpus):
        return left + (width - left - 30) * math.log2(gpus / first["gpus"]) / span

    def y(value):
        return top + (height - top - bottom) * (high - math.log10(value)) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="18">{cost.title} of a run, one mix of jobs per {GPUS_PER_MIX} GPUs</text>',
    ]
    for exponent in range(low, high + 1):
        at = y(10**exponent)
        parts.append(f'<line x1="{left}" y1="{at:.1f}" x2="{width - 30}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**exponent:g} {cost.unit}</text>')
    for row in rows:
        at = x(row["gpus"])
        parts.append(f'<text x="{at:.1f}" y="{height - bottom + 18}" text-anchor="middle">{row["gpus"]}</text>')
    parts.append(f'<text x="{(left + width) / 2:.0f}" y="{height - 10}" text-anchor="middle">GPUs</text>')
    for values, colour, dashes, label in (
        (bound, "#999", "6 4", "n log n"),
        ([row[cost.name] for row in rows], "#0b62a4", "none", "measured"),
    ):
        points = " ".join(f"{x(row['gpus']):.1f},{y(value):.1f}" for row, value in zip(rows, values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
        end_x, end_y = points.split()[-1].split(",")
        parts.append(f'<text x="{end_x}" y="{float(end_y) - 8:.1f}" text-anchor="end" fill="{colour}">{label}</text>')
    for row in rows:
        parts.append(f'<circle cx="{x(row["gpus"]):.1f}" cy="{y(row[cost.name]):.1f}" r="4" fill="#0b62a4"/>')
    path.write_text("\n".join(parts + ["</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="build/weft", help="the program; default %(default)s")
    parser.add_argument("--gpus", default="1024,2048,4096,8192,16384,32768", help="multiples of 1024; default %(default)s")
    parser.add_argument("--repetitions", type=int, default=3, help="runs of each, of which the quickest counts; default %(default)s")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of scaling.csv and scaling.svg; default %(default)s")
    parser.add_argument("--routing", default="spray", help="flow.routing of the runs; default %(default)s")
    parser.add_argument("--instructions", action="store_true", help="count instructions under valgrind, once, instead of timing")
    parser.add_argument("--set", action="append", default=[], help="more settings for weft run")
    options = parser.parse_args()
    sizes = sorted({int(text) for text in options.gpus.split(",")})
    if not sizes or any(size < GPUS_PER_MIX or size % GPUS_PER_MIX for size in sizes) or options.repetitions < 1:
        parser.error(f"--gpus takes multiples of {GPUS_PER_MIX}, --repetitions at least 1")
    options.out.mkdir(parents=True, exist_ok=True)

    rows = []
    cost = INSTRUCTIONS if options.instructions else TIME
    print(f"{'GPUs':>6} {cost.title + ', ' + cost.unit:>16} {'exponent':>9} {'over n log n':>13} {'memory MB':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for gpus in sizes:
            command = [options.weft, "run", str(write_scenario(folder, gpus)), "--mode=flow", "--quiet", f"--out={folder / 'out'}"]
            command += [f"--set={setting}" for setting in [f"flow.routing={options.routing}", *options.set]]
            if options.instructions:
                spent, memory = instructions(command), ""
            else:
                spent, memory = min(cpu_seconds(command) for _ in range(options.repetitions))
            row = {"gpus": gpus, cost.name: spent, "exponent": "", "over_n_log_n": 1.0, "memory_bytes": memory}
            if rows:
                last, first = rows[-1], rows[0]
                row["exponent"] = math.log(spent / last[cost.name]) / math.log(gpus / last["gpus"])
                row["over_n_log_n"] = spent / first[cost.name] * n_log_n(first["gpus"]) / n_log_n(gpus)
            rows.append(row)
            exponent = f"{row['exponent']:9.2f}" if row["exponent"] != "" else " " * 9
            megabytes = f"{memory / 1e6:10.0f}" if memory else ""
            print(f"{gpus:6} {spent:16.2f} {exponent} {row['over_n_log_n']:13.2f} {megabytes}".rstrip(), flush=True)
    with open(options.out / "scaling.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, cost, options.out / "scaling.svg")
    return 1 if rows[-1]["over_n_log_n"] > cost.worst else 0


if __name__ == "__main__":
    sys.exit(main())
