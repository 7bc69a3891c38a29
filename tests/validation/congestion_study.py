#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/examples/studies/congestion finds who congests a cluster of 160 hosts in eight days, as its scenario was built.

usage: tests/validation/congestion_study.py [--weft=PROGRAM] [--out=DIR]

Prints the periods of congestion that `weft run` found. Exit status 1 if they are not those that scenario.textproto was built for.
"""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDY = ROOT / "tools" / "examples" / "studies" / "congestion"
DAY_S = 86400
# Congestion is looked at while jobs communicate, which they begin some seconds after their start; periods less than a minute apart are one.
TOLERANCE_S = 60

# Link, whose start begins the period, whose end ends it, who is slowed, what share of bandwidth they lose. Of four cables alike, over which packets are
# sprayed, the first one stands for all. (a): two jobs on cables that one can fill; (b): three on cables that two can fill.
EXPECTED = [
    ("agg4->spine0", "wide2", "wide2", {"wide1", "wide2"}, 1 / 2),
    ("spine0->agg4", "wide2", "wide2", {"wide1", "wide2"}, 1 / 2),
    ("agg12->spine0", "half3", "half1", {"half1", "half2", "half3"}, 1 / 3),
    ("agg16->spine0", "half3", "half1", {"half1", "half2", "half3"}, 1 / 3),
]


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def print_table(periods):
    print(f"{'link':<15}{'from day':>9}{'to day':>8}{'days':>7}{'lost':>7}   {'begun by':<9}{'slowed'}")
    for period in periods:
        begin, end, length = (float(period[name]) / DAY_S for name in ("begin_s", "end_s", "duration_s"))
        lost = 100 * float(period["lost_share"])
        slowed = period["slowed"].replace(";", ", ")
        print(f"{period['link']:<15}{begin:9.2f}{end:8.2f}{length:7.2f}{lost:6.1f} %  {period['trigger']:<9}{slowed}")


def differences(periods, jobs):
    """What is not as the scenario was built, a sentence each."""
    found = {period["link"]: period for period in periods}
    wrong = []
    if len(periods) != len(EXPECTED):
        wrong.append(f"{len(periods)} periods were found, not {len(EXPECTED)}")
    for link, begun_by, ended_by, slowed, lost in EXPECTED:
        if link not in found:
            wrong.append(f"{link}: no period was found")
            continue
        period = found[link]
        if period["cause"] != "others" or period["trigger"] != begun_by:
            wrong.append(f"{link}: {period['trigger']} is blamed, not {begun_by}")
        if set(period["slowed"].split(";")) != slowed:
            wrong.append(f"{link}: slows {period['slowed']}, not {';'.join(sorted(slowed))}")
        if not 0 <= float(period["begin_s"]) - float(jobs[begun_by]["start_s"]) <= TOLERANCE_S:
            wrong.append(f"{link}: begins at {period['begin_s']} s, not when {begun_by} starts")
        if abs(float(period["end_s"]) - float(jobs[ended_by]["end_s"])) > TOLERANCE_S:
            wrong.append(f"{link}: ends at {period['end_s']} s, not when {ended_by} ends")
        if abs(float(period["lost_share"]) - lost) > 1e-3:
            wrong.append(f"{link}: {period['lost_share']} of bandwidth is lost, not {lost:.4f}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=str(ROOT / "build" / "weft"), help="the program; default: build/weft")
    parser.add_argument("--out", help="folder for the results; default: none is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(options.out or scratch)
        command = [options.weft, "run", str(STUDY / "scenario.textproto"), "--fast-forward=2", f"--out={out}", "--quiet"]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            sys.exit(f"{' '.join(command)} failed")
        periods = rows_of(out / "congestion.csv")
        jobs = {job["job"]: job for job in rows_of(out / "jobs.csv")}
    print_table(periods)
    wrong = differences(periods, jobs)
    for sentence in wrong:
        print(f"not as built: {sentence}")
    if not wrong:
        print("All as the scenario was built: (a) a period that one job began, (b) one that several jobs make together.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
