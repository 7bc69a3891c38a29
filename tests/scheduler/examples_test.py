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

    def test_figure_15_bandwidth_pays_less_and_less(self):
        out = self.printed("figure_15", "--quick")
        rows = re.findall(r"^ +(\d+|infinite) +(\d+) .* (\d[\d.]*)$", out, re.MULTILINE)
        self.assertEqual([rate for rate, _, _ in rows], ["100", "200", "400", "800", "1000", "infinite"])
        speeds = [float(speed) for _, speed, _ in rows]
        exposed = [float(share) for _, _, share in rows]
        self.assertEqual(speeds, sorted(speeds))
        self.assertEqual(exposed, sorted(exposed, reverse=True))
        # Each time bandwidth doubles, a sample takes less time, but never less than half, and what
        # is won gets less.
        times = [1 / speed for speed in speeds[:4]]
        won = [before - after for before, after in zip(times, times[1:])]
        self.assertEqual(won, sorted(won, reverse=True))
        for before, after in zip(times, times[1:]):
            self.assertLess(after, before)
            self.assertGreater(after, before / 2)
        # At 400 Gb/s: 14 to 32 % of GPU hours, arXiv 2310.02784.
        self.assertTrue(14 < exposed[2] < 32, exposed)

    def test_figure_16_only_long_fibres_matter_and_only_between_pods(self):
        out = self.printed("figure_16", "--quick")
        rows = re.findall(r"^ +([\d,]+) +[\d,.]+ +(\d+) +(\S+) % +(\d+) +(\S+) %$", out, re.MULTILINE)
        lengths = [int(row[0].replace(",", "")) for row in rows]
        self.assertEqual(lengths, [10, 100, 1000, 10_000, 100_000, 1_000_000])
        wide = [float(row[4]) for row in rows]
        self.assertEqual(wide, sorted(wide, reverse=True))
        for length, (_, _, in_all, _, of_several_pods) in zip(lengths, rows):
            self.assertGreaterEqual(float(in_all), float(of_several_pods))
            if length <= 1000:
                self.assertGreater(float(of_several_pods), -1)
        # 10 ms from pod to pod, and in an iteration of 100 ms several messages wait for each other.
        self.assertLess(wide[-1], -50)
        self.assertRegex(out, r"that of jobs within a pod by [+-]0\.00 %")

    def test_mistakes_are_told(self):
        status, _, errors = run("figure_02", "--weft=/nowhere/weft")
        self.assertEqual(status, 1)
        self.assertIn("--weft=PATH says where the program is", errors)
        status, _, errors = run("figure_15", "--weft=/nowhere/weft", "--quick")
        self.assertEqual(status, 1)
        self.assertIn("--weft=PATH says where the program is", errors)
        status, _, errors = run("figure_15", f"--weft={WEFT}", "--quick", "--", "flow.routing")
        self.assertEqual(status, 2)
        self.assertIn("flow.routing is no NAME=VALUE", errors)
        status, _, errors = run("figure_02", f"--weft={WEFT}", "--jobs=10", "no_such_policy")
        self.assertEqual(status, 1)
        self.assertIn("[unknown-module]", errors)


if __name__ == "__main__":
    WEFT = sys.argv.pop()
    unittest.main()
