#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parameters that documents name exist: `flow.mtu`, and --set=flow.mtu=... in commands.

Usage: names_test.py ROOT WEFT
"""

import json
import re
import subprocess
import sys
from pathlib import Path

# What only events may set (comment of Event in the schema of scenarios).
BY_EVENTS = {"scheduler": {"policy", "placement"}}
NAMED = re.compile(r"(?:`|--set=|name: \")([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)(?=[`= \"])")


def main():
    root, weft = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    known = {}
    for module in json.loads(subprocess.run([weft, "modules", "--json"], capture_output=True, text=True, check=True).stdout):
        known.setdefault(module["name"], set()).update(param["name"] for param in module["params"])
    wrong = []
    count = 0
    for document in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        for number, line in enumerate(document.read_text(encoding="utf-8").split("\n"), 1):
            for module, param in NAMED.findall(line):
                if not known.get(module) or param in ("csv", "md", "json", "textproto"):
                    continue
                count += 1
                if param not in known[module] | BY_EVENTS.get(module, set()):
                    wrong.append(f"{document.relative_to(root)}:{number}: there is no parameter {module}.{param}")
    print("\n".join(wrong) if wrong else f"all {count} parameters that documents name exist")
    if count < 50:
        sys.exit("names_test: too few parameters were found; the expression that looks for them is wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
