#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The house rules that a program can check.

Usage: tidy.py ROOT RULE [--clang-format=PROGRAM]      or: tidy.py --list

Prints one line per finding (file:line: what is wrong, and what to do) and ends with 0 (clean), 1 (findings) or 77 (the rule
cannot be checked here). ctest runs each rule as a test of its own; tidy_test.py proves on small bad trees that each rule finds
what it is for. A rule is one function below `RULES`; its docstring is its description.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

# --- The house ------------------------------------------------------------------------------------

# Which folder's link line names which folders. Includes follow these arrows, over as many as it
# takes.
ARROWS = {
    "core": [],
    "topologies": ["core"],
    "workloads": ["core"],
    "network": ["topologies"],
    "host": ["network", "workloads"],
    "scheduler": ["host"],
    "calibration": ["core"],
    "tools": ["scheduler", "calibration"],
}
# The same between the rooms of tools; each may include what is below tools, too.
TOOL_ARROWS = {
    "results": [],
    "simulation": ["results"],
    "calibrate": ["simulation"],
    "projections": ["simulation"],
    "study": ["projections", "simulation"],
    "compare": ["simulation"],
    "weft": ["calibrate", "compare", "explain", "projections", "report", "study"],
    "report": ["results"],
    "python": ["weft"],
    "explain": ["simulation"],
    "kernel_sampler": [],  # Python, which meets the others in tables
}
LINES_MAX = 700  # of a source file outside tests
OPENING_LINES = 25  # of a header's first comment: what it is, its contract, its source
COMMENT_COLUMNS = 100  # up to which lines with comments go; code is as clang-format has it
BELOW_TOOLS = [folder for folder in ARROWS if folder != "tools"]
TOP_FOLDERS = [*ARROWS, "bench", "tests", "cmake", "docs", ".ci", ".github"]
TOP_FILES = [
    "ARCHITECTURE.md", "CHANGELOG", "CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md",
    "Containerfile", "LICENSE", "README.md", ".clang-format", ".containerignore", ".gitattributes", ".gitignore",
    "pyproject.toml", "setup.py",
]  # fmt: skip
LICENCE = "SPDX-License-Identifier: Apache-2.0"
TEXT_SUFFIXES = {".cpp", ".hpp", ".proto", ".md", ".txt", ".cmake", ".py", ".sh", ".json", ".textproto", ".yml", ".html", ".js", ".css", ""}


def reachable(folder, arrows=ARROWS):
    """The folders whose headers `folder` may include."""
    found = {folder}
    for target in arrows.get(folder, []):
        found |= reachable(target, arrows)
    return found


# --- Files ----------------------------------------------------------------------------------------


class File:
    """A file of the tree: its path below the root, its text and lines, and its code without comments and literals."""

    def __init__(self, root, path):
        self.path = path
        self.text = (root / path).read_bytes().decode("utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.folder = path.parts[0] if len(path.parts) > 1 else ""
        self.is_code = path.suffix in (".cpp", ".hpp")
        self._code = None

    @property
    def code(self):
        """Lines with comments dropped and the insides of literals blanked."""
        if self._code is None:
            self._code = strip_comments_and_literals(self.text).split("\n")
        return self._code


TOKEN = re.compile(
    r'R"(?P<mark>[^()\\ ]{0,16})\(.*?\)(?P=mark)"'  # raw string
    r"|\"(?:\\.|[^\"\\\n])*\""  # string
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"  # character; 1'000 is a number
    r"|//[^\n]*"
    r"|/\*.*?\*/",
    re.S,
)


def strip_comments_and_literals(text):
    def blank(match):
        token = match.group(0)
        newlines = "\n" * token.count("\n")
        if token.startswith("/"):
            return newlines
        return token[0] + newlines + token[-1] if token[0] != "R" else '""' + newlines

    return TOKEN.sub(blank, text)


def list_files(root):
    """Tracked files and new ones that git does not ignore; without git, all files outside build and result folders."""
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=False
        )
        if listing.returncode == 0:
            paths = [Path(name) for name in listing.stdout.decode().split("\0") if name]
            return sorted({path for path in paths if (root / path).is_file()})
    paths = []
    for path in root.rglob("*"):
        below = path.relative_to(root)
        if path.is_file() and not re.match(r"(build|weft-out|\.git$|\.cache$)", below.parts[0]):
            paths.append(below)
    return sorted(paths)


