#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A study of 200 runs that is killed at 20 moments has the table of one that was not.

  kills_test.py WEFT

Each attempt is killed (kill -9) after a random share of what the whole study took, and the next one resumes it. Checked: every
record that was there stays as it is and is not written again, at least one attempt was killed before its end, and study.csv
is that of an undisturbed study.
"""

import pathlib
import random
import subprocess
import sys
import tempfile
import time

KILLS = 20

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

        started = time.monotonic()
        if study("whole").wait() != 0:
            fail("the undisturbed study failed")
        took = time.monotonic() - started
        whole = (folder / "whole" / "study.csv").read_bytes()
        lines = whole.count(b"\n")
        if lines != 201:
            fail(f"{lines} lines instead of 201")

        before, killed = {}, 0
        for _ in range(KILLS):
            process = study("killed", "--resume")
            time.sleep(chance.uniform(0, took / 6))
            if process.poll() is None:
                process.kill()
                killed += 1
            process.wait()
            now = records(folder / "killed") if (folder / "killed").exists() else {}
            for record, content in before.items():
                if now.get(record) != content:
                    fail(f"{record} was lost or repeated")
            before = now
        if killed == 0 or not before:
            fail("no attempt was killed in the middle")
        if study("killed", "--resume").wait() != 0:
            fail("the last attempt failed")
        if (folder / "killed" / "study.csv").read_bytes() != whole:
            fail("the table differs from that of an undisturbed study")
        print(f"{killed} of {KILLS} attempts killed; {len(before)} of 200 runs had ended by then")


main()
