#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft tables` describes every table that runs write, column by column, and nothing else.

Usage: outputs_test.py ROOT WEFT
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Runs that write every kind of table between them.
PACKETS = """topology { builder: "fat_tree" set { name: "k" value: "4" } }
job { name: "a" workload { template: "collectives" set { name: "ranks" value: "8" } set { name: "collective" value: "all_to_all" } } }
"""
EVENTS = """cluster { hosts: 2 gpus_per_host: 8 }
job { name: "a" gpus: 8 duration: "1h" }
event { at: "10min" drain { hosts: "1" for: "10min" } }
"""
FLOWS = PACKETS + 'set { name: "flow.detect_congestion" value: "on" }\n'
PROFILE = """parameter { name: "flow.wqe_latency" value: "1us" stamp: CALIBRATED }
alignment { gpus: CLUSTER term { name: "T" coefficient: 1 } }
"""
RUNS = [
    ("packets", PACKETS, ["--mode=packet", "--sample=1us", "--set=packet.watchdog=1ms", "--no-flow-comparison"]),
    ("events", EVENTS, []),
    ("flows", FLOWS, ["--profile=profile.textproto", "--align", "--report"]),
]


def described():
    """By file: the columns that `weft tables` lists, in order."""
    text = subprocess.run([WEFT, "tables", "--json"], check=True, capture_output=True, text=True).stdout
    return {table["file"]: [column["name"] for column in table["columns"]] for table in json.loads(text)}


class Outputs(unittest.TestCase):
    def test_tables_are_described(self):
        written = {}
        with tempfile.TemporaryDirectory(prefix="weft-outputs-") as folder:
            (Path(folder) / "profile.textproto").write_text(PROFILE, encoding="utf-8")
            for name, scenario, flags in RUNS:
                path = Path(folder) / f"{name}.textproto"
                path.write_text(scenario, encoding="utf-8")
                subprocess.run([WEFT, "run", path, "--quiet", f"--out={folder}/{name}", *flags], cwd=folder, check=True,
                               capture_output=True)
                for table in sorted((Path(folder) / name).glob("*.csv")):
                    header = table.read_text(encoding="utf-8").split("\n", 1)[0]
                    self.assertEqual(written.setdefault(table.name, header), header, table.name)
        self.assertEqual(described(), {name: header.split(",") for name, header in written.items()})


if __name__ == "__main__":
    ROOT = Path(sys.argv.pop(1)).resolve()
    WEFT = Path(sys.argv.pop(1)).resolve()
    unittest.main()