class Tree:
    """All files of the project that are text, and where clang-format is."""

    def __init__(self, root, clang_format="clang-format"):
        self.root = root
        self.clang_format = clang_format
        self.paths = list_files(root)
        # The checker names what it forbids, and its test breaks every rule on purpose.
        self.files = [
            File(root, path) for path in self.paths if path.suffix in TEXT_SUFFIXES and path.parts[:2] != ("tests", "tidy") and path.name != "LICENSE"
        ]
        self.code_files = [file for file in self.files if file.is_code]
        self.below_tools = [file for file in self.code_files if file.folder in BELOW_TOOLS]

    def has(self, path):
        return Path(path) in self.paths


class CannotCheck(Exception):
    """The rule needs something that this machine does not have."""


# --- Rules ----------------------------------------------------------------------------------------
# Each yields (path, line number, message).


def include_arrows(tree):
    """#include "folder/..." goes only along the arrows of the design; a folder's tests include what the folder may."""
    for file in tree.code_files:
        owner = file.folder
        if owner == "tests" and len(file.path.parts) > 2 and file.path.parts[1] in ARROWS:
            owner = file.path.parts[1]
        allowed = reachable(owner) if owner in ARROWS else None
        room = file.path.parts[1] if file.folder == "tools" and len(file.path.parts) > 2 else None
        rooms = reachable(room, TOOL_ARROWS) if room in TOOL_ARROWS else None
        for number, line in enumerate(file.lines, 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            target = match.group(1)
            head = target.split("/")[0]
            if file.folder == "tests" and tree.has(file.path.parent / target):
                continue
            if "/" not in target or ".." in target:
                yield file.path, number, f'"{target}" is relative; write the path from the root of the project'
            elif head in ARROWS and allowed is not None and head not in allowed:
                yield file.path, number, f"{owner} may not include {head}: it may include {', '.join(sorted(allowed))}"
            elif rooms is not None and head == "tools" and target.split("/")[1] not in rooms:
                yield file.path, number, f"tools/{room} may not include tools/{target.split('/')[1]}"
            elif head == "tests" and file.folder not in ("tests", "bench"):
                yield file.path, number, "only tests and benchmarks include tests"
            elif head not in ARROWS and head not in ("tests", "bench"):
                yield file.path, number, f'"{target}" is not in the project; a library is included with <>'


def include_circles(tree):
    """No header includes itself by way of others."""
    included = {}
    for file in tree.code_files:
        targets = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.text, re.M)
        included[str(file.path)] = [target for target in targets if tree.has(Path(target))]
    done = set()
    for start in sorted(included):
        stack, way = [(start, iter(included[start]))], [start]
        while stack:
            at, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                stack.pop()
                way.pop()
                done.add(at)
            elif target in way:
                circle = [*way[way.index(target) :], target]
                yield Path(at), 1, "includes go in a circle: " + " -> ".join(circle)
                return
            elif target not in done and target in included:
                stack.append((target, iter(included[target])))
                way.append(target)


def file_length(tree):
    """A source file outside tests has one idea, and at most LINES_MAX lines."""
    for file in tree.code_files:
        if file.folder != "tests" and len(file.lines) - 1 > LINES_MAX:
            yield file.path, LINES_MAX, f"{len(file.lines) - 1} lines: more than {LINES_MAX}; move an idea to a file of its own"


def comment_columns(tree):
    """A line with a comment is at most COMMENT_COLUMNS long, in code and schemas."""
    for file in tree.files:
        if not file.is_code and file.path.suffix != ".proto":
            continue
        for match in TOKEN.finditer(file.text):
            begin = file.text.rfind("\n", 0, match.start()) + 1
            if match.group(0).startswith("//") and match.end() - begin > COMMENT_COLUMNS:
                number = file.text.count("\n", 0, begin) + 1
                yield file.path, number, f"{match.end() - begin} columns: more than {COMMENT_COLUMNS}; wrap the comment, or write it above the line"


