# SPDX-License-Identifier: Apache-2.0
"""What the command prints where it measures nothing: functions, faults of tables, a grid and how long it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from .faults import UseError
from .grid import DEFAULT_AXES, Grid
from .launch import Layout
from .plan import Estimate, Plan
from .progress import duration_text
from .shapes import FUNCTIONS
from .tables import header, table_faults, tables_below


def print_functions() -> None:
    for function in FUNCTIONS.values():
        print(f"{function.name}\n    {function.meaning}\n    {header(function)}")
    print("\ndefault grid")
    for name, values in DEFAULT_AXES.items():
        print(f"    {name + ' =':11} {values}")


def print_faults(folder: Path) -> int:
    tables = tables_below(folder)
    if not tables:
        raise UseError(f"there are no tables in {folder}", "they are below its folders operator and nccl")
    faults = [fault for path in tables for fault in table_faults(path)]
    for fault in faults:
        print(fault)
    if not faults:
        print(f"{len(tables)} tables, no faults")
    return 1 if faults else 0


def print_dry_run(plan: Plan, grid: Grid, layouts: Sequence[Layout], estimate: Estimate, basis: str, budget_s: float | None) -> None:
    functions = list(plan.kernels)
    seconds: dict[str, float] = {name: 0.0 for name in functions}
    for point in plan.points:
        seconds[point.function.name] += estimate.seconds([point])
    for name in functions:
        axes = "  ".join(f"{column} {brief(grid.values(FUNCTIONS[name], column))}" for column in FUNCTIONS[name].columns)
        left = plan.kernels[name] - plan.finished[name]
        print(
            f"{name}: {plan.grid_points[name]} points, {plan.kernels[name]} kernels, {plan.finished[name]} done, {left} left, "
            f"about {duration_text(seconds[name])}\n    {axes}"
        )
    if any(FUNCTIONS[name].is_collective for name in functions):
        print(f"layouts: {' '.join(str(layout) for layout in layouts)}")
    print(f"in all {len(plan.points)} kernels left, about {duration_text(sum(seconds.values()))} ({basis})")
    if budget_s is not None:
        count = estimate.points_within(plan.points, budget_s)
        print(f"within {duration_text(budget_s)}: {count} of them, {levels_text(plan, count)}")


def brief(values: Sequence[float]) -> str:
    texts = [f"{value:g}" if value < 1e6 else f"{value:.0f}" for value in values]
    return ",".join(texts if len(texts) <= 8 else [*texts[:4], "..", *texts[-2:]])


def levels_text(plan: Plan, count: int) -> str:
    if count == len(plan.points):
        return "all"
    level = plan.points[count].rank[0]
    return "a part of the corners" if level == 0 else f"the grid with axes halved {level - 1} times, and a part of {level} times"
