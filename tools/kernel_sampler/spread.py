# SPDX-License-Identifier: Apache-2.0
"""A series of times in two numbers: median, and how far apart its tenths are."""

from __future__ import annotations

from typing import Sequence


def quantile(ordered: Sequence[float], share: float) -> float:
    """Between the two nearest of a sorted series, linearly."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def median(series: Sequence[float]) -> float:
    return quantile(sorted(series), 0.5)


def relative_spread(series: Sequence[float]) -> float:
    """From the tenth to the ninetieth percentile, as a share of the median."""
    ordered = sorted(series)
    return (quantile(ordered, 0.9) - quantile(ordered, 0.1)) / quantile(ordered, 0.5)