def link_arrows(tree):
    """Each folder's CMake link line names exactly the folders its arrows point to."""
    for folder, arrows in ARROWS.items():
        path = Path(folder) / "CMakeLists.txt"
        if not tree.has(path):
            continue
        text = re.sub(r"#[^\n]*", "", (tree.root / path).read_text(encoding="utf-8"))
        linked = set()
        for call in re.finditer(r"\b(weft_library|target_link_libraries)\s*\(([^()]*)\)", text):
            words = re.sub(r"\bSOURCES\b.*?(?=\b(?:LINK|PRIVATE_LINK)\b|$)", " ", call.group(2), flags=re.S).split()
            linked |= {word[len("weft_") :] for word in words[1:] if word.startswith("weft_")}
        linked &= set(ARROWS)
        if folder == "tools":
            arrows = [arrow for arrow in arrows if arrow in linked or arrow != "calibration"]
        if "weft_" not in text:
            continue
        for extra in sorted(linked - set(arrows) - {folder}):
            yield path, 1, f"links weft_{extra}, but no arrow goes from {folder} to {extra}"
        for missing in sorted(set(arrows) - linked):
            yield path, 1, f"does not link weft_{missing}, though an arrow goes from {folder} to {missing}"


def header_manual(tree):
    """Every header starts with a comment of at most OPENING_LINES that says what it is, then #pragma once; so does every source
    that neither has a header nor is the test of a folder's file of the same name."""
    headers = {file.path.with_suffix("") for file in tree.code_files if file.path.suffix == ".hpp"}
    for file in tree.code_files:
        is_header = file.path.suffix == ".hpp"
        if not is_header and file.path.with_suffix("") in headers:
            continue
        if file.path.parts[0] == "tests" and file.path.parts[1] in ARROWS and file.path.name.endswith("_test.cpp"):
            continue
        comment = []
        for line in file.lines[1:] if file.lines[0].startswith("// SPDX") else file.lines:
            if not line.startswith("//"):
                break
            comment.append(line.lstrip("/ "))
        if len(" ".join(comment)) < 40:
            yield file.path, 1, "starts without a comment that says what this file is"
        if is_header and len(comment) > OPENING_LINES:
            yield file.path, len(comment), f"opens with {len(comment)} lines: more than {OPENING_LINES}; derivations go to docs/internals"
        if is_header and [line.strip() for line in file.lines].count("#pragma once") != 1:
            yield file.path, 1, "a header has #pragma once, one time"


def licence(tree):
    """Sources, schemas, scripts and build files name the licence in their first line, or in the second behind `#!`."""
    for file in tree.files:
        if file.path.suffix not in (".cpp", ".hpp", ".proto", ".cmake", ".py", ".sh") and file.path.name != "CMakeLists.txt":
            continue
        first = file.lines[1] if file.lines[0].startswith("#!") and len(file.lines) > 1 else file.lines[0]
        if first not in ("// " + LICENCE, "# " + LICENCE):
            yield file.path, 1, f"does not begin with {LICENCE}"


def leftovers(tree):
    """No TODO, FIXME, XXX or HACK, no merge markers, no #if 0."""
    marker = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|^(<<<<<<<|>>>>>>>)|^\s*#\s*if\s+0\b")
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            match = marker.search(line)
            if match:
                yield file.path, number, f'"{match.group(0).strip()}" is a leftover; do it, or open an issue'


