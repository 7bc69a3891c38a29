#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A study of 200 runs that is killed at 20 moments has the table of one that was not.

  kills_test.py WEFT

Each attempt is killed (kill -9) once it has added a number of records that is drawn, and the next one resumes it. Checked: every
record that was there stays as it is and is not written again, half of the kills at least meet a study that is not done,
and study.csv is that of an undisturbed study.
"""

import pathlib
import random
import subprocess
import sys
import tempfile
import time

KILLS = 20
KILLS_MIN = 10  # On a busy machine more runs end before the kill.

FILES = {
    "ops.textproto":
        'ranks: 16\nrole { name: "all" op { name: "gather" collective { type: ALL_GATHER size: "1MB" } } }\n',
    "cluster.textproto":
        'topology { builder: "fat_tree" set { name: "k" value: "4" } }\n'
        'job { name: "a" gpus: 16 iterations: 4 workload { file: "ops.textproto" } }\n',
    "study.textproto":
        'base { scenario: "cluster.textproto" }\n'
        'axis { name: "flow.wqe_latency" range { from: 1 to: 20 unit: "us" values: 20 } }\n'
        'axis { name: "mode" value: "flow" value: "packet" }\n'
        "replicates: 5\n"
        'metric { name: "mean_iteration_s" }\n'
        'metric { name: "fct_p99_ns" column: "flows.fct_ns" statistic: P99 }\n',
}


def fail(message):
    sys.exit(f"kills_test.py: {message}")


def records(folder):
    """What stands in each, and when it was written."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (folder / "points").glob("*.json")}


def main():
    weft = pathlib.Path(sys.argv[1]).resolve()
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)

        def study(out, *flags):
            return subprocess.Popen([weft, "study", "study.textproto", f"--out={out}", "--quiet", "--threads=2", *flags],
                                    cwd=folder, stdout=subprocess.DEVNULL)

        if study("whole").wait() != 0:
            fail("the undisturbed study failed")
        whole = (folder / "whole" / "study.csv").read_bytes()
        lines = whole.count(b"\n")
        if lines != 201:
            fail(f"{lines} lines instead of 201")

        before, kills = {}, 0
        points = folder / "killed" / "points"
        for _ in range(KILLS):
            wanted = len(before) + chance.randrange(8)
            process = study("killed", "--resume")
            while process.poll() is None and (not points.exists() or sum(1 for _ in points.glob("*.json")) < wanted):
                time.sleep(0.001)
            if process.poll() is not None:
                break
            process.kill()
            process.wait()
            kills += 1
            now = records(folder / "killed")
            for record, content in before.items():
                if now.get(record) != content:
                    fail(f"{record} was lost or repeated")
            before = now
        if kills < KILLS_MIN:
            fail(f"the study was done after {kills} kills")
        if study("killed", "--resume").wait() != 0:
            fail("the last attempt failed")
        if (folder / "killed" / "study.csv").read_bytes() != whole:
            fail("the table differs from that of an undisturbed study")
        print(f"{kills} attempts killed; {len(before)} of 200 runs had ended by then")


main()
