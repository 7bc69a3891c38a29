# SPDX-License-Identifier: Apache-2.0
"""How a call is timed: warm-up, then samples of several calls each, until there are enough or the time for a point is over.

What is decided depends on the times alone that the stopwatch gives. So ranks of a collective, whose stopwatch gives all of them the
time of the slowest, decide alike without another word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Protocol

from .spread import median, relative_spread

CALLS_MAX = 50  # of one sample; more would fill the queue of launches
SAMPLES_MIN = 3


class Stopwatch(Protocol):
    def seconds_per_call(self, call: Callable[[], object], calls: int, is_cold: bool) -> float:
        """Runs the call so often, back to back; `is_cold`: with nothing of its data in a cache before the first."""


@dataclass(frozen=True)
class TimingSettings:
    warm_up: int = 5  # calls
    samples: int = 20
    window_s: float = 1e-3  # that a sample takes at least, by several calls
    limit_s: float = 2.0  # for all samples of a call
    is_cold: bool = False


@dataclass(frozen=True)
class Measurement:
    median_us: float
    spread: float
    samples: int
    calls: int  # per sample


def measure(stopwatch: Stopwatch, call: Callable[[], object], settings: TimingSettings) -> Measurement:
    once_s = stopwatch.seconds_per_call(call, 1, False)
    warm_s = once_s
    for _ in range(settings.warm_up - 1):
        once_s = stopwatch.seconds_per_call(call, 1, False)
        warm_s += once_s
        if warm_s > settings.limit_s / 2:
            break
    calls = 1 if settings.is_cold else max(1, min(CALLS_MAX, math.ceil(settings.window_s / max(once_s, 1e-9))))
    series: list[float] = []
    spent_s = 0.0
    while len(series) < settings.samples and (len(series) < SAMPLES_MIN or spent_s < settings.limit_s):
        series.append(stopwatch.seconds_per_call(call, calls, settings.is_cold))
        spent_s += series[-1] * calls
    return Measurement(median(series) * 1e6, relative_spread(series), len(series), calls)
