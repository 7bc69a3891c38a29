# SPDX-License-Identifier: Apache-2.0
"""Measures layers of a transformer and a training step of them, and writes the benchmark (host/benchmark.proto in Weft)."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Callable, Iterator

import torch
from torch import nn

from .devices import Device, open_device
from .element_types import element_type
from .layers import Embedding, Layer, Output, check_attention
from .memory_flags import LayerShape, MemoryRequest
from .precision import set_up_type
from .spread import median

WARM_UP = 3  # steps
ADAM = (0.9, 0.999, 1e-8, 1e-4)


@dataclass(frozen=True)
class Types:
    """Of --precision."""

    parameters: torch.dtype
    gradients: torch.dtype
    moments: torch.dtype
    has_master: bool
    autocast: torch.dtype | None


def types_of(precision: str) -> Types:
    kind, _, half_name = precision.partition("_")
    half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(half_name, torch.float32)
    full = torch.float32
    if kind == "amp":
        return Types(full, full, full, False, half)
    if kind == "all":
        return Types(half, half, half, False, None)
    return Types(half, full if half_name == "bf16" else half, full, True, None)


class States:
    """Gradients that add up, and what Adam keeps, of every parameter."""

    def __init__(self, parameters: list[nn.Parameter], types: Types) -> None:
        self.parameters = parameters
        self.types = types
        self.gradients = [torch.zeros_like(parameter, dtype=types.gradients) for parameter in parameters]
        self.masters = [parameter.detach().to(torch.float32) for parameter in parameters] if types.has_master else []
        self.moments = [[torch.zeros_like(parameter, dtype=types.moments) for parameter in parameters] for _ in range(2)]
        self.steps = 0
        for parameter, gradient in zip(parameters, self.gradients):
            if hasattr(parameter, "register_post_accumulate_grad_hook"):
                parameter.register_post_accumulate_grad_hook(lambda it, sums=gradient: self.add(it, sums))

    @staticmethod
    def add(parameter: nn.Parameter, sums: torch.Tensor) -> None:
        """At once, so that gradients of one parameter are there beside the sums, and no more."""
        sums.add_(parameter.grad)
        parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        self.steps += 1
        first_share, second_share, epsilon, rate = ADAM
        for i, (parameter, gradient) in enumerate(zip(self.parameters, self.gradients)):
            if parameter.grad is not None:
                self.add(parameter, gradient)
            first, second = (moments[i] for moments in self.moments)
            wide = gradient.to(first.dtype)
            first.lerp_(wide, 1 - first_share)
            second.mul_(second_share).addcmul_(wide, wide, value=1 - second_share)
            weight = self.masters[i] if self.masters else parameter
            weight.addcdiv_(first, second.sqrt().add_(epsilon), value=-rate)
            if self.masters:
                parameter.copy_(weight)
            gradient.zero_()

    def bytes(self) -> int:
        tensors = [*self.parameters, *self.gradients, *self.masters, *self.moments[0], *self.moments[1]]
        return sum(size_of(tensor) for tensor in tensors)


def size_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


class Parts:
    """The benchmark's model."""

    def __init__(self, shape: LayerShape, types: Types, device: torch.device) -> None:
        def made(module: nn.Module) -> nn.Module:
            return module.to(device=device, dtype=types.parameters)

        self.embedding = made(Embedding(shape))
        kinds = [kind for kind, is_there in (("DENSE", shape.mlp_width), ("EXPERT", shape.experts)) if is_there]
        self.layers = {kind: [made(Layer(shape, kind == "EXPERT")) for _ in range(shape.layers)] for kind in kinds}
        self.output = made(Output(shape, self.embedding.table if shape.is_tied else None))
        self.ids = torch.randint(shape.vocabulary, (shape.microbatch, shape.sequence), device=device)
        self.autocast = types.autocast
        self.device = device

    def parameters(self) -> list[nn.Parameter]:
        modules = [self.embedding, *(layer for layers in self.layers.values() for layer in layers), self.output]
        return list(dict.fromkeys(parameter for module in modules for parameter in module.parameters()))

    def casts(self) -> contextlib.AbstractContextManager:
        if self.autocast is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.autocast)

    def loss(self) -> torch.Tensor:
        with self.casts():
            x = self.embedding(self.ids)
            for layers in self.layers.values():
                for layer in layers:
                    x = layer(x)
            return self.output(x, self.ids)


@dataclass(frozen=True)
class MeasuredPart:
    kind: str
    layers: int
    forward_us: float
    backward_us: float
    activation_bytes: int


@contextlib.contextmanager
def saved_tensors(known: set[int]) -> Iterator[dict[int, int]]:
    """Bytes of what forward keeps, by storage; without the storages that are known."""
    found: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield found


