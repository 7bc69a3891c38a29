# SPDX-License-Identifier: Apache-2.0
"""The order in which points inform most: the corners of the grid first, then halves of every axis, then quarters.

Whenever sampling stops, what was measured is a coarse grid over the whole range and a part of the next finer one, with no large hole.
"""

from __future__ import annotations

import hashlib
from typing import Sequence


def axis_levels(count: int) -> list[int]:
    """Of each value of an axis: 0 for the ends, 1 for the middle, 2 for the middles between those, and so on."""
    levels = [0] * count
    spans = [(0, count - 1)]
    level = 1
    while spans:
        halves = []
        for first, last in spans:
            if last - first < 2:
                continue
            middle = (first + last) // 2
            levels[middle] = level
            halves += [(first, middle), (middle, last)]
        spans = halves
        level += 1
    return levels


def rank_of(name: str, position: Sequence[int], levels: Sequence[Sequence[int]]) -> tuple[int, int, bytes]:
    """Sorts points of all functions; points of one level are scattered, the same way in every run."""
    at = [axis[index] for axis, index in zip(levels, position)]
    scatter = hashlib.blake2b(f"{name} {tuple(position)}".encode(), digest_size=8).digest()
    return max(at, default=0), sum(at), scatter
