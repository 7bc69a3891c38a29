# SPDX-License-Identifier: Apache-2.0
"""One run: point by point, measured and written at once, so that it can end at any moment."""

from __future__ import annotations

import datetime
import gc
import sys
import time
from dataclasses import dataclass, field
from typing import Protocol, Sequence

import torch

from .collectives import Ranks
from .devices import Device
from .element_types import ElementType
from .faults import Unavailable, UseError
from .journal import Journal
from .operators import Maker, make_calls
from .plan import Estimate, Plan, Point, memory_bytes
from .progress import Progress
from .spread import median
from .tables import TableName, append_line, header, row
from .timing import Measurement, TimingSettings, measure


class LeftOut(Exception):
    """A point that this device cannot run; the text says why."""


def is_out_of_memory(error: Exception) -> bool:
    return any(text in str(error) for text in ("out of memory", "can't allocate memory", "STATUS_ALLOC_FAILED"))


def is_unavailable(error: Exception) -> bool:
    texts = ("not implemented for", "no support for", "not supported", "does not support")
    return isinstance(error, NotImplementedError) or any(text in str(error) for text in texts)


class Runner(Protocol):
    is_writer: bool  # of all processes, the one that decides and writes

    def takes_part(self, point: Point) -> bool: ...

    def agreed(self, value: object) -> object:
        """The writer's, on all processes."""

    def measure(self, point: Point) -> list[Measurement]:
        """Of each pass. Throws LeftOut, Unavailable, and RuntimeError where the device failed."""


class OperatorRunner:
    is_writer = True

    def __init__(self, device: Device, dtype: torch.dtype, element: ElementType, settings: TimingSettings) -> None:
        self._device = device
        self._element = element
        self._make = Maker(dtype, device.torch_device)
        self._settings = settings

    def takes_part(self, point: Point) -> bool:
        return True

    def agreed(self, value: object) -> object:
        return value

    def measure(self, point: Point) -> list[Measurement]:
        if memory_bytes(point, self._element) > self._device.memory_bytes():
            raise LeftOut("out of memory")
        calls = make_calls(point.function.name, point.kernel, self._make)
        passes = [calls.forward] + ([calls.backward] if calls.backward else [])
        return [measure(self._device, call, self._settings) for call in passes]


class CollectiveRunner:
    def __init__(self, ranks: Ranks, device: Device, dtype: torch.dtype, settings: TimingSettings) -> None:
        self.is_writer = ranks.launch.rank == 0
        self._ranks = ranks
        self._device = device
        self._dtype = dtype
        self._settings = settings

    def takes_part(self, point: Point) -> bool:
        assert point.layout is not None
        return self._ranks.launch.rank in point.layout.ranks(self._ranks.launch)

    def agreed(self, value: object) -> object:
        return self._ranks.from_first(value)

    def measure(self, point: Point) -> list[Measurement]:
        assert point.layout is not None
        stopwatch = self._ranks.stopwatch(point.layout)
        lacks_memory = 0.0
        try:
            call = self._ranks.call(point.function.name, point.kernel[0], point.layout, self._dtype)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            lacks_memory = 1.0
        if stopwatch.largest(lacks_memory) > 0:
            raise LeftOut("out of memory")
        return [measure(stopwatch, call, self._settings)]


@dataclass(frozen=True)
class Samples:
    """A folder of samples of one device and type."""

    journal: Journal
    device: Device
    gpu: str  # as file names have it
    element: ElementType

    def write(self, point: Point, measurements: Sequence[Measurement], wall_s: float) -> None:
        """The journal comes first: what has a row there has a line here."""
        passes = [
            {"median_us": round(measured.median_us, 4), "spread": round(measured.spread, 5), "samples": measured.samples, "calls": measured.calls}
            for measured in measurements
        ]
        self.journal.note({**entry_of(point), "passes": passes, "clock_mhz": self.device.clock_mhz(), "wall_s": round(wall_s, 4)})
        table = TableName(self.gpu, point.function.name, self.element.suffix, point.layout)
        line = row(point.function, point.sizes, point.layout, [measurement.median_us for measurement in measurements])
        append_line(self.journal.folder / table.path, line, header(point.function))

    def leave_out(self, point: Point, reason: str) -> None:
        self.journal.note({**entry_of(point), "left_out": reason})


