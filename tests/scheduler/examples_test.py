#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of scheduler/examples run, and small ones show what their README says."""

import pathlib
import re
import subprocess
import sys
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "scheduler" / "examples"
WEFT = "weft"


def run(example, *arguments):
    done = subprocess.run([sys.executable, "-B", str(EXAMPLES / example / "run"), *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Examples(unittest.TestCase):
    def printed(self, example, *arguments):
        status, out, errors = run(example, f"--weft={WEFT}", *arguments)
        self.assertEqual((status, errors), (0, ""))
        return out

    def test_figure_02_shorter_jobs_make_a_longer_total_where_jobs_pass_each_other(self):
        out = self.printed("figure_02", "--jobs=1000", "--traces=1", "fcfs", "fcfs_fill")
        strict, filling = (re.findall(r"(\d+) of (\d+) times it becomes longer", part) for part in out.split("\nfcfs_fill:"))
        # Where nobody passes anybody and all jobs take whole hosts, a job starts when enough of
        # those before it have ended: that is never later if they are shorter.
        self.assertEqual([longer for longer, _ in strict], ["0", "0"])
        self.assertEqual(len(filling), 2)
        for longer, of in filling:
            self.assertGreater(int(longer), 0)
            self.assertLess(int(longer), int(of) / 2)

    def test_figure_02_mast_mends_it(self):
        out = self.printed("figure_02", "--jobs=1000", "--traces=1", "fcfs_fill", "mast")
        filling, mast = ([int(longer) for longer in re.findall(r"(\d+) of \d+ times it becomes longer", part)] for part in out.split("\nmast:"))
        self.assertLess(mast[0], filling[0])
        self.assertLess(mast[1], filling[1] / 2)

    def test_figure_12_larger_jobs_communicate_more_and_hardly_meet(self):
        out = self.printed("figure_12", "--quick")
        rows = re.findall(r"^ +\d+ +(\d+) +(\d+) +(\S+) % +(\S+) +(\S+)$", out, re.MULTILINE)
        self.assertEqual(len(rows), 4)
        sizes, speeds, _, exposed, due_to_others = ([float(row[i]) for row in rows] for i in range(5))
        self.assertEqual(sizes, sorted(sizes))
        self.assertEqual(speeds, sorted(speeds, reverse=True))
        self.assertEqual(exposed, sorted(exposed))
        # Of a job of n hosts a share of 1 - 1/n leaves the host, so that each doubling matters
        # less.
        lost = [before - after for before, after in zip(speeds, speeds[1:])]
        self.assertEqual(lost, sorted(lost, reverse=True))
        # A leaf has eight cables for the one of its host, and a pod as many to the spines as for
        # four times its hosts.
        self.assertLess(max(due_to_others), 0.1)

    def test_mistakes_are_told(self):
        status, _, errors = run("figure_02", "--weft=/nowhere/weft")
        self.assertEqual(status, 1)
        self.assertIn("--weft=PATH says where the program is", errors)
        status, _, errors = run("figure_12", "--weft=/nowhere/weft", "--quick")
        self.assertEqual(status, 1)
        self.assertIn("--weft=PATH says where the program is", errors)
        status, _, errors = run("figure_12", f"--weft={WEFT}", "--quick", "--", "flow.routing")
        self.assertEqual(status, 2)
        self.assertIn("flow.routing is no NAME=VALUE", errors)
        status, _, errors = run("figure_02", f"--weft={WEFT}", "--jobs=10", "no_such_policy")
        self.assertEqual(status, 1)
        self.assertIn("[unknown-module]", errors)


if __name__ == "__main__":
    WEFT = sys.argv.pop()
    unittest.main()
