# SPDX-License-Identifier: Apache-2.0
"""Tables of times as `host/op_times` and estimate-train-time read them: how they are called, their columns, and who checks that.

Operators: OUT/operator/GPU_FUNCTION_TYPE.csv with the function's columns and `F_dur(us),B_dur(us)`, or `dur(us)` without backward.
Collectives: OUT/nccl/GPU_FUNCTION_TYPE_NODES_GPUS.csv with `shape,nodes,GPUsPerNode,dur(us)`, shape in elements of TYPE.
A row is there whole or not at all: it is appended in one write, and what a power cut left of one is taken off before the next.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

from .element_types import SUFFIXES
from .grid import plain
from .launch import Layout
from .shapes import FUNCTIONS, Function, Sizes

NAME = re.compile(
    r"(?P<gpu>[A-Za-z0-9.+-]+)_(?P<function>\w+?)_(?P<type>%s)(?:_(?P<nodes>[1-9]\d*)_(?P<gpus>[1-9]\d*))?\.csv" % "|".join(SUFFIXES)
)
LAYOUT_COLUMNS = ("nodes", "GPUsPerNode")


def gpu_in_names(name: str) -> str:
    """A GPU's name as file names have it: "NVIDIA A100-SXM4-80GB" is NVIDIAA100-SXM4-80GB."""
    return re.sub(r"[^A-Za-z0-9.+-]", "", name.replace("_", "-")) or "unnamed"


@dataclass(frozen=True)
class TableName:
    gpu: str
    function: str
    suffix: str
    layout: Layout | None = None

    @property
    def path(self) -> Path:
        stem = f"{self.gpu}_{self.function}_{self.suffix}"
        if self.layout:
            return Path("nccl") / f"{stem}_{self.layout.nodes}_{self.layout.gpus_per_node}.csv"
        return Path("operator") / f"{stem}.csv"


def read_name(file: str) -> TableName | None:
    match = NAME.fullmatch(file)
    if not match:
        return None
    layout = Layout(int(match["nodes"]), int(match["gpus"])) if match["nodes"] else None
    return TableName(match["gpu"], match["function"], match["type"], layout)


def size_columns(function: Function) -> tuple[str, ...]:
    return function.columns + LAYOUT_COLUMNS if function.is_collective else function.columns


def time_columns(function: Function) -> tuple[str, ...]:
    return ("F_dur(us)", "B_dur(us)") if function.has_backward else ("dur(us)",)


def header(function: Function) -> str:
    return ",".join(size_columns(function) + time_columns(function))


def row(function: Function, sizes: Sizes, layout: Layout | None, times_us: Sequence[float]) -> str:
    numbers = [f"{plain(sizes[column])}" for column in function.columns]
    if layout:
        numbers += [str(layout.nodes), str(layout.gpus_per_node)]
    return ",".join(numbers + [f"{max(time_us, 1e-4):.4f}" for time_us in times_us])


def append_line(path: Path, line: str, first_line: str = "") -> None:
    """Creates the file with its first line if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        whole = whole_lines_bytes(descriptor)
        os.ftruncate(descriptor, whole)
        text = line + "\n" if whole or not first_line else f"{first_line}\n{line}\n"
        os.pwrite(descriptor, text.encode(), whole)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def whole_lines_bytes(descriptor: int) -> int:
    """Up to the last newline; the end of a file suffices unless a line is longer."""
    size = os.fstat(descriptor).st_size
    step = 4096
    end = size
    while end > 0:
        begin = max(0, end - step)
        newline = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        end = begin
    return 0


def read_rows(path: Path) -> Iterator[dict[str, float]]:
    """Whole rows. Requires: the table has no faults."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    names = lines[0].rstrip("\n").split(",") if lines else []
    for line in lines[1:]:
        if line.endswith("\n"):
            yield {name: plain(float(text)) for name, text in zip(names, line.rstrip("\n").split(","))}


def table_faults(path: Path) -> list[str]:
    """What readers would refuse, as FILE:LINE: what is wrong. A last line without its newline is no fault: the next write takes it off."""
    name = read_name(path.name)
    if not name:
        return [f"{path}: the name is not GPU_FUNCTION_TYPE.csv or GPU_FUNCTION_TYPE_NODES_GPUS.csv"]
    function = FUNCTIONS.get(name.function)
    if not function:
        return [f'{path}: there is no function "{name.function}"']
    if function.is_collective != (name.layout is not None):
        return [f"{path}: names of collectives, and of no others, end in _NODES_GPUS"]
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        return [f"{path}: {error}"]
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    if not lines or lines[0].rstrip("\n") != header(function):
        return [f"{path}:1: the columns are not {header(function)}"]
    faults = [] if len(lines) > 1 else [f"{path}: there are no rows"]
    for number, line in enumerate(lines[1:], 2):
        faults += [f"{path}:{number}: {fault}" for fault in row_faults(name, function, line.rstrip("\n"))]
    return faults


def row_faults(name: TableName, function: Function, line: str) -> Iterator[str]:
    columns = size_columns(function) + time_columns(function)
    fields = line.split(",")
    if len(fields) != len(columns):
        yield f"{len(fields)} fields instead of {len(columns)}"
        return
    numbers: dict[str, float] = {}
    for column, field in zip(columns, fields):
        if not re.fullmatch(r"\d+(\.\d+)?", field) or float(field) <= 0:
            yield f'{column} is "{field}", not a number above 0'
            return
        numbers[column] = float(field)
    if name.layout and (numbers["nodes"], numbers["GPUsPerNode"]) != (name.layout.nodes, name.layout.gpus_per_node):
        yield f"the file's name says {name.layout}"
    if not function.is_kernel(numbers):
        yield f"{function.name} has no kernel of these sizes"


def tables_below(folder: Path) -> list[Path]:
    return sorted(path for part in ("operator", "nccl") for path in (folder / part).glob("*.csv"))