def entry_of(point: Point) -> dict[str, object]:
    layout = {"layout": [point.layout.nodes, point.layout.gpus_per_node]} if point.layout else {}
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return {"function": point.function.name, "sizes": dict(point.sizes), **layout, "utc": now}


@dataclass
class Outcome:
    left_out: dict[str, int] = field(default_factory=dict)  # points, by reason
    unavailable: dict[str, str] = field(default_factory=dict)  # functions, and why
    remaining: int = 0
    spreads: list[tuple[float, str]] = field(default_factory=list)


def attempt(runner: Runner, point: Point) -> list[Measurement]:
    """Throws LeftOut or Unavailable for whatever a device throws."""
    try:
        return runner.measure(point)
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise LeftOut("out of memory") from error
        if is_unavailable(error):
            raise Unavailable(str(error).splitlines()[0]) from error
        raise LeftOut(f"failed: {str(error).splitlines()[0]}") from error


def sample(plan: Plan, runner: Runner, samples: Samples, estimate: Estimate, deadline_s: float | None) -> Outcome:
    """Until all points are done, or the next would end behind the deadline, on the monotonic clock."""
    outcome = Outcome(remaining=len(plan.points))
    progress = Progress(len(plan.points))
    expected_s = [estimate.seconds([point]) for point in plan.points]
    left_s = sum(expected_s)
    took_s = planned_s = 0.0
    for point, point_s in zip(plan.points, expected_s):
        pace = took_s / planned_s if planned_s > 0 else 1.0
        if runner.agreed(deadline_s is not None and time.monotonic() + pace * point_s > deadline_s):
            break
        outcome.remaining -= 1
        left_s -= point_s
        name = point.function.name
        if name in outcome.unavailable:
            continue
        start_s = time.monotonic()
        left_out = unavailable = ""
        measurements: list[Measurement] = []
        if runner.takes_part(point):
            try:
                measurements = attempt(runner, point)
            except LeftOut as reason:
                left_out = str(reason)
            except Unavailable as reason:
                unavailable = str(reason)
        unavailable = str(runner.agreed(unavailable))
        if unavailable:
            outcome.unavailable[name] = unavailable
            continue
        wall_s = time.monotonic() - start_s
        took_s += wall_s
        planned_s += point_s
        if runner.is_writer and left_out:
            samples.leave_out(point, left_out)
            outcome.left_out[left_out] = outcome.left_out.get(left_out, 0) + 1
        elif runner.is_writer:
            samples.write(point, measurements, wall_s)
            outcome.spreads.append((max(measurement.spread for measurement in measurements), str(point)))
        if runner.is_writer:
            budget_s = deadline_s - time.monotonic() if deadline_s is not None else float("inf")
            progress.say(len(plan.points) - outcome.remaining, min(budget_s, left_s * took_s / planned_s), str(point))
        if left_out:
            settle(samples.device, point)
    progress.end()
    return outcome


def settle(device: Device, point: Point) -> None:
    """After a point that failed."""
    gc.collect()
    try:
        device.settle()
    except RuntimeError as error:
        help_text = "start the same command again: it leaves this point out and goes on"
        raise UseError(f"{device.name} failed at {point}: {str(error).splitlines()[0]}", help_text) from error


def print_outcome(outcome: Outcome) -> None:
    for name, reason in outcome.unavailable.items():
        print(f"kernel_sampler: note: {name} is left out: {reason}", file=sys.stderr)
    for reason, count in outcome.left_out.items():
        print(f"{count} left out: {reason}")
    if outcome.spreads:
        worst, where = max(outcome.spreads)
        usual = median([spread for spread, _ in outcome.spreads])
        print(f"{len(outcome.spreads)} measured; from the 10th to the 90th percentile {usual:.1%} as a rule, at most {worst:.1%}: {where}")
    if outcome.remaining:
        print(f"{outcome.remaining} remain; the same command goes on with them")
