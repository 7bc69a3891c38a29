#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The studies that are shipped can be read, and small ones find what their pages say."""

import csv
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

STUDIES = pathlib.Path(__file__).resolve().parents[3] / "tools" / "examples" / "studies"
WEFT = "weft"


def is_study(path):
    return path.name in ("study.textproto", "full.textproto") or "\nquestion:" in path.read_text(encoding="utf-8")


def recommenders(hosts):
    """What makes the recommenders' studies, for so many hosts."""
    loader = importlib.machinery.SourceFileLoader("make_recommenders", str(STUDIES / "make_recommenders"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_recommenders", loader))
    loader.exec_module(made)
    made.HOSTS = hosts
    return made


def rows_of(study, text, made=None):
    """Rows of study.csv of a study beside a shipped one's inputs, or those that are made anew."""
    with tempfile.TemporaryDirectory() as folder:
        if made:
            made.main(pathlib.Path(folder))
        for name in [] if made else (STUDIES / study).iterdir():
            (pathlib.Path(folder) / name.name).symlink_to(name)
        folder = f"{folder}/{study}" if made else folder
        path = pathlib.Path(folder) / "reduced.textproto"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([WEFT, "study", str(path), f"--out={folder}/out", "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        with open(f"{folder}/out/study.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


class Studies(unittest.TestCase):
    def test_all_can_be_read(self):
        paths = sorted(str(path) for path in STUDIES.glob("*/*.textproto") if is_study(path))
        self.assertGreater(len(paths), 1)
        done = subprocess.run([WEFT, "check", *paths], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count(": ok (study, "), len(paths))

    def test_all_have_a_page_that_is_listed(self):
        index = (STUDIES / "README.md").read_text(encoding="utf-8")
        for folder in (path for path in STUDIES.iterdir() if path.is_dir()):
            self.assertTrue((folder / "README.md").is_file(), folder)
            self.assertIn(f"({folder.name}/README.md)", index)

    def test_stranding_twice_the_cluster_halves_waiting_but_not_stranding(self):
        rows = rows_of(
            "stranding",
            'base { scenario: "mean_128.textproto" scheduler: "fcfs" }\n'
            'axis { name: "hosts" value: "512" value: "1024" }\n'
            'metric { name: "steady.mean_stranded_gpus" }\nmetric { name: "steady.mean_wait_s" }\nmetric { name: "steady.starts" }\n',
        )
        once, twice = ({name: float(row[name]) for name in row if name.startswith("steady.")} for row in rows)
        # Of 2,000 jobs those from the 501st start on, until 500 are left.
        # Several may start at the last instant.
        for size in (once, twice):
            self.assertAlmostEqual(size["steady.starts"], 1000, delta=3)
        self.assertAlmostEqual(twice["steady.mean_wait_s"] / once["steady.mean_wait_s"], 0.5, delta=0.1)
        self.assertAlmostEqual(twice["steady.mean_stranded_gpus"] / once["steady.mean_stranded_gpus"], 1, delta=0.3)

    def test_shorter_jobs_may_end_later_where_jobs_pass_each_other(self):
        rows = rows_of(
            "shorter_jobs",
            'base { jobs: "all.csv:weft" hosts: 512 gpus_per_host: 8 }\n'
            'axis { name: "scheduler" value: "fcfs" value: "fcfs_fill" value: "mast" }\n'
            'axis { name: "jobs" value: "all.csv:weft" value: "16_256.csv:weft" }\nmetric { name: "makespan_s" }\n',
        )
        times = [float(row["makespan_s"]) for row in rows]
        # Where nobody passes anybody, a job starts when enough of those before it have ended.
        self.assertLessEqual(times[1], times[0])
        self.assertGreater(times[3], times[2])
        self.assertLessEqual(times[5], times[4])

    def test_larger_jobs_communicate_more(self):
        rows = rows_of(
            "job_size",
            'base { scenario: "mean_16.textproto" }\n'
            'axis { name: "scenario" value: "mean_16.textproto" value: "mean_32.textproto" value: "mean_64.textproto" }\n'
            'metric { name: "iteration_s" column: "jobs.mean_iteration_s" }\nmetric { name: "exposed_comm_share" }\n',
            recommenders(32),
        )
        times = [float(row["iteration_s"]) for row in rows]
        exposed = [float(row["exposed_comm_share"]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual(exposed, sorted(exposed))
        # Of a job of n hosts a share of 1 - 1/n leaves the host: each doubling matters less.
        self.assertLess(times[2] - times[1], times[1] - times[0])

    def test_bandwidth_pays_less_and_less(self):
        rows = rows_of(
            "bandwidth",
            'base { scenario: "scenario.textproto" }\n'
            'axis { name: "clos.nic_rate" value: "100Gbps" value: "400Gbps" value: "800Gbps" value: "1000000Gbps"\n'
            '  along { name: "clos.leaf_uplink_rate" value: "100Gbps" value: "400Gbps" value: "800Gbps" value: "1000000Gbps" }\n'
            '  along { name: "clos.agg_uplink_rate" value: "100Gbps" value: "400Gbps" value: "800Gbps" value: "1000000Gbps" } }\n'
            'metric { name: "iteration_s" column: "jobs.mean_iteration_s" }\n',
            recommenders(32),
        )
        times = [float(row["iteration_s"]) for row in rows]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertGreater(times[0] / times[1], 1.5)
        self.assertLess(times[2] / times[3], 1.2)

    def test_only_long_fibres_matter_and_only_between_pods(self):
        rows = rows_of(
            "fibre_length",
            'base { scenario: "scenario.textproto" }\n'
            'axis { name: "clos.agg_fibre" value: "10m" value: "1000m" value: "1000000m" }\n'
            'metric { name: "wide_s" column: "jobs.mean_iteration_s" where { column: "gpus" value: "512" } }\n'
            'metric { name: "narrow_s" column: "jobs.mean_iteration_s" where { column: "gpus" value: "128" } }\n',
            recommenders(192),
        )
        wide = [float(row["wide_s"]) for row in rows]
        narrow = [float(row["narrow_s"]) for row in rows]
        # A pod has 256 GPUs.
        self.assertEqual(len(set(narrow)), 1)
        self.assertLess(wide[1] / wide[0], 1.01)
        # Of 14 layers' gradients each needs two messages of 5 ms and more, one after the other.
        self.assertGreater(wide[2] - wide[0], 14 * 2 * 0.005)

    def test_modes_across_sites_win_where_their_pages_say(self):
        base = (STUDIES / "across_sites" / "study.textproto").read_text(encoding="utf-8").split("\naxis {")[0]
        points = [(256, 1000, 64, 100), (1, 100, 64, 16), (1, 1000, 16, 1), (1, 100, 4, 1)]
        names = ("innerSteps", "bandwidthMbps", "numNodes", "compression")
        text = base + "\n"
        for point in points:
            sets = " ".join(f'set {{ name: "decentralized.{name}" value: "{value}" }}' for name, value in zip(names, point))
            text += f"point {{ {sets} }}\n"
        for metric in ("winner", "simulated.winner", "regret", "diloco.formula_error", "pipeline.formula_error"):
            text += f'metric {{ name: "{metric}" }}\n'
        rows = rows_of("across_sites", text)
        # Nodes by themselves where an exchange is short beside the steps between, regions where it is long, and a pipeline where
        # all parameters are exchanged at every step.
        self.assertEqual([float(row["winner"]) for row in rows], [0, 1, 2, 2])
        self.assertEqual([float(row["simulated.winner"]) for row in rows], [0, 1, 2, 2])
        self.assertEqual([float(row["regret"]) for row in rows], [0, 0, 0, 0])
        # Slow nodes and lines are waited for, and two stages send both ways at a time.
        for row in rows[:2]:
            self.assertLess(float(row["diloco.formula_error"]), -0.1)
        for row in rows[2:]:
            self.assertGreater(float(row["pipeline.formula_error"]), 0.4)


if __name__ == "__main__":
    WEFT = sys.argv.pop()
    unittest.main()
