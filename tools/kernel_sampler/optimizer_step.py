# SPDX-License-Identifier: Apache-2.0
"""A step of Adam over the parameters of a pipeline stage on one rank.

In 16 bits: gradients are copied to fp32, Adam updates fp32 master weights and moments, and those are copied to the weights. Weights and
gradients lie one behind the other in memory, so that a copy is one kernel, as in Megatron-LM's distributed optimizer. In fp32 Adam alone.
"""

from __future__ import annotations

import math
from typing import Callable

import torch

from .shapes import Kernel


def stage_shapes(kernel: Kernel) -> list[tuple[int, ...]]:
    """Of every parameter: an encoder has two norms and four linear layers with biases, split over mp ranks."""
    dim, mp, encoders, table_rows = kernel
    share = dim // mp
    encoder: list[tuple[int, ...]] = [
        (dim,), (dim,), (3 * share, dim), (3 * share,), (dim, share), (dim,),
        (dim,), (dim,), (4 * share, dim), (4 * share,), (dim, 4 * share), (dim,),
    ]  # fmt: skip
    return encoder * encoders + ([(table_rows, dim)] if table_rows else [])


def views_of(flat: torch.Tensor, shapes: list[tuple[int, ...]]) -> list[torch.Tensor]:
    views = []
    begin = 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(flat[begin : begin + size].view(shape))
        begin += size
    return views


def optimizer_step(kernel: Kernel, dtype: torch.dtype, device: torch.device) -> Callable[[], object]:
    shapes = stage_shapes(kernel)
    size = sum(math.prod(shape) for shape in shapes)
    has_masters = dtype != torch.float32
    masters = torch.randn(size, device=device)
    master_gradients = torch.randn(size, device=device)
    parameters = [view.requires_grad_() for view in views_of(masters, shapes)]
    for parameter, gradient in zip(parameters, views_of(master_gradients, shapes)):
        parameter.grad = gradient
    # One fused kernel over many parameters, where there is one.
    adam = torch.optim.AdamW(parameters, lr=1e-4, **({"fused": True} if device.type == "cuda" else {}))
    if not has_masters:
        return adam.step
    weights = masters.to(dtype)
    gradients = master_gradients.to(dtype)

    @torch.no_grad()
    def step() -> None:
        master_gradients.copy_(gradients)
        adam.step()
        weights.copy_(masters)

    return step
