# SPDX-License-Identifier: Apache-2.0
"""The command: from flags to what is to be sampled, and to one run."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from dataclasses import dataclass
from typing import Sequence

from .element_types import ElementType, element_type
from .faults import UseError
from .flags import read_options
from .grid import Grid
from .journal import Identity, Journal
from .launch import Launch, Layout, read_launch, read_layouts
from .memory_flags import read_memory_request
from .overview import print_dry_run, print_faults, print_functions
from .plan import finished_keys, make_estimate, make_plan
from .shapes import COLLECTIVES, FUNCTIONS, OPERATORS
from .tables import gpu_in_names
from .timing import TimingSettings


@dataclass(frozen=True)
class Request:
    """What flags and launch ask for."""

    launch: Launch
    element: ElementType
    functions: Sequence[str]
    layouts: Sequence[Layout]
    grid: Grid
    settings: TimingSettings
    journal: Journal
    device: str
    budget_s: float | None


def chosen_functions(text: str, launch: Launch, element: ElementType) -> list[str]:
    if not text:
        names = list(OPERATORS if launch.size == 1 else COLLECTIVES)
        return [name for name in names if element.flag != "fp8" or FUNCTIONS[name].has_fp8]
    names = []
    for name in text.split(","):
        name = name.strip()
        if name in ("operators", "collectives"):
            group = OPERATORS if name == "operators" else COLLECTIVES
            names += [member for member in group if element.flag != "fp8" or FUNCTIONS[member].has_fp8]
        elif name not in FUNCTIONS:
            raise UseError(f'there is no function "{name}"', "--list prints all functions")
        elif element.flag == "fp8" and not FUNCTIONS[name].has_fp8:
            raise UseError(f"{name} is not computed in fp8", "fp8 is of linear layers: take bf16 for the others")
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def require_processes(functions: Sequence[str], launch: Launch, element: ElementType) -> None:
    """Collectives have several processes, operators one."""
    are_collectives = {FUNCTIONS[name].is_collective for name in functions}
    if not functions:
        raise UseError("there is nothing to sample", "collectives have no fp8: take fp16 or bf16")
    if len(are_collectives) == 2 or (False in are_collectives and launch.size > 1):
        raise UseError("operators are sampled by one process, collectives by several", "start the sampler once for each")
    if True in are_collectives and element.flag == "tf32":
        raise UseError("collectives move tf32 as fp32", "take --type=fp32")
    if True in are_collectives and launch.size == 1:
        raise UseError("collectives need a process for each GPU", "torchrun --nproc-per-node=8 tools/kernel_sampler ...")
    if launch.size > 1 and not {"MASTER_ADDR", "MASTER_PORT"} <= set(os.environ):
        raise UseError("MASTER_ADDR and MASTER_PORT do not say where rank 0 listens", "export both before srun, or use torchrun")


def read_grid(options: argparse.Namespace) -> Grid:
    grid = Grid()
    for path in options.grid:
        grid.read(path)
    for assignment in options.set:
        grid.set(assignment)
    return grid


def read_request(options: argparse.Namespace, launch: Launch) -> Request:
    element = element_type(options.type)
    functions = chosen_functions(options.functions, launch, element)
    layouts = [layout for layout in read_layouts(options.layouts) if options.dry_run or launch.has(layout)]
    settings = TimingSettings(options.warm_up, options.samples, options.window * 1e-3, options.limit, options.flush_caches)
    budget_s = options.budget * 60 if options.budget else None
    return Request(launch, element, functions, layouts, read_grid(options), settings, Journal(options.out), options.device, budget_s)


def dry_run(request: Request) -> None:
    folder = request.journal.folder
    plan = make_plan(request.functions, request.grid, request.layouts, finished_keys(folder, None, request.element.suffix))
    estimate = make_estimate(request.journal, request.device, request.element, request.settings)
    points = estimate.measured_points
    basis = f"by {points} points of {folder}" if points else f"by rough rates of a {request.device.upper()}"
    print_dry_run(plan, request.grid, request.layouts, estimate, basis, request.budget_s)


def require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        help_text = "install torch for your GPUs (pytorch.org), or python3-torch for a try on the CPU"
        raise UseError(f"PyTorch is not installed for {sys.executable}: {error}", help_text) from error


def run(request: Request) -> None:
    launch, settings, element = request.launch, request.settings, request.element
    require_processes(request.functions, launch, element)
    if launch.size > 1 and not request.layouts:
        raise UseError(f"none of the layouts fits into {launch.nodes} nodes x {launch.local_size} GPUs", "--layouts=NxG,... names others")
    require_torch()
    import torch

    from .collectives import Ranks
    from .devices import open_device
    from .precision import set_up_type
    from .sampling import CollectiveRunner, OperatorRunner, Samples, print_outcome, sample

    start_s = time.monotonic()
    device = open_device(request.device, launch.local_rank)
    dtype = set_up_type(element, device)
    samples = Samples(request.journal, device, gpu_in_names(device.name), element)
    with contextlib.ExitStack() as held:
        if launch.rank == 0:
            caches = "cold" if settings.is_cold else "warm"
            held.enter_context(request.journal.claimed(Identity(samples.gpu, element.flag, torch.__version__, device.backend, caches)))
        if launch.size > 1:
            ranks = Ranks(launch, device, request.layouts)
            held.callback(ranks.leave)
            runner = CollectiveRunner(ranks, device, dtype, settings)
        else:
            runner = OperatorRunner(device, dtype, element, settings)
        done = runner.agreed(finished_keys(request.journal.folder, samples.gpu, element.suffix) if runner.is_writer else None)
        plan = make_plan(request.functions, request.grid, request.layouts, done)
        if runner.is_writer:
            clock = device.clock_mhz()
            print(f"{device.name}, {device.backend}, {element.flag}, clock {f'{clock:.0f} MHz' if clock else 'not known'}")
            print(f"{len(plan.points)} kernels to sample, {sum(plan.finished.values())} done before", flush=True)
        estimate = make_estimate(request.journal, request.device, element, settings)
        deadline_s = start_s + request.budget_s if request.budget_s is not None else None
        outcome = sample(plan, runner, samples, estimate, deadline_s)
    if runner.is_writer:
        print_outcome(outcome)
        print(f"tables in {request.journal.folder}")


def run_memory(arguments: Sequence[str]) -> None:
    request = read_memory_request(arguments)
    require_torch()
    from .memory_bench import measure_memory

    measure_memory(request)


def main(arguments: Sequence[str]) -> int:
    try:
        if arguments[:1] == ["memory"]:
            run_memory(arguments[1:])
            return 0
        options = read_options(arguments)
        if options.list:
            print_functions()
        elif options.check:
            return print_faults(options.check)
        else:
            request = read_request(options, read_launch(os.environ))
            (dry_run if options.dry_run else run)(request)
    except UseError as error:
        print(f"kernel_sampler: error: {error}", file=sys.stderr)
        if error.help_text:
            print(f"  help: {error.help_text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nkernel_sampler: interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 0
