# SPDX-License-Identifier: Apache-2.0
"""Layers of a transformer in PyTorch, as training frameworks run them: each tensor that backward needs is kept once.

Norms, activations and the softmax of attention that is not fused are functions of their own, since PyTorch's would keep what lies
between their steps, too.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .faults import UseError
from .memory_flags import LayerShape
from .operators import NORM_EPSILON, SplitCrossEntropy


class RmsNormFunction(torch.autograd.Function):
    """Keeps its input and a number of each row."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + NORM_EPSILON)
        ctx.save_for_backward(x, weight, scale)
        return (x.float() * scale).to(x.dtype) * weight

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):  # type: ignore[override]
        x, weight, scale = ctx.saved_tensors
        normal = x.float() * scale
        inner = gradient.float() * weight.float()
        weight_gradient = (gradient.float() * normal).flatten(0, -2).sum(0).to(weight.dtype)
        x_gradient = scale * (inner - normal * (inner * normal).mean(-1, keepdim=True))
        return x_gradient.to(x.dtype), weight_gradient


def activated(inputs: torch.Tensor, kind: str) -> torch.Tensor:
    if kind == "swiglu":
        gate, up = inputs.chunk(2, dim=-1)
        return F.silu(gate) * up
    return F.relu(inputs) if kind == "relu" else F.gelu(inputs, approximate="tanh")


class ActivationFunction(torch.autograd.Function):
    """Keeps its input, and the weight of each row if there is one; what lies between is computed again."""

    @staticmethod
    def forward(ctx, inputs: torch.Tensor, weights: torch.Tensor | None, kind: str) -> torch.Tensor:  # type: ignore[override]
        ctx.kind = kind
        ctx.save_for_backward(inputs, weights)
        outputs = activated(inputs, kind)
        return outputs if weights is None else outputs * weights.to(outputs.dtype)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):  # type: ignore[override]
        inputs, weights = ctx.saved_tensors
        with torch.enable_grad():
            again = [tensor.detach().requires_grad_() for tensor in (inputs, weights) if tensor is not None]
            outputs = activated(again[0], ctx.kind)
            if weights is not None:
                outputs = outputs * again[1].to(outputs.dtype)
        gradients = torch.autograd.grad(outputs, again, gradient)
        return gradients[0], gradients[1] if weights is not None else None, None


class CausalSoftmax(torch.autograd.Function):
    """Softmax of scores up to each row's own column; keeps its output."""

    @staticmethod
    def forward(ctx, scores: torch.Tensor, scale: float) -> torch.Tensor:  # type: ignore[override]
        rows, columns = scores.shape[-2:]
        mask = torch.ones(rows, columns, dtype=torch.bool, device=scores.device).triu(1)
        outputs = torch.softmax((scores * scale).masked_fill_(mask, float("-inf")), dim=-1)
        ctx.scale = scale
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):  # type: ignore[override]
        (outputs,) = ctx.saved_tensors
        inner = gradient - (gradient * outputs).sum(-1, keepdim=True)
        return inner.mul_(outputs).mul_(ctx.scale), None


class ScatterRows(torch.autograd.Function):
    """Adds rows up where they belong; keeps their places, and not the rows."""

    @staticmethod
    def forward(ctx, rows: torch.Tensor, places: torch.Tensor, count: int) -> torch.Tensor:  # type: ignore[override]
        ctx.save_for_backward(places)
        return rows.new_zeros(count, rows.shape[-1]).index_add_(0, places, rows)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):  # type: ignore[override]
        (places,) = ctx.saved_tensors
        return gradient.index_select(0, places), None, None


class Norm(nn.Module):
    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.is_layer_norm = shape.is_layer_norm
        self.weight = nn.Parameter(torch.ones(shape.hidden))
        self.bias = nn.Parameter(torch.zeros(shape.hidden)) if shape.is_layer_norm else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_layer_norm:
            return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, NORM_EPSILON)
        return RmsNormFunction.apply(x, self.weight)


def matrix(outputs: int, inputs: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(outputs, inputs) * inputs**-0.5)