def commented_code(tree):
    """No code in comments; an example in a comment is indented by three spaces or more."""
    code_like = re.compile(
        r"^/{2,}(?!/) ?(?! {2})\S.*[;{]\s*$|^/{2,}(?!/) ?[}\])]+[;,]?\s*$|^/{2,}(?!/) ?(#include|#if|#endif|return\b.*;|(if|for|while|switch) \(.*\)\s*\{?$)"
    )
    keywords = {"auto", "bool", "char", "const", "constexpr", "double", "else", "explicit", "float", "inline", "int", "long", "new", "return"}
    keywords |= {"short", "signed", "static", "struct", "class", "enum", "using", "typename", "unsigned", "virtual", "void", "friend", "mutable"}

    def is_prose(comment):
        run = 0
        for word in re.split(r"(?<=\w),? ", comment.lstrip("/ ")):
            run = run + 1 if re.fullmatch(r"[a-z]{2,}", word) and word not in keywords else 0
            if run == 3:
                return True
        return False

    for file in tree.code_files:
        for number, line in enumerate(file.lines, 1):
            comment = line.strip()
            if not comment.startswith("//") or not code_like.match(comment):
                continue
            if not is_prose(comment):
                yield file.path, number, "a comment that is code; git remembers what was"


def quiet_libraries(tree):
    """Below tools nobody prints, exits, reads the command line or the environment."""
    forbidden = re.compile(
        r"\bstd::(cout|cerr|clog)\b|(?<![\w.>])(?:std::)?(v?f?printf|puts|fputs|putchar|perror|exit|_exit|_Exit|quick_exit|abort|getenv|secure_getenv|setenv|system)\s*\("
        r"|\bargv\b|\bstd::terminate\b"
    )
    for file in tree.below_tools:
        for number, line in enumerate(file.code, 1):
            match = forbidden.search(line)
            if match:
                yield file.path, number, f'"{match.group(0).strip()}": below tools nobody prints, exits or asks the outside; return it to the caller'


# What is the process's by nature, as its memory limit is: the file and the variable.
PROCESS_LIMITS = {"core/text/input_file.cpp": "unpacked_bytes_max"}


def no_globals(tree):
    """Below tools no variable at namespace scope and no static local unless it is constant: an engine is a value. Limits of the process aside."""
    variable = re.compile(
        r"^(?:(?:static|inline|thread_local|extern|volatile)\s+)*"
        r"(?!(?:using|namespace|class|struct|enum|union|template|typedef|return|friend|public|private|protected|case|default|constexpr|const|consteval|goto|delete|throw|static_assert|static const|static constexpr|inline const|inline constexpr)\b)"
        r"[A-Za-z_][\w:]*(?:<[^;()]*>)?[\s*&]+[A-Za-z_]\w*(?:\[[^\]]*\])?\s*(?:=[^=].*|\{.*\})?;\s*$"
    )
    local_static = re.compile(r"^\s+(?:static|thread_local|static thread_local)\s+(?!const\b|constexpr\b)[\w:]+(?:<[^;()]*>)?[\s*&]+\w+\s*(?:=|\{|;)")
    member_static = re.compile(r"^\s+static\s")
    for file in tree.below_tools:
        limit = PROCESS_LIMITS.get(file.path.as_posix())
        for number, line in enumerate(file.code, 1):
            if limit and re.search(rf"\b{limit}\{{", line):
                continue
            if variable.match(line):
                yield file.path, number, "a variable at namespace scope; make it part of a value that its user owns"
            elif local_static.match(line) and not (file.path.suffix == ".hpp" and member_static.match(line) and "(" in line):
                yield file.path, number, "a static variable that is not constant; make it part of a value that its user owns"


def no_self_registration(tree):
    """Modules stand in explicit lists; nothing registers itself while the program starts."""
    forbidden = re.compile(
        r"__attribute__\s*\(\(\s*constructor|\[\[gnu::constructor|^\s*(?:static|const|inline)[\w\s:<>]*=\s*(?:\w+::)*[Rr]egister\w*\s*\(|^\s*REGISTER_\w+\s*\("
    )
    for file in tree.code_files:
        if file.folder in ARROWS:
            for number, line in enumerate(file.code, 1):
                if forbidden.search(line):
                    yield file.path, number, "registers itself while the program starts; add it to its folder's list of modules"


