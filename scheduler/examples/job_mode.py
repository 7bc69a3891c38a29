# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: running `weft` in job mode on a trace, and printing tables."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def add_options(parser):
    parser.add_argument("--weft", metavar="PATH", default=str(ROOT / "build" / "weft"), help="the program")


def read_trace(path):
    """Jobs of a trace as Weft's CSV."""
    with open(path, newline="", encoding="utf-8") as file:
        return [{**row, "run_s": float(row["run_s"]), "gpus": int(row["gpus"]), "model": row.get("model", "")} for row in csv.DictReader(file)]


class Weft:
    """Runs of one `weft`, whose files go where nobody has to clean up."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory()

    def _call(self, *arguments):
        try:
            done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        except OSError as error:
            sys.exit(f"{self.program}: {error.strerror}; --weft=PATH says where the program is")
        if done.returncode != 0:
            sys.exit(f"{self.program} {' '.join(arguments)}\n{done.stderr}")
        return done.stdout

    def policies(self):
        return [module["name"] for module in json.loads(self._call("modules", "scheduler", "--json")) if module["kind"] == "scheduler"]

    def run(self, jobs, hosts, policy, settings=()):
        """The summary of a run on hosts of 8 GPUs."""
        path = pathlib.Path(self.folder.name)
        with open(path / "jobs.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, jobs[0].keys())
            writer.writeheader()
            writer.writerows(jobs)
        arguments = ["run", f"--jobs={path}/jobs.csv:weft", f"--hosts={hosts}", "--gpus-per-host=8", f"--scheduler={policy}", "--quiet", "--json"]
        return json.loads(self._call(*arguments, f"--out={path}/out", *(f"--set={setting}" for setting in settings)))

    def rows(self, name):
        """Rows of a table of the last run."""
        with open(pathlib.Path(self.folder.name) / "out" / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def print_table(titles, rows):
    lines = [[str(cell) for cell in line] for line in [titles, *rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(titles))]
    for line in lines:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
