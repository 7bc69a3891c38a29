#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links of the documents lead somewhere: files and headings exist. Links to other sites are not followed.

Usage: links_test.py ROOT

Prints a line for each dead link; the exit status is 1 if there is one. The checker first proves itself on a document with dead links.
"""

import re
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"^```.*?^```[^\n]*$", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)


def blank(match):
    """As many lines as there were, so that line numbers stay."""
    return "\n" * match.group(0).count("\n")


def anchors(text):
    """Names of headings, as renderers of markdown make them."""
    found = {}
    names = set()
    for heading in HEADING.findall(FENCE.sub(blank, text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        names.add(name if count == 0 else f"{name}-{count}")
    return names


def dead_links(root, documents):
    for document in documents:
        text = document.read_text(encoding="utf-8")
        prose = CODE.sub("", FENCE.sub(blank, text))
        for match in LINK.finditer(prose):
            link = match.group(1)
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = (document.parent / target).resolve() if target else document
            place = f"{document.relative_to(root)}:{prose.count(chr(10), 0, match.start()) + 1}"
            if link.startswith("/") or not path.is_relative_to(root):
                yield f"{place}: {link} is no path inside the project"
            elif not path.exists():
                yield f"{place}: {link} does not exist"
            elif anchor and (path.is_dir() or anchor not in anchors(path.read_text(encoding="utf-8"))):
                yield f"{place}: {link}: there is no heading #{anchor}"


def documents_of(root):
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def prove():
    """Dead links are found, living ones are not."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        (root / "docs").mkdir()
        (root / "README.md").write_text("# A b\n[x](docs/p.md) [y](docs/p.md#one-two) [z](#a-b) [s](https://a.b/c)\n```\n[n](no)\n```\n", encoding="utf-8")
        (root / "docs/p.md").write_text("## One, two\n[x](../README.md#no)\n[a\nb](q.md)\n`[n](no)` [up](../../etc)\n", encoding="utf-8")
        found = list(dead_links(root, documents_of(root)))
        expected = [
            "docs/p.md:2: ../README.md#no: there is no heading #no",
            "docs/p.md:3: q.md does not exist",
            "docs/p.md:5: ../../etc is no path inside the project",
        ]
        if found != expected:
            sys.exit(f"links_test: the checker itself is wrong: {found}")


def main():
    prove()
    root = Path(sys.argv[1]).resolve()
    found = list(dead_links(root, documents_of(root)))
    print("\n".join(found) if found else f"all links of {len(documents_of(root))} documents lead somewhere")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
