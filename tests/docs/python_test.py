#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python that a document shows runs and prints what the document says.

Usage: python_test.py ROOT DOCUMENT        python_test.py --update ROOT DOCUMENT

Blocks of code that begin with ```python run in order, as one program, in a folder that holds links to the folders of the project. What a
block prints stands in the block that follows, which begins with ```text, without blanks at the ends of lines; where none follows, it prints
nothing. --update writes what blocks
print into the document. Pictures are copied to the folder that WEFT_PICTURES names, if it is set.
"""

import contextlib
import importlib.util
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.S | re.M)
SKIPPED = 77


def main(arguments):
    updates = arguments[0] == "--update"
    root, document = Path(arguments[-2]).resolve(), arguments[-1]
    for module in ("numpy", "pandas", "matplotlib"):
        if importlib.util.find_spec(module) is None:
            print(f"{module} is not installed")
            return SKIPPED
    path = root / document
    text = path.read_text(encoding="utf-8")
    space = {"__name__": "__main__"}
    wrong = 0

    def run(match):
        nonlocal wrong
        line = text.count("\n", 0, match.start()) + 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + match["code"], document, "exec"), space)  # pylint: disable=exec-used
        got = re.sub(r" +$", "", printed.getvalue(), flags=re.M)
        if got != (match["output"] or ""):
            wrong += 1
            if not updates:
                print(f"{document}:{line}: prints\n{got}\nand should print\n{match['output'] or 'nothing'}", file=sys.stderr)
        block = f"```python\n{match['code']}```\n"
        return block + (f"\n```text\n{got}```\n" if got else "")

    with tempfile.TemporaryDirectory() as folder:
        for entry in root.iterdir():
            if entry.is_dir() and not entry.name.startswith((".", "build")):
                (Path(folder) / entry.name).symlink_to(entry)
        os.chdir(folder)
        updated, blocks = BLOCK.subn(run, text)
        for picture in Path(folder).glob("*.png"):
            assert picture.stat().st_size > 10_000, f"{picture.name} is all but empty"
            if keeps := os.environ.get("WEFT_PICTURES"):
                shutil.copy(picture, keeps)
        os.chdir(root)
    if blocks == 0:
        print(f"{document} shows no Python", file=sys.stderr)
        return 1
    if updates:
        path.write_text(updated, encoding="utf-8")
        return 0
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
