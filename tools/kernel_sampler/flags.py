# SPDX-License-Identifier: Apache-2.0
"""The flags, and the help that teaches them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Callable, Sequence

from .element_types import ELEMENT_TYPES
from .launch import DEFAULT_LAYOUTS
from .timing import TimingSettings

DESCRIPTION = """\
Samples how long operators of transformers, and collectives, take on this machine's GPUs, over a grid of shapes. The tables that it
writes are what Weft's measured and regressed operator times are made of. It needs PyTorch, for CUDA or ROCm, and nothing else.
"""
EPILOG = """\
what to do first:
  tools/kernel_sampler is a folder that Python runs:
    python3 tools/kernel_sampler --list                          what can be sampled
    python3 tools/kernel_sampler --dry-run --type=bf16           how many points the grid has, and how long they take
    python3 tools/kernel_sampler --out=a100 --type=bf16 --budget=120
                                                                 two hours: corners of the grid first, then ever finer
  The same command again goes on where the last one ended, however it ended; with a larger budget, or another grid, it adds points.
  Collectives need a process for each GPU:
    torchrun --nproc-per-node=8 tools/kernel_sampler --out=a100 --type=bf16
    srun --nodes=2 --ntasks-per-node=8 python3 tools/kernel_sampler --out=a100 --type=bf16 --layouts=2x1,2x2,2x4
  (with srun, MASTER_ADDR and MASTER_PORT say where rank 0 listens).

the grid:
  --set=l=1024..8192:1024      the axis l, for all functions: 1024, 2048, ... 8192
  --set=linear1.dim=4096,5120  the axis dim of linear1 alone
  --set=b=1..64*2              1, 2, 4, ... 64
  --grid=FILE                  such assignments, one a line, comments behind #
  Points that are one and the same kernel (b = 2 of l = 2048, b = 4 of l = 1024) are measured once.

how it measures:
  Forward and backward apart. After --warm-up calls come --samples samples, each of as many calls as take --window milliseconds, between
  two events on the stream. Before each the stream is kept busy until all calls are launched, so that times are those of kernels. The
  table has the median. measurements.jsonl has its spread, and the clock where PyTorch can read it (package nvidia-ml-py or amdsmi).

what a folder is:
  OUT/operator/GPU_FUNCTION_TYPE.csv, OUT/nccl/GPU_FUNCTION_TYPE_NODES_GPUS.csv, one GPU, one type and one PyTorch in a folder: runs that
  would mix them are refused. A point that does not fit into memory is noted in measurements.jsonl and not tried again.

memory:
  python3 tools/kernel_sampler memory --help      measures what layers take of a GPU's memory, for `weft project memory`

exit status: 0 done (or out of budget), 1 --check found faults, 2 wrong use, 130 interrupted
"""


def positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        number = kind(text)
        if not 0 < number < 1e9:
            raise ValueError
        return number

    read.__name__ = "number above 0"  # what argparse calls it
    return read


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    timing = TimingSettings()
    parser = argparse.ArgumentParser(
        prog="kernel_sampler", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("samples"), metavar="DIR", help="folder of the samples (default: samples)")
    add("--type", default="bf16", metavar="TYPE", help=f"of tensors: {', '.join(ELEMENT_TYPES)} (default: bf16)")
    add(
        "--functions", default="", metavar="NAME,...",
        help="what to sample; also `operators`, `collectives` (default: operators; collectives where there are several processes)",
    )  # fmt: skip
    add("--grid", type=Path, action="append", default=[], metavar="FILE", help="axes from a file")
    add("--set", action="append", default=[], metavar="AXIS=VALUES", help="values of an axis, see below; comes after --grid")
    add(
        "--layouts", default=DEFAULT_LAYOUTS, metavar="NxG,...",
        help=f"nodes x GPUs per node of collectives; those that fit are sampled (default: {DEFAULT_LAYOUTS})",
    )  # fmt: skip
    add("--budget", type=positive(float), metavar="MINUTES", help="stop after so long; the most informative points come first")
    add("--dry-run", action="store_true", help="print the grid, how many points it has and how long they take, and end")
    add("--device", choices=("gpu", "cpu"), default="gpu", help="cpu tries the sampler where there is no GPU (default: gpu)")
    add("--warm-up", type=positive(int), default=timing.warm_up, metavar="CALLS", help=f"before a point is measured (default: {timing.warm_up})")
    add("--samples", type=positive(int), default=timing.samples, metavar="N", help=f"per point and pass (default: {timing.samples})")
    window_ms = timing.window_s * 1e3
    add("--window", type=positive(float), default=window_ms, metavar="MS", help=f"that a sample takes at least (default: {window_ms:g})")
    add(
        "--limit", type=positive(float), default=timing.limit_s, metavar="S",
        help=f"for the samples of a pass; three are taken in any case (default: {timing.limit_s:g})",
    )  # fmt: skip
    add("--flush-caches", action="store_true", help="every call alone, with nothing in the L2 cache; without it calls follow each other")
    add("--list", action="store_true", help="print all functions with the columns of their tables, and end")
    add("--check", type=Path, metavar="DIR", help="check the tables of a folder, and end")
    return parser.parse_args(arguments)