class Attention(nn.Module):
    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.shape = shape
        width = shape.head_width
        self.qkv = matrix((shape.heads + 2 * shape.key_value_heads) * width, shape.hidden)
        self.projection = matrix(shape.hidden, shape.heads * width)
        angles = torch.outer(torch.arange(shape.sequence), 10000.0 ** -torch.linspace(0, 1, width // 2))
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cosines", angles.cos(), persistent=False)
        self.register_buffer("sines", angles.sin(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = self.shape
        widths = [heads * shape.head_width for heads in (shape.heads, shape.key_value_heads, shape.key_value_heads)]
        parts = F.linear(x, self.qkv).split(widths, dim=-1)
        # By sequence, head, token; copies, so that nothing holds all three.
        queries, keys, values = (part.unflatten(-1, (-1, shape.head_width)).transpose(1, 2).contiguous() for part in parts)
        outputs = self.attend(self.rotated(queries), self.rotated(keys), values)
        return F.linear(outputs.transpose(1, 2).flatten(2), self.projection)

    def rotated(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * self.cosines + torch.cat((-second, first), dim=-1) * self.sines

    def attend(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        shape = self.shape
        groups = shape.heads // shape.key_value_heads
        if shape.is_fused:
            if groups > 1:
                return F.scaled_dot_product_attention(queries, keys, values, dropout_p=shape.dropout, is_causal=True, enable_gqa=True)
            return F.scaled_dot_product_attention(queries, keys, values, dropout_p=shape.dropout, is_causal=True)
        # Heads that share keys are more rows of one product.
        by_group = queries.unflatten(1, (shape.key_value_heads, groups)).flatten(2, 3)
        scores = (by_group @ keys.transpose(-1, -2)).unflatten(2, (groups, -1))
        weights = CausalSoftmax.apply(scores, shape.head_width**-0.5)
        if shape.dropout:
            weights = F.dropout(weights, shape.dropout)
        return (weights.to(values.dtype).flatten(2, 3) @ values).unflatten(2, (groups, -1)).flatten(1, 2)


class Mlp(nn.Module):
    def __init__(self, shape: LayerShape, width: int) -> None:
        super().__init__()
        self.kind = shape.activation
        self.up = matrix((2 if shape.is_gated else 1) * width, shape.hidden)
        self.down = matrix(shape.hidden, width)

    def forward(self, x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        return F.linear(ActivationFunction.apply(F.linear(x, self.up), weights, self.kind), self.down)


class Experts(nn.Module):
    """Experts of one rank; every token goes to top_k of them, equally many to each."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.shape = shape
        self.router = matrix(shape.experts, shape.hidden)
        self.experts = nn.ModuleList(Mlp(shape, shape.expert_width) for _ in range(shape.experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = self.shape
        tokens = x.flatten(0, 1)
        shares = torch.softmax(F.linear(tokens, self.router).float(), dim=-1)
        # As a balanced router would choose: copy k of token i goes to expert i + k.
        number = torch.arange(tokens.shape[0], device=x.device)
        chosen = (number.unsqueeze(-1) + torch.arange(shape.top_k, device=x.device)) % shape.experts
        weights = shares.gather(-1, chosen).flatten()
        order = chosen.flatten().argsort(stable=True)
        counts = torch.bincount(chosen.flatten(), minlength=shape.experts).tolist()
        rows = order.div(shape.top_k, rounding_mode="floor")
        sent = tokens.index_select(0, rows).split(counts)
        of_rows = weights.index_select(0, order).unsqueeze(-1).split(counts)
        results = torch.cat([expert(part, share) for expert, part, share in zip(self.experts, sent, of_rows)])
        return ScatterRows.apply(results, rows, tokens.shape[0]).view_as(x)


class Layer(nn.Module):
    def __init__(self, shape: LayerShape, has_experts: bool) -> None:
        super().__init__()
        self.dropout = shape.dropout
        self.norms = nn.ModuleList(Norm(shape) for _ in range(2))
        self.attention = Attention(shape)
        self.block = Experts(shape) if has_experts else Mlp(shape, shape.mlp_width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for norm, block in zip(self.norms, (self.attention, self.block)):
            outputs = block(norm(x))
            x = x + (F.dropout(outputs, self.dropout) if self.dropout else outputs)
        return x


class Embedding(nn.Module):
    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.dropout = shape.dropout
        self.table = matrix(shape.padded_vocabulary, shape.hidden)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = F.embedding(ids, self.table)
        return F.dropout(x, self.dropout) if self.dropout else x


class Output(nn.Module):
    """Last norm, output layer and mean loss."""

    def __init__(self, shape: LayerShape, table: nn.Parameter | None) -> None:
        super().__init__()
        self.norm = Norm(shape)
        self.weight = matrix(shape.padded_vocabulary, shape.hidden) if table is None else table

    def forward(self, x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits = F.linear(self.norm(x), self.weight).flatten(0, -2)
        return SplitCrossEntropy.apply(logits, targets.flatten()).mean()


def check_attention(shape: LayerShape) -> None:
    """Throws UseError where this PyTorch lacks what the shape needs."""
    if shape.is_fused and not hasattr(F, "scaled_dot_product_attention"):
        raise UseError(f"PyTorch {torch.__version__} has no fused attention; it came with 2.0", "--unfused-attention does without")
    if shape.is_fused and shape.heads != shape.key_value_heads and torch.__version__ < "2.5":
        raise UseError(f"PyTorch {torch.__version__} has no fused attention with shared keys; it came with 2.5", "install a newer PyTorch")
