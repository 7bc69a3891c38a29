# SPDX-License-Identifier: Apache-2.0
"""What is left to sample, in which order, and how long it will take."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Sequence

from .element_types import ElementType
from .faults import UseError
from .grid import Grid
from .journal import Journal
from .launch import Layout
from .refinement import axis_levels, rank_of
from .shapes import FUNCTIONS, Function, Kernel, Sizes
from .tables import read_name, read_rows, table_faults
from .timing import CALLS_MAX, TimingSettings

Key = tuple  # of a function's name, its kernel and its layout


@dataclass(frozen=True)
class Point:
    function: Function
    sizes: Sizes
    layout: Layout | None
    rank: tuple[int, int, bytes]

    @property
    def kernel(self) -> Kernel:
        return self.function.kernel(self.sizes)

    @property
    def key(self) -> Key:
        return self.function.name, self.kernel, self.layout

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={value:g}" if value < 1e6 else f"{name}={value:.0f}" for name, value in self.sizes.items())
        return f"{self.function.name} {sizes}" + (f" on {self.layout}" if self.layout else "")


@dataclass
class Plan:
    """Points to do, the most informative first; per function, how many the grid has and how many are done or left out."""

    points: list[Point]
    grid_points: dict[str, int] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    finished: dict[str, int] = field(default_factory=dict)


def make_plan(functions: Iterable[str], grid: Grid, layouts: Sequence[Layout], done: set[Key]) -> Plan:
    plan = Plan([])
    for name in functions:
        function = FUNCTIONS[name]
        levels = [axis_levels(len(grid.values(function, column))) for column in function.columns]
        first_of: dict[Kernel, Point] = {}
        plan.grid_points[name] = 0
        for position, sizes in grid.points(function):
            plan.grid_points[name] += 1
            point = Point(function, sizes, None, rank_of(name, position, levels))
            before = first_of.get(point.kernel)
            if before is None or point.rank < before.rank:
                first_of[point.kernel] = point
        points = list(first_of.values())
        if function.is_collective:
            pairs = [(point, layout) for layout in layouts for point in points if fits(function, point, layout)]
            points = [Point(function, point.sizes, layout, point.rank) for point, layout in pairs]
            plan.grid_points[name] *= len(layouts)
        left = [point for point in points if point.key not in done]
        plan.kernels[name] = len(points)
        plan.finished[name] = len(points) - len(left)
        plan.points += left
    plan.points.sort(key=lambda point: (point.rank, str(point.layout)))
    return plan


def fits(function: Function, point: Point, layout: Layout) -> bool:
    """Whether a collective's tensor can be shared out."""
    ranks = layout.nodes * layout.gpus_per_node
    if function.name == "alltoall":
        return int(point.sizes["shape"]) % ranks == 0
    return function.name != "p2p" or ranks % 2 == 0


def finished_keys(folder: Path, gpu: str | None, suffix: str) -> set[Key]:
    """From the tables, and from what the journal says was left out. Without the GPU's name (a dry run), of whichever is there."""
    keys: set[Key] = set()
    for part in ("operator", "nccl"):
        for path in sorted((folder / part).glob(f"{gpu or '*'}_*.csv")):
            faults = table_faults(path)
            if faults:
                raise UseError(faults[0], "move the table away; its rows are sampled again")
            keys |= set(keys_of_table(path, suffix))
    for entry in Journal(folder).entries():
        if "left_out" in entry:
            keys.add(key_of_entry(entry))
    return keys


def keys_of_table(path: Path, suffix: str) -> Iterable[Key]:
    name = read_name(path.name)
    assert name is not None  # table_faults() found none
    if name.suffix != suffix:
        raise UseError(f"{path} is of type {name.suffix}, not {suffix}", "samples are not mixed: name another folder with --out")
    function = FUNCTIONS[name.function]
    for row in read_rows(path):
        yield name.function, function.kernel(row), name.layout


def key_of_entry(entry: dict) -> Key:
    layout = Layout(*entry["layout"]) if entry.get("layout") else None
    return entry["function"], FUNCTIONS[entry["function"]].kernel(entry["sizes"]), layout


# --- How long it takes -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rates:
    """Of a device of that kind, roughly: what an estimate starts from until points of the folder say more."""

    operations_per_s: float
    bytes_per_s: float
    wire_bytes_per_s: float
    point_s: float  # for tensors, the first launch, and the journal


RATES = {"gpu": Rates(1e14, 1.2e12, 5e10, 0.05), "cpu": Rates(5e10, 5e9, 1e9, 0.02)}
COPIES = 4  # of what a kernel reads and writes: gradients, and what is between


def point_seconds(point: Point, element: ElementType, rates: Rates, settings: TimingSettings) -> float:
    work = point.function.work(point.kernel)
    bytes_per_s = rates.wire_bytes_per_s if point.layout else rates.bytes_per_s
    once_s = max(work.operations / rates.operations_per_s, work.elements * element.size_bytes / bytes_per_s, 5e-6)
    total_s = rates.point_s
    for pass_s in [once_s, 2 * once_s] if point.function.has_backward else [once_s]:
        calls = 1 if settings.is_cold else min(CALLS_MAX, max(1, settings.window_s / pass_s))
        total_s += settings.warm_up * pass_s + min(settings.samples * calls * pass_s, max(settings.limit_s, 3 * pass_s))
    return total_s


def memory_bytes(point: Point, element: ElementType) -> float:
    return COPIES * point.function.work(point.kernel).elements * element.size_bytes


@dataclass(frozen=True)
class Estimate:
    """Seconds of points: by rates, times what points of the folder took longer."""

    rates: Rates
    element: ElementType
    settings: TimingSettings
    factor: float = 1.0
    measured_points: int = 0

    def seconds(self, points: Iterable[Point]) -> float:
        return self.factor * sum(point_seconds(point, self.element, self.rates, self.settings) for point in points)

    def points_within(self, points: Sequence[Point], budget_s: float) -> int:
        spent_s = 0.0
        for index, point in enumerate(points):
            spent_s += self.seconds([point])
            if spent_s > budget_s:
                return index
        return len(points)


def make_estimate(journal: Journal, device: str, element: ElementType, settings: TimingSettings) -> Estimate:
    rough = Estimate(RATES[device], element, settings)
    took_s = expected_s = 0.0
    count = 0
    for entry in journal.entries():
        if "wall_s" not in entry:
            continue
        name, _, layout = key_of_entry(entry)
        took_s += entry["wall_s"]
        expected_s += rough.seconds([Point(FUNCTIONS[name], entry["sizes"], layout, (0, 0, b""))])
        count += 1
    return Estimate(rough.rates, element, settings, took_s / expected_s, count) if count else rough
