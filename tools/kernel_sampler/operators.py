# SPDX-License-Identifier: Apache-2.0
"""Operators in PyTorch: for a kernel of `shapes`, its tensors and two calls, forward and backward.

Forward runs as in training, keeping what backward needs; backward gives the gradients of all inputs and weights. Tensors are random, not
zeros: what a GPU's clock does depends on the bits that toggle. Kernels are PyTorch's own; frameworks that fuse more are faster.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Callable, Sequence

import torch
import torch.nn.functional as F

from .faults import Unavailable
from .optimizer_step import AdamStep
from .shapes import VOCABULARY, Kernel, group_rows

NORM_EPSILON = 1e-5
MASKED = -10000.0


@dataclass(frozen=True)
class Calls:
    forward: Callable[[], object]
    backward: Callable[[], object] | None


@dataclass(frozen=True)
class Maker:
    """Makes tensors of the type that is sampled."""

    dtype: torch.dtype
    device: torch.device

    def tensor(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, dtype=self.dtype, device=self.device).requires_grad_()

    def indices(self, count: int, below: int) -> torch.Tensor:
        return torch.randint(below, (count,), device=self.device)

    def causal_mask(self, length: int) -> torch.Tensor:
        """True where a score is of a later token."""
        return torch.ones(length, length, dtype=torch.bool, device=self.device).triu(1)

    def calls(self, forward: Callable[[], object], inputs: Sequence[torch.Tensor]) -> Calls:
        """Backward by autograd, of one graph that is kept."""
        outputs = forward()
        outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        gradients = [torch.randn_like(output) for output in outputs]
        return Calls(forward, lambda: torch.autograd.grad(outputs, inputs, gradients, retain_graph=True))


# --- Embedding, norms, element by element ----------------------------------------------------------------------------------------------


def embedding(make: Maker, tokens: int, dim: int, table_rows: int, is_split: bool) -> Calls:
    """Of a rank that has some of the rows, words of others give zeros."""
    table = make.tensor(table_rows, dim)
    indices = make.indices(tokens, VOCABULARY)

    def lookup() -> torch.Tensor:
        if not is_split:
            return F.embedding(indices, table)
        is_elsewhere = indices >= table_rows
        found = F.embedding(indices.masked_fill(is_elsewhere, 0), table)
        return found.masked_fill(is_elsewhere.unsqueeze(-1), 0.0)

    return make.calls(lookup, [table])


def layer_norm(make: Maker, rows: int, width: int) -> Calls:
    x, weight, bias = make.tensor(rows, width), make.tensor(width), make.tensor(width)
    return make.calls(lambda: F.layer_norm(x, (width,), weight, bias, NORM_EPSILON), [x, weight, bias])


def rms_norm(make: Maker, rows: int, width: int) -> Calls:
    x, weight = make.tensor(rows, width), make.tensor(width)
    if hasattr(F, "rms_norm"):
        return make.calls(lambda: F.rms_norm(x, (width,), weight, NORM_EPSILON), [x, weight])

    def in_parts() -> torch.Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + NORM_EPSILON)
        return weight * (wide * scale).to(x.dtype)

    return make.calls(in_parts, [x, weight])


def residual_add(make: Maker, rows: int, width: int) -> Calls:
    x, y = make.tensor(rows, width), make.tensor(rows, width)
    return make.calls(lambda: x + y, [x, y])


def gelu(make: Maker, rows: int, width: int) -> Calls:
    x = make.tensor(rows, width)
    return make.calls(lambda: F.gelu(x, approximate="tanh"), [x])


def swiglu(make: Maker, rows: int, width: int) -> Calls:
    both = make.tensor(rows, 2 * width)

    def gated() -> torch.Tensor:
        gate, up = both.chunk(2, dim=-1)
        return F.silu(gate) * up

    return make.calls(gated, [both])


def rotary(make: Maker, length: int, sequences: int, heads: int, width: int) -> Calls:
    queries, keys = make.tensor(length, sequences, heads, width), make.tensor(length, sequences, heads, width)
    angles = torch.rand(length, 1, 1, width, device=make.device) * 6.28
    cosines, sines = angles.cos().to(make.dtype), angles.sin().to(make.dtype)

    def rotate(x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * cosines + torch.cat((-second, first), dim=-1) * sines

    return make.calls(lambda: (rotate(queries), rotate(keys)), [queries, keys])


# --- Products --------------------------------------------------------------------------------------------------------------------------


def linear(make: Maker, rows: int, columns: int, inner: int) -> Calls:
    if make.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return linear_fp8(make, rows, columns, inner)
    x, weight = make.tensor(rows, inner), make.tensor(columns, inner)
    return make.calls(lambda: F.linear(x, weight), [x, weight])


def linear_fp8(make: Maker, rows: int, columns: int, inner: int) -> Calls:
    """Three products with a scale per tensor: inputs and weights e4m3, gradients e5m2, results bf16. Casts are not part of them."""
    one = torch.ones((), device=make.device)

    def matrix(height: int, width: int, dtype: torch.dtype = make.dtype) -> torch.Tensor:
        return torch.randn(height, width, dtype=torch.bfloat16, device=make.device).to(dtype)

    def product(left: torch.Tensor, right_transposed: torch.Tensor) -> torch.Tensor:
        """`right_transposed` has rows one after the other, as kernels want of what they read by columns."""
        by_tensor = F.ScalingType.TensorWise
        return F.scaled_mm(left, right_transposed.t(), one, by_tensor, one, by_tensor, output_dtype=torch.bfloat16)

    x, weight, gradient = matrix(rows, inner), matrix(columns, inner), matrix(rows, columns, torch.float8_e5m2)
    # As casts write them beside the originals.
    x_t, weight_t, gradient_t = matrix(inner, rows), matrix(inner, columns), matrix(columns, rows, torch.float8_e5m2)
    return Calls(lambda: product(x, weight), lambda: (product(gradient, weight_t), product(gradient_t, x_t)))


def scores_product(make: Maker, groups: int, rows: int, columns: int, inner: int) -> Calls:
    queries, keys = make.tensor(groups, rows, inner), make.tensor(groups, columns, inner)
    unused = torch.empty(1, 1, 1, dtype=make.dtype, device=make.device)  # times beta = 0
    return make.calls(lambda: torch.baddbmm(unused, queries, keys.transpose(1, 2), beta=0.0, alpha=inner**-0.5), [queries, keys])


def values_product(make: Maker, groups: int, rows: int, columns: int, inner: int) -> Calls:
    weights, values = make.tensor(groups, rows, inner), make.tensor(groups, inner, columns)
    return make.calls(lambda: torch.bmm(weights, values), [weights, values])


def fused_attention(make: Maker, sequences: int, heads: int, length: int, width: int, is_causal: bool = False) -> Calls:
    if not hasattr(F, "scaled_dot_product_attention"):
        raise Unavailable(f"PyTorch {torch.__version__} has no fused attention; it came with 2.0")
    queries, keys, values = (make.tensor(sequences, heads, length, width) for _ in range(3))
    return make.calls(lambda: F.scaled_dot_product_attention(queries, keys, values, is_causal=is_causal), [queries, keys, values])


def causal_attention(make: Maker, sequences: int, heads: int, length: int, width: int) -> Calls:
    return fused_attention(make, sequences, heads, length, width, is_causal=True)


def expert_gemm(make: Maker, rows: int, largest: int, columns: int, inner: int, groups: int) -> Calls:
    """One product after the other; an expert without a token has none."""
    experts = [(make.tensor(count, inner), make.tensor(columns, inner)) for count in group_rows(rows, largest, groups) if count]
    return make.calls(lambda: [F.linear(x, weight) for x, weight in experts], list(itertools.chain(*experts)))


def grouped_gemm(make: Maker, rows: int, largest: int, columns: int, inner: int, groups: int) -> Calls:
    if not hasattr(F, "grouped_mm"):
        raise Unavailable(f"PyTorch {torch.__version__} has no torch.nn.functional.grouped_mm; it came with 2.10")
    x, weights = make.tensor(rows, inner), make.tensor(groups, columns, inner)
    ends = torch.tensor(list(itertools.accumulate(group_rows(rows, largest, groups))), dtype=torch.int32, device=make.device)
    return make.calls(lambda: F.grouped_mm(x, weights.transpose(1, 2), offs=ends), [x, weights])


# --- Softmax and losses ----------------------------------------------------------------------------------------------------------------


def softmax(make: Maker, groups: int, length: int) -> Calls:
    scores = make.tensor(groups, length, length)
    return make.calls(lambda: torch.softmax(scores, dim=-1), [scores])


def masked_softmax(make: Maker, groups: int, length: int) -> Calls:
    scores, mask = make.tensor(groups, length, length), make.causal_mask(length)
    return make.calls(lambda: torch.softmax((scores * 0.125).masked_fill(mask, MASKED), dim=-1), [scores])


def fill_mask(make: Maker, groups: int, length: int) -> Calls:
    scores, mask = make.tensor(groups, length, length), make.causal_mask(length)
    return make.calls(lambda: scores.masked_fill(mask, MASKED), [scores])


def cross_entropy(make: Maker, rows: int, words: int) -> Calls:
    logits, targets = make.tensor(rows, words), make.indices(rows, words)
    return make.calls(lambda: F.cross_entropy(logits.float(), targets), [logits])


class SplitCrossEntropy(torch.autograd.Function):
    """Loss of rows of which a rank has the first words. What ranks add up between its steps, largest and sum, is left out."""

    @staticmethod
    def forward(ctx, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        shifted = logits.float()
        shifted = shifted - shifted.max(dim=-1, keepdim=True).values
        is_elsewhere = targets >= logits.shape[-1]
        local = targets.masked_fill(is_elsewhere, 0).unsqueeze(-1)
        of_target = shifted.gather(-1, local).squeeze(-1).masked_fill(is_elsewhere, 0.0)
        exponentials = shifted.exp_()
        sums = exponentials.sum(dim=-1, keepdim=True)
        loss = sums.squeeze(-1).log() - of_target
        ctx.save_for_backward(exponentials.div_(sums), local, is_elsewhere)
        ctx.dtype = logits.dtype
        return loss

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):  # type: ignore[override]
        probabilities, local, is_elsewhere = ctx.saved_tensors
        result = probabilities * gradient.unsqueeze(-1)
        result.scatter_add_(-1, local, -gradient.masked_fill(is_elsewhere, 0.0).unsqueeze(-1))
        return result.to(ctx.dtype), None


def split_cross_entropy(make: Maker, rows: int, words: int) -> Calls:
    logits, targets = make.tensor(rows, words), make.indices(rows, VOCABULARY)
    return make.calls(lambda: SplitCrossEntropy.apply(logits, targets), [logits])


def router(make: Maker, rows: int, experts: int, chosen: int) -> Calls:
    logits = make.tensor(rows, experts)

    def route() -> torch.Tensor:
        weights, _ = torch.softmax(logits.float(), dim=-1).topk(chosen, dim=-1)
        return weights / weights.sum(dim=-1, keepdim=True)

    return make.calls(route, [logits])


def optimizer(make: Maker, *kernel: int) -> Calls:
    return Calls(AdamStep(kernel, make.dtype, make.device), None)


MAKERS: dict[str, Callable[..., Calls]] = {
    "embedding": embedding,
    "layernorm": layer_norm,
    "RMSlayernorm": rms_norm,
    "res_add": residual_add,
    "RoPE": rotary,
    "linear1": linear,
    "linear2": linear,
    "linear3": linear,
    "linear4": linear,
    "linear_final": linear,
    "flash_atten": fused_attention,
    "causal_flash_atten": causal_attention,
    "baddbmm": scores_product,
    "bmm": values_product,
    "softmax": softmax,
    "ScaledUpperTriangMaskedSoftmax": masked_softmax,
    "fillmask": fill_mask,
    "gelu": gelu,
    "swiglu": swiglu,
    "parallel_cross_entropy_128": split_cross_entropy,
    "cross_entropy": cross_entropy,
    "firstStage_optimizer": optimizer,
    "middleStage_optimizer": optimizer,
    "lastStage_optimizer": optimizer,
    "moe_router": router,
    "expert_gemm": expert_gemm,
    "grouped_gemm": grouped_gemm,
}


def make_calls(function: str, kernel: Kernel, make: Maker) -> Calls:
    return MAKERS[function](make, *kernel)
