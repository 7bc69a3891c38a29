# SPDX-License-Identifier: Apache-2.0
"""A step of Adam over the parameters of a pipeline stage on one rank.

In 16 bits: gradients are copied to fp32, Adam updates fp32 master weights and moments, and those are copied to the weights. Weights and
gradients lie one behind the other in memory, so that a copy is one kernel, as in Megatron-LM's distributed optimizer. In fp32 Adam alone.
"""

from __future__ import annotations

import math

import torch

from .shapes import Kernel


def stage_shapes(kernel: Kernel) -> list[tuple[int, ...]]:
    """Of every parameter: an encoder has two norms and four linear layers with biases, split over mp ranks.

    A rank has its share of all biases, as estimate-train-time counts them.
    """
    dim, mp, encoders, table_rows, norms = kernel
    share = dim // mp
    norm: list[tuple[int, ...]] = [(dim,), (dim,)]
    encoder: list[tuple[int, ...]] = [
        *norm, (3 * share, dim), (3 * share,), (dim, share), (share,),
        *norm, (4 * share, dim), (4 * share,), (dim, 4 * share), (share,),
    ]  # fmt: skip
    return encoder * encoders + norm * norms + ([(table_rows, dim)] if table_rows else [])


def views_of(flat: torch.Tensor, shapes: list[tuple[int, ...]]) -> list[torch.Tensor]:
    views = []
    begin = 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(flat[begin : begin + size].view(shape))
        begin += size
    return views


class AdamStep:
    """Called, it does one step."""

    def __init__(self, kernel: Kernel, dtype: torch.dtype, device: torch.device) -> None:
        shapes = stage_shapes(kernel)
        size = sum(math.prod(shape) for shape in shapes)
        self._masters = torch.randn(size, device=device)
        self._master_gradients = torch.randn(size, device=device)
        parameters = [view.requires_grad_() for view in views_of(self._masters, shapes)]
        for parameter, gradient in zip(parameters, views_of(self._master_gradients, shapes)):
            parameter.grad = gradient
        # One fused kernel over many parameters, where there is one.
        self._adam = torch.optim.AdamW(parameters, lr=1e-4, **({"fused": True} if device.type == "cuda" else {}))
        self._has_masters = dtype != torch.float32
        self.weights = self._masters.to(dtype) if self._has_masters else self._masters
        self._gradients = self._master_gradients.to(dtype)

    @torch.no_grad()
    def __call__(self) -> None:
        if self._has_masters:
            self._master_gradients.copy_(self._gradients)
        self._adam.step()
        if self._has_masters:
            self.weights.copy_(self._masters)