def file_pairs(tree):
    """Below tools every source has its header beside it, or says what it is and includes the header of its folder that declares it."""
    for file in tree.below_tools:
        if file.path.suffix != ".cpp" or tree.has(file.path.with_suffix(".hpp")):
            continue
        includes = re.findall(rf'^#include "({file.folder}/[^"]+\.hpp)"', file.text, re.M)
        if not file.text.startswith("//") or not any(tree.has(name) for name in includes):
            yield file.path, 1, f"there is no {file.path.with_suffix('.hpp').name} beside it, nor a comment on what it is and an #include of who declares it"


def top_folders(tree):
    """The top level holds the folders and files of the plan, and no others."""
    seen = set()
    for path in tree.paths:
        name = path.parts[0]
        known = TOP_FOLDERS if len(path.parts) > 1 else TOP_FILES
        if name not in known and name not in seen:
            seen.add(name)
            yield path, 1, f'"{name}" at the top level is not in the plan of the house'


def no_machine_paths(tree):
    """No file names a place that exists on one machine only."""
    place = re.compile(r"(?<![\w.~}-])/(?:work|tmp|home|root|Users|mnt|scratch)/[\w.]")
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            match = place.search(line)
            if match:
                yield file.path, number, f'"{match.group(0)}..." is a place on one machine; use a path relative to the project or a temporary folder asked for'


def pinned_actions(tree):
    """Workflows run actions of others by commit: a tag can be moved to other code."""
    action = re.compile(r"^\s*-?\s*uses:\s*(\S+)")
    for file in tree.files:
        if not str(file.path).startswith(".github/"):
            continue
        for number, line in enumerate(file.lines, 1):
            match = action.match(line)
            if match and not match.group(1).startswith("./") and not re.search(r"@[0-9a-f]{40}$", match.group(1)):
                yield file.path, number, f'"{match.group(1)}" may change; name its commit, 40 hexadecimal digits, and the version beside it'


def integer_ratio(tree):
    """No ratio of two whole-number literals where a real number is meant: 1 / 16 is 0."""
    ratio = re.compile(r"(?<![\w.'/])\d[\d']*[uUlL]*\s*/\s*\d[\d']*[uUlL]*(?![\w.'])")
    for file in tree.code_files:
        for number, line in enumerate(file.code, 1):
            if ratio.search(line):
                yield file.path, number, "a ratio of whole numbers is rounded down (1 / 16 is 0); write 1.0 / 16, or the result"


def seeded_randomness(tree):
    """Below tools random numbers come from core/values/random only, and nobody asks what day it is."""
    forbidden = re.compile(
        r"\bstd::(?:mt19937(?:_64)?|random_device|default_random_engine|minstd_rand0?|\w+_distribution|system_clock|chrono::system_clock)\b"
        r"|(?<![\w.:>])(?:s?rand|drand48|random_shuffle)\s*\("
    )
    for file in tree.below_tools:
        for number, line in enumerate(file.code, 1):
            match = forbidden.search(line)
            if match:
                yield file.path, number, f'"{match.group(0).strip()}" differs between libraries or runs; use core/values/random'


def ordered_iteration(tree):
    """Below tools nobody walks through an unordered container unless it sorts what it found, or a comment says why any order does
    ("order-free: ...")."""
    declaration = re.compile(r"\bstd::unordered_(?:multi)?(?:map|set)\s*<[^;=]*>[&*\s]+(\w+)\s*(?:[;={,)]|$)")
    names_of = {}
    for file in tree.below_tools:
        names = set()
        for line in file.code:
            names |= set(declaration.findall(line))
        names_of[file.path] = names
    for file in tree.below_tools:
        names = names_of[file.path] | names_of.get(file.path.with_suffix(".hpp"), set())
        if not names:
            continue
        walk = re.compile(r"\bfor\s*\([^;]*:\s*(?:\w+(?:\.|->))*(?:%s)\s*\)|\b(?:%s)\.c?begin\s*\(" % ("|".join(names), "|".join(names)))
        for number, line in enumerate(file.code, 1):
            sorted_after = any("sort(" in later for later in file.code[number : number + 8])
            said_why = any("order-free:" in above for above in file.lines[max(0, number - 3) : number])
            if walk.search(line) and not sorted_after and not said_why:
                yield file.path, number, "an unordered container has no order to rely on; sort, or say why it does not matter (order-free: ...)"


