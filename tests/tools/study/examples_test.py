#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The studies that are shipped can be read, and small ones find what their pages say."""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

STUDIES = pathlib.Path(__file__).resolve().parents[3] / "tools" / "examples" / "studies"
WEFT = "weft"


def is_study(path):
    return path.name in ("study.textproto", "full.textproto") or "\nquestion:" in path.read_text(encoding="utf-8")


def rows_of(study, text):
    """Rows of study.csv of a study beside a shipped one's inputs."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (STUDIES / study).iterdir():
            (pathlib.Path(folder) / name.name).symlink_to(name)
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


if __name__ == "__main__":
    WEFT = sys.argv.pop()
    unittest.main()
