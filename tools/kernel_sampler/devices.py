# SPDX-License-Identifier: Apache-2.0
"""What kernels run on, and its stopwatch: a GPU, by events on its stream; a CPU, by the host's clock.

A GPU's times are those of kernels, without the wait for launches: before a sample the stream gets fills of a large buffer, which take
longer than the host needs to launch all calls of the sample. These fills also leave nothing of the calls' data in a cache.
torch.cuda is CUDA and ROCm alike.
"""

from __future__ import annotations

import math
import platform
import re
import time
from pathlib import Path
from typing import Callable, Protocol

import torch

from .faults import UseError

BUFFER_BYTES = {"gpu": 512 << 20, "cpu": 128 << 20}  # more than caches hold
FILLS_MAX = 200


Call = Callable[[], object]


class Device(Protocol):
    kind: str
    name: str
    backend: str
    torch_device: torch.device

    def seconds_per_call(self, call: Call, calls: int, is_cold: bool, align: Call | None = None) -> float:
        """As timing.Stopwatch has it. `align` runs before the first call, and is not timed: it brings ranks together."""

    def clock_mhz(self) -> float | None: ...

    def memory_bytes(self) -> float:
        """That tensors may take; infinite where asking for more does no harm."""

    def settle(self) -> None:
        """Waits for all that runs, and gives memory back. Throws RuntimeError if the device has failed."""


class Cpu:
    kind = "cpu"
    backend = "cpu"

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")
        self.name = f"CPU {proc_field('cpuinfo', 'model name') or platform.machine()}"
        self._buffer = torch.empty(0, dtype=torch.uint8)

    def seconds_per_call(self, call: Call, calls: int, is_cold: bool, align: Call | None = None) -> float:
        if is_cold:
            if self._buffer.numel() == 0:
                self._buffer = torch.empty(BUFFER_BYTES["cpu"], dtype=torch.uint8)
            self._buffer.fill_(1)
        if align:
            align()
        start_s = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start_s) / calls

    def clock_mhz(self) -> float | None:
        text = proc_field("cpuinfo", "cpu MHz")
        return float(text) if text else None

    def memory_bytes(self) -> float:
        text = proc_field("meminfo", "MemAvailable")  # "12345 kB"
        return float(text.split()[0]) * 1024 if text else math.inf

    def settle(self) -> None:
        pass


def proc_field(file: str, name: str) -> str:
    """The first of that name, of the first core say; empty where there is none."""
    try:
        match = re.search(rf"^{name}\s*:\s*(.+)$", Path("/proc", file).read_text(encoding="utf-8"), re.M)
    except OSError:
        return ""
    return match.group(1).strip() if match else ""


class Gpu:
    kind = "gpu"

    def __init__(self, local_rank: int) -> None:
        if not torch.cuda.is_available():
            help_text = "check the driver, and that PyTorch is built for CUDA or ROCm; --device=cpu tries the sampler"
            raise UseError("PyTorch sees no GPU", help_text)
        if local_rank >= torch.cuda.device_count():
            raise UseError(f"there are {torch.cuda.device_count()} GPUs, fewer than processes", "start one process per GPU")
        torch.cuda.set_device(local_rank)
        self.torch_device = torch.device("cuda", local_rank)
        self.name = torch.cuda.get_device_name(local_rank)
        self.backend = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
        self._buffer = torch.empty(BUFFER_BYTES["gpu"], dtype=torch.uint8, device=self.torch_device)
        self._launch_s = 0.0  # of the last sample's calls, each
        self._fill_s = min(self._timed(self._fill, 1)[0] for _ in range(5))

    def _fill(self) -> None:
        self._buffer.fill_(1)

    def _timed(self, call: Call, calls: int) -> tuple[float, float]:
        """Seconds of all calls on the stream, and of the host that launches them."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        start_s = time.perf_counter()
        for _ in range(calls):
            call()
        host_s = time.perf_counter() - start_s
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3, host_s

    def seconds_per_call(self, call: Call, calls: int, is_cold: bool, align: Call | None = None) -> float:
        fills = min(FILLS_MAX, math.ceil(self._launch_s * calls / self._fill_s))
        for _ in range(max(fills, 1 if is_cold else 0)):
            self._fill()
        if align:
            align()
        total_s, host_s = self._timed(call, calls)
        self._launch_s = host_s / calls
        return total_s / calls

    def clock_mhz(self) -> float | None:
        try:
            return float(torch.cuda.clock_rate(self.torch_device))
        except Exception:  # whatever the management library throws that is not installed or not allowed
            return None

    def memory_bytes(self) -> float:
        return math.inf

    def settle(self) -> None:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def open_device(kind: str, local_rank: int) -> Device:
    return Cpu() if kind == "cpu" else Gpu(local_rank)
