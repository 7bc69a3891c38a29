# SPDX-License-Identifier: Apache-2.0
"""Collectives in torch.distributed: NCCL or RCCL between GPUs, Gloo between CPUs.

Every layout has a group of its own: of the first nodes, the first GPUs of each. So one launch of 2 nodes x 8 GPUs samples 1 x 2, 1 x 4,
1 x 8, 2 x 1, 2 x 2 and 2 x 4. A time is that of the slowest rank. `shape` is what each rank puts in, and for a reduce-scatter what each
gets.
"""

from __future__ import annotations

from typing import Callable, Sequence

import torch
import torch.distributed as dist

from .devices import Device
from .faults import UseError
from .launch import Launch, Layout


class Ranks:
    """All processes of a launch, and the groups of its layouts."""

    def __init__(self, launch: Launch, device: Device, layouts: Sequence[Layout]) -> None:
        self.launch = launch
        self._device = device
        try:
            dist.init_process_group("nccl" if device.kind == "gpu" else "gloo", rank=launch.rank, world_size=launch.size)
        except (RuntimeError, ValueError) as error:
            raise UseError(
                f"rank {launch.rank} does not find the others: {str(error).splitlines()[0]}",
                "MASTER_ADDR and MASTER_PORT say where rank 0 listens; a PyTorch without libuv, as Debian's, wants USE_LIBUV=0",
            ) from error
        self._groups = {layout: dist.new_group(layout.ranks(launch)) for layout in layouts}

    def from_first(self, value: object) -> object:
        """What rank 0 has, on every rank."""
        held = [value]
        dist.broadcast_object_list(held, src=0, device=self._device.torch_device)
        return held[0]

    def stopwatch(self, layout: Layout) -> "GroupStopwatch":
        return GroupStopwatch(self._groups[layout], self._device)

    def call(self, function: str, elements: int, layout: Layout, dtype: torch.dtype) -> Callable[[], object]:
        """Tensors are made here. Throws RuntimeError where they do not fit."""
        ranks = layout.ranks(self.launch)
        group = self._groups[layout]
        mine = torch.ones(elements, dtype=dtype, device=self._device.torch_device)
        if function == "allreduce":
            return lambda: dist.all_reduce(mine, group=group)
        if function == "alltoall":
            received = torch.empty_like(mine)
            return lambda: dist.all_to_all_single(received, mine, group=group)
        if function == "p2p":
            half = len(ranks) // 2
            position = ranks.index(self.launch.rank)
            if position < half:
                return lambda: dist.send(mine, ranks[position + half], group=group)
            return lambda: dist.recv(mine, ranks[position - half], group=group)
        of_all = torch.ones(elements * len(ranks), dtype=dtype, device=self._device.torch_device)
        if function == "allgather":
            return lambda: dist.all_gather_into_tensor(of_all, mine, group=group)
        return lambda: dist.reduce_scatter_tensor(mine, of_all, group=group)

    def leave(self) -> None:
        dist.destroy_process_group()


class GroupStopwatch:
    """Gives every rank of a group the time of the slowest."""

    def __init__(self, group: dist.ProcessGroup, device: Device) -> None:
        self._group = group
        self._device = device

    def largest(self, value: float) -> float:
        held = torch.tensor([value], dtype=torch.float64, device=self._device.torch_device)
        dist.all_reduce(held, op=dist.ReduceOp.MAX, group=self._group)
        return float(held.item())

    def seconds_per_call(self, call: Callable[[], object], calls: int, is_cold: bool) -> float:
        # On a GPU a small sum on the stream: whoever is early waits there, and not in what is timed.
        together = torch.zeros(1, device=self._device.torch_device)
        return self.largest(self._device.seconds_per_call(call, calls, is_cold, lambda: dist.all_reduce(together, group=self._group)))