class MemoryBench:
    def __init__(self, request: MemoryRequest) -> None:
        self.request = request
        self.shape = request.shape
        check_attention(request.shape)
        types = types_of(request.precision)
        self.device: Device = open_device(request.device, 0)
        set_up_type(element_type(request.precision.rpartition("_")[2]), self.device)
        self.is_gpu = self.device.kind == "gpu"
        self.parts = Parts(request.shape, types, self.device.torch_device)
        self.states = States(self.parts.parameters(), types)
        self.stream_type = torch.float32 if types.autocast else types.parameters

    # --- Memory ---

    def kept_bytes(self, forward: Callable[[], torch.Tensor], inputs: torch.Tensor) -> int:
        """Of forward, with its input and without its output, which is the input of what follows."""
        if self.is_gpu:
            torch.cuda.synchronize()
            before = torch.cuda.memory_allocated()
            outputs = forward()
            torch.cuda.synchronize()
            return torch.cuda.memory_allocated() - before - size_of(outputs) + size_of(inputs)
        known = {parameter.storage().data_ptr() for parameter in self.states.parameters}
        known |= {buffer.storage().data_ptr() for layers in self.parts.layers.values() for layer in layers for buffer in layer.buffers()}
        with saved_tensors(known) as found:
            outputs = forward()
        del outputs
        return sum({**found, inputs.storage().data_ptr(): inputs.storage().nbytes()}.values())

    def peaks(self, parts: list[MeasuredPart]) -> tuple[int, int]:
        """Allocated and reserved in a step."""
        if not self.is_gpu:
            self.step()
            known = self.states.bytes() + sum(part.activation_bytes * part.layers for part in parts)
            return known, known
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self.step()
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        # What the process has beside its allocator's pages: the driver's context, libraries.
        beside = max(0, total - free - torch.cuda.memory_reserved())
        return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved() + beside

    def step(self) -> None:
        self.parts.loss().backward()
        self.states.step()

    # --- Times ---

    def seconds(self, call: Callable[[], object]) -> float:
        if not self.is_gpu:
            start_s = time.perf_counter()
            call()
            return time.perf_counter() - start_s
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3

    def measure_part(self, kind: str, layers: int, forward: Callable[[torch.Tensor], torch.Tensor], inputs: torch.Tensor) -> MeasuredPart:
        forward_s, backward_s = [], []
        for sample in range(WARM_UP + self.request.samples):
            held: list[torch.Tensor] = []
            once_s = self.seconds(lambda: held.append(forward(inputs)))
            gradient = torch.ones_like(held[0])
            back_s = self.seconds(lambda: held[0].backward(gradient))
            inputs.grad = None
            if sample >= WARM_UP:
                forward_s.append(once_s)
                backward_s.append(back_s)
        return MeasuredPart(
            kind, layers, median(forward_s) * 1e6, median(backward_s) * 1e6, self.kept_bytes(lambda: forward(inputs), inputs)
        )

    def measure(self) -> tuple[list[MeasuredPart], tuple[int, int]]:
        for _ in range(WARM_UP):
            self.step()
        shape, parts, ids = self.shape, self.parts, self.parts.ids

        def cast(call: Callable[[], torch.Tensor]) -> torch.Tensor:
            with parts.casts():
                return call()

        def stream() -> torch.Tensor:
            place = {"dtype": self.stream_type, "device": self.device.torch_device}
            return torch.randn(shape.microbatch, shape.sequence, shape.hidden, **place).requires_grad_()

        measured = [self.measure_part("EMBEDDING", 1, lambda x: cast(lambda: parts.embedding(x)), ids)]
        for kind, layers in parts.layers.items():
            measured.append(self.measure_part(kind, len(layers), lambda x, layer=layers[0]: cast(lambda: layer(x)), stream()))
        measured.append(self.measure_part("OUTPUT", 1, lambda x: cast(lambda: parts.output(x, ids)), stream()))
        for parameter in self.states.parameters:
            parameter.grad = None
        return measured, self.peaks(measured)


def text_of(request: MemoryRequest, bench: MemoryBench, parts: list[MeasuredPart], peaks: tuple[int, int]) -> str:
    shape = request.shape

    def field(name: str, value: object) -> str:
        return f"{name}: {json.dumps(value)}"

    lines = [
        field("version", 1),
        field("model", request.model),
        field("gpu", bench.device.name),
        field("framework", f"PyTorch {torch.__version__}, {bench.device.backend}"),
        field("world_size", 1),
        "shape {",
        f"  hidden: {shape.hidden} heads: {shape.heads} key_value_heads: {shape.key_value_heads} head_width: {shape.head_width}",
        f"  mlp_width: {shape.mlp_width} gated: {json.dumps(shape.is_gated)}",
        f"  experts_of_rank: {shape.experts} top_k: {shape.top_k} expert_width: {shape.expert_width}",
        f"  vocabulary: {shape.vocabulary}",
        "}",
        f"plan {{ microbatch: {shape.microbatch} sequence: {shape.sequence} precision: {json.dumps(request.precision)}"
        f" fused_attention: {json.dumps(shape.is_fused)} }}",
    ]
    for part in parts:
        lines.append(
            f"layer {{ kind: {part.kind} layers: {part.layers} forward_us: {part.forward_us:.3f} backward_us: {part.backward_us:.3f}"
            f" activation_bytes: {part.activation_bytes} }}"
        )
    lines += [field("peak_allocated_bytes", peaks[0]), field("peak_reserved_bytes", peaks[1])]
    return "\n".join(lines) + "\n"


def measure_memory(request: MemoryRequest) -> None:
    """Writes the benchmark of the request."""
    bench = MemoryBench(request)
    parts, peaks = bench.measure()
    for part in parts:
        print(
            f"{part.kind.lower():>9}  forward {part.forward_us / 1e3:9.3f} ms  backward {part.backward_us / 1e3:9.3f} ms"
            f"  keeps {part.activation_bytes / 2**20:10.2f} MiB"
        )
    print(f"peak allocated {peaks[0] / 2**30:.3f} GiB, reserved {peaks[1] / 2**30:.3f} GiB")
    request.out.write_text(text_of(request, bench, parts, peaks), encoding="utf-8")
    print(f"benchmark in {request.out}")