def doc_paths(tree):
    """A path of the project that a document names in backticks exists."""
    quoted = re.compile(r"`((?:%s)/[\w./-]*)`" % "|".join([*ARROWS, "bench", "tests", "cmake"]))
    known = set(tree.paths) | {parent for path in tree.paths for parent in path.parents}
    stems = {path.with_suffix("") for path in tree.paths}
    for file in tree.files:
        if file.path.suffix != ".md":
            continue
        for number, line in enumerate(file.lines, 1):
            for name in quoted.findall(line):
                path = Path(name.rstrip("/."))
                if path not in known and path not in stems:
                    yield file.path, number, f"`{name}` does not exist"


def white_space(tree):
    """No tabs in code, no blanks at the end of a line, one newline at the end of a file, no carriage returns."""
    for file in tree.files:
        if file.folder in ("tests", "workloads", "topologies", "scheduler") and not file.is_code:
            continue  # inputs of tests are wrong on purpose
        for number, line in enumerate(file.lines, 1):
            if line.endswith((" ", "\t")) and file.path.suffix != ".md":
                yield file.path, number, "blanks at the end of the line"
            if "\r" in line:
                yield file.path, number, "a carriage return"
            if file.is_code and "\t" in line:
                yield file.path, number, "a tab; indent with two spaces"
        if file.text and (not file.text.endswith("\n") or file.text.endswith("\n\n")):
            yield file.path, len(file.lines), "a file ends with one newline"


def clang_format(tree):
    """Every source is as clang-format (the configuration in the root) writes it."""
    sources = [str(tree.root / file.path) for file in tree.code_files]
    if not sources:
        return
    try:
        check = subprocess.run([tree.clang_format, "--dry-run", "--Werror", *sources], capture_output=True, text=True, check=False)
    except OSError as missing:
        raise CannotCheck(f"clang-format is not installed ({missing})") from missing
    seen = set()
    for match in re.finditer(r"^(.*?):(\d+):\d+: error: code should be clang-formatted", check.stderr, re.M):
        if match.group(1) not in seen:
            seen.add(match.group(1))
            yield Path(match.group(1)).relative_to(tree.root), int(match.group(2)), "differs from what clang-format writes; run clang-format -i on it"
    if check.returncode != 0 and not seen:
        yield Path(".clang-format"), 1, f"clang-format failed: {check.stderr.strip()[:200]}"


RULES = [
    include_arrows, include_circles, file_length, comment_columns, link_arrows, header_manual, licence, leftovers, commented_code, quiet_libraries,
    no_globals, no_self_registration, file_pairs, top_folders, no_machine_paths, pinned_actions, integer_ratio, seeded_randomness, ordered_iteration, doc_paths, white_space,
    clang_format,
]  # fmt: skip


# --- The command ----------------------------------------------------------------------------------


def main(arguments):
    parser = argparse.ArgumentParser(description="Checks the house rules.")
    parser.add_argument("root", nargs="?", type=Path)
    parser.add_argument("rule", nargs="?", choices=[rule.__name__ for rule in RULES])
    parser.add_argument("--list", action="store_true", help="print the names of the rules")
    parser.add_argument("--clang-format", default="clang-format")
    options = parser.parse_args(arguments)
    if options.list:
        for rule in RULES:
            print(f"{rule.__name__:22}{' '.join(rule.__doc__.split())}")
        return 0
    if options.root is None:
        parser.error("ROOT is missing")
    tree = Tree(options.root.resolve(), options.clang_format)
    findings = 0
    for rule in RULES:
        if options.rule not in (None, rule.__name__):
            continue
        try:
            for path, line, message in rule(tree):
                print(f"{path}:{line}: {message} [{rule.__name__}]")
                findings += 1
        except CannotCheck as reason:
            print(f"{rule.__name__}: skipped: {reason}")
            if options.rule:
                return 77
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
