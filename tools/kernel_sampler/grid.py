# SPDX-License-Identifier: Apache-2.0
"""The grid: which values each size takes.

An axis is named as the column of the tables. `mp = 1,2,4` holds for all functions, `linear1.mp = 1,2` for one. Values are numbers with
commas between them, `A..B:STEP` (A, A + STEP, ... up to B) or `A..B*FACTOR` (A, A FACTOR, ... up to B); a grid file has one axis a line
and comments behind #.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from .faults import UseError
from .shapes import FUNCTIONS, Function, Sizes

VALUES_MAX = 4096  # of one axis

# As far as estimate-train-time's tables go, and a little further: micro-batches of one sequence, the widths of the largest models.
DEFAULT_AXES = {
    "mp": "1,2,4,8,16",
    "b": "1,2,4,8",
    "h": "16..80:8,96,128",
    "l": "1024..5120:512,6144,8192",
    "dim": "2048..8192:512,10240,12288,16384",
    "ffn": "2816,5632,8192,11008,14336,18432,28672,53248",
    "vocab": "32000,50304,128256",
    "encoders": "1..12:1,16",
    "experts": "8,16,64,128,256",
    "topk": "1,2,4,6,8",
    "groups": "1..32*2",
    "rows": "1024..131072*2",
    "skew": "1,1.5,2,4",
    "columns": "1408,2048,4096,7168,14336",
    "inner": "1408,2048,4096,7168,14336",
    "shape": "1024..1073741824*2,1280..671088640*2,1536..805306368*2,1792..939524096*2",  # all are multiples of 256
}
RANGE = re.compile(r"([\d.e+]+?)\.\.([\d.e+]+?)([:*])([\d.e+]+)")


def read_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UseError(f'"{text}" is no number', "values are such as 1,2,4 or 1024..5120:512 or 1..64*2") from None
    if not 0 < number < 1e15:
        raise UseError(f'"{text}" is no size', "sizes are above 0")
    return number


def plain(number: float) -> float:
    """Whole numbers as int, so that they are written and compared as such."""
    return int(number) if number == int(number) else number


def read_values(text: str) -> list[float]:
    """Sorted, each once."""
    found: set[float] = set()
    for part in text.split(","):
        part = part.strip()
        if ".." not in part:
            found.add(plain(read_number(part)))
            continue
        match = RANGE.fullmatch(part)
        if not match:
            raise UseError(f'"{part}" is no range', "write A..B:STEP or A..B*FACTOR")
        first, last, step = (read_number(match.group(group)) for group in (1, 2, 4))
        is_product = match.group(3) == "*"
        if last < first or (is_product and step <= 1):
            raise UseError(f'"{part}" has no values', "the range goes upwards, by a step above 0 or a factor above 1")
        steps = math.log(last / first) / math.log(step) if is_product else (last - first) / step
        if steps > VALUES_MAX:
            raise UseError(f'"{part}" has more than {VALUES_MAX} values', "take a larger step")
        # Products that should be whole come out a little beside it.
        for index in range(int(steps + 1e-6) + 1):
            found.add(round(first * step**index) if is_product else plain(first + step * index))
    return sorted(found)


class Grid:
    """Values of each axis, of all functions or of one."""

    def __init__(self) -> None:
        self._values = {name: read_values(text) for name, text in DEFAULT_AXES.items()}

    def set(self, assignment: str) -> None:
        """`mp=1,2` or `linear1.mp=1,2`."""
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not text:
            raise UseError(f'"{assignment}" sets nothing', "write AXIS=VALUES, such as mp=1,2,4")
        function, dot, axis = name.rpartition(".")
        if dot and function not in FUNCTIONS:
            raise UseError(f'there is no function "{function}"', "--list prints all functions")
        if axis not in DEFAULT_AXES or (dot and axis not in FUNCTIONS[function].columns):
            axes = FUNCTIONS[function].columns if dot else DEFAULT_AXES
            raise UseError(f'there is no axis "{name}"', f"axes are {', '.join(axes)}")
        values = read_values(text)
        if axis != "skew" and any(value != int(value) for value in values):
            raise UseError(f'"{assignment}": {axis} is a whole number')
        self._values[name] = values

    def read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UseError(f"the grid {path} cannot be read: {error}") from error
        for number, line in enumerate(lines, 1):
            line = line.split("#")[0].strip()
            try:
                if line:
                    self.set(line)
            except UseError as error:
                raise UseError(f"{path}:{number}: {error}", error.help_text) from error

    def values(self, function: Function, column: str) -> Sequence[float]:
        return self._values.get(f"{function.name}.{column}") or self._values[column]

    def points(self, function: Function) -> Iterator[tuple[tuple[int, ...], Sizes]]:
        """Every point that is a kernel, with its position on each axis."""
        axes = [list(enumerate(self.values(function, column))) for column in function.columns]
        for choice in itertools.product(*axes):
            sizes: Mapping[str, float] = {column: value for column, (_, value) in zip(function.columns, choice)}
            if function.is_kernel(sizes):
                yield tuple(index for index, _ in choice), sizes
