#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that documents show print what the documents say.

Usage: commands_test.py ROOT WEFT DOCUMENT...        commands_test.py --update ROOT WEFT DOCUMENT...

A block of code that begins with ```console holds commands, each behind "$ ", and what they print on both streams. All blocks of a
document run in one folder, in order; it holds links to the folders of the project, and `weft` is the program under test. A line behind
"$ " that ends in a backslash goes on. A block below the comment
   <!-- file: NAME -->
is written to NAME first. A block of commands below the comment
   <!-- not run: WHY -->
is left alone. An output line "..." stands for any lines. Lines about the machine are compared by their first word only. An exit
status other than 0 is said by a last line "exit status N". --update writes what commands print into the document, and "..." for long
lines.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(?:^<!-- (?P<mark>file|not run): (?P<value>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.S | re.M)
# Longer lines of output are left out of documents.
LINE_MAX = 120
# What depends on the machine: times of the run itself.
MACHINE = re.compile(r"^(  machine ).*|(?<=in )[\d.]+ s of wall time")


def masked(text):
    return [MACHINE.sub(lambda match: match.group(1) or "", line).rstrip() for line in text.rstrip("\n").split("\n")]


def fits(expected, got):
    """Do the lines fit, where "..." stands for any?"""
    if not expected:
        return not got
    if expected[0].strip() == "...":
        return any(fits(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and expected[0] == got[0] and fits(expected[1:], got[1:])


def parse(body):
    """Commands of a block, each with the lines that it should print."""
    commands = []
    is_open = False
    for line in body.rstrip("\n").split("\n"):
        if is_open:
            commands[-1][0].append(line)
            is_open = line.endswith("\\")
        elif line.startswith("$ "):
            commands.append(([line], []))
            is_open = line.endswith("\\")
        elif commands:
            commands[-1][1].append(line)
    return commands


class Folder:
    """Where the commands of one document run."""

    def __init__(self, root, weft, path):
        self.path = path
        for folder in ("tools", "topologies", "workloads", "scheduler"):
            (path / folder).symlink_to(root / folder)
        for place in ("build", "bin"):
            (path / place).mkdir()
            (path / place / "weft").symlink_to(weft)
        self.environment = {**os.environ, "PATH": f"{path}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def run(self, command):
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        return done.stdout + (f"exit status {done.returncode}\n" if done.returncode else "")


def check(root, weft, document, update):
    """Runs the document's commands. Returns how many ran and what differs."""
    text = document.read_text(encoding="utf-8")
    differences = []
    ran = 0
    new_text, end = "", 0
    with tempfile.TemporaryDirectory(prefix="weft-docs-") as name:
        folder = Folder(root, weft, Path(name).resolve())
        for block in BLOCK.finditer(text):
            mark, body = block.group("mark"), block.group("body")
            if mark == "file":
                path = folder.path / block.group("value")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(body, encoding="utf-8")
            if block.group("kind") != "console" or mark is not None:
                continue
            new_body = ""
            for lines, expected in parse(body):
                command = "\n".join([lines[0][2:], *lines[1:]])
                got = folder.run(command)
                ran += 1
                is_same = fits(masked("\n".join(expected)), masked(got)) or (not expected and not got)
                if not is_same:
                    differences.append(f"{document.relative_to(root)}: $ {command}\n--- the document\n" + "\n".join(expected) + f"\n--- the program\n{got}")
                kept = "\n".join(expected) + "\n" if expected else ""
                shown = re.sub(r"(?:^\.\.\.\n)+", "...\n", "".join(line if len(line) <= LINE_MAX + 1 else "...\n" for line in got.splitlines(keepends=True)), flags=re.M)
                new_body += "\n".join(lines) + "\n" + (kept if is_same else shown)
            new_text += text[end : block.start("body")] + new_body
            end = block.end("body")
    if update:
        document.write_text(new_text + text[end:], encoding="utf-8")
        return ran, []
    return ran, differences


def main():
    update = sys.argv[1] == "--update"
    root, weft, *documents = sys.argv[2 if update else 1 :]
    failed = 0
    for name in documents:
        ran, differences = check(Path(root).resolve(), Path(weft).resolve(), (Path(root) / name).resolve(), update)
        print(f"{name}: {ran} commands, {len(differences)} differ")
        for difference in differences:
            print(difference)
        failed += len(differences)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
