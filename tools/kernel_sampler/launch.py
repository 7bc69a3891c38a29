# SPDX-License-Identifier: Apache-2.0
"""Which process of how many this is: from what torchrun sets, or SLURM's srun; and which layouts of GPUs fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Mapping

from .faults import UseError

# nodes x GPUs per node
DEFAULT_LAYOUTS = "1x2,1x4,1x8,2x1,2x2,2x4"


@dataclass(frozen=True)
class Layout:
    nodes: int
    gpus_per_node: int

    def ranks(self, launch: "Launch") -> list[int]:
        """Of the first nodes, the first GPUs."""
        return [node * launch.local_size + gpu for node in range(self.nodes) for gpu in range(self.gpus_per_node)]

    def __str__(self) -> str:
        return f"{self.nodes}x{self.gpus_per_node}"


@dataclass(frozen=True)
class Launch:
    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def nodes(self) -> int:
        return self.size // self.local_size

    def has(self, layout: Layout) -> bool:
        return layout.nodes <= self.nodes and layout.gpus_per_node <= self.local_size


def read_launch(environment: Mapping[str, str]) -> Launch:
    """torchrun's variables come before SLURM's, since torchrun may run inside a SLURM job."""
    if "LOCAL_WORLD_SIZE" in environment:
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        numbers = [environment.get(name, "") for name in names]
    elif "SLURM_PROCID" in environment and int(environment.get("SLURM_NTASKS", "1")) > 1:
        names = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE")
        numbers = [environment.get(name, "") for name in names]
        tasks = re.fullmatch(r"(\d+)(\(x\d+\))?", numbers[3])
        if not tasks:
            raise UseError(f'SLURM has "{numbers[3]}" tasks per node', "start as many tasks on every node: srun --ntasks-per-node=N")
        numbers[3] = tasks.group(1)
    else:
        return Launch()
    for name, number in zip(names, numbers):
        if not number.isdigit():
            raise UseError(f'{name} is "{number}", not a number', "start the sampler with torchrun or srun")
    launch = Launch(*(int(number) for number in numbers))
    if launch.local_size < 1 or launch.size % launch.local_size != 0:
        raise UseError(f"{launch.size} processes are not {launch.local_size} on each node", "start as many processes on every node")
    return launch


def read_layouts(text: str) -> list[Layout]:
    layouts = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([1-9]\d{0,4})x([1-9]\d{0,4})\s*", part)
        if not match or match.group(1) == match.group(2) == "1":
            raise UseError(f'"{part.strip()}" is no layout', "write NODESxGPUS with two GPUs or more, such as 1x8,2x4")
        layouts.append(Layout(int(match.group(1)), int(match.group(2))))
    return list(dict.fromkeys(layouts))
