# SPDX-License-Identifier: Apache-2.0
"""Functions that are sampled: the columns of their tables, the kernel that a row is of, and how much that computes and moves.

Columns are those of a model under tensor parallelism: mp ranks, b sequences of l tokens, h heads, dim features. Points whose kernel is
the same (b = 2 of l = 2048, b = 4 of l = 1024) are measured once. A vocabulary has VOCABULARY words, filled up to a multiple of
128 mp, as Megatron-LM does with GPT-2's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Mapping

Sizes = Mapping[str, float]
Kernel = tuple  # of numbers; what they are is the function's business

VOCABULARY = 50257
VOCABULARY_MULTIPLE = 128
WEIGHTS_PER_ENCODER = 12  # dim^2: 3 + 1 of attention, 4 + 4 of the layers behind it
BIASES_PER_ENCODER = 9  # dim: as many rows as weights have
NORM = 2  # dim: weights and biases
HEAD_WIDTH_MIN = 32
HEAD_WIDTH_MAX = 512
FUSED_HEAD_WIDTH_MAX = 256  # of fused attention on any GPU


@dataclass(frozen=True)
class Work:
    """Of one forward pass; backward is about twice that."""

    operations: float
    elements: float  # read and written


@dataclass(frozen=True)
class Function:
    name: str
    columns: tuple[str, ...]
    meaning: str
    kernel: Callable[[Sizes], Kernel]
    work: Callable[[Kernel], Work]
    is_kernel: Callable[[Sizes], bool] = lambda sizes: True
    has_backward: bool = True
    has_fp8: bool = False
    is_collective: bool = False


def words(mp: float) -> int:
    """Words of one rank, with those that fill up."""
    return math.ceil(VOCABULARY / (VOCABULARY_MULTIPLE * mp)) * VOCABULARY_MULTIPLE


# --- Kernels ---------------------------------------------------------------------------------------------------------------------------


def linear(columns: Callable[[Sizes], float], inner: Callable[[Sizes], float]) -> Callable[[Sizes], Kernel]:
    """Tokens, features of the output, features of the input."""
    return lambda s: (int(s["b"] * s["l"]), int(columns(s)), int(inner(s)))


def share(sizes: Sizes) -> float:
    return sizes["dim"] / sizes["mp"]


def head_width(sizes: Sizes) -> float:
    return sizes["dim"] / sizes["h"]


def local_heads(sizes: Sizes) -> int:
    return int(sizes["b"] * sizes["h"] / sizes["mp"])


def has_whole_share(sizes: Sizes) -> bool:
    return sizes["dim"] % sizes["mp"] == 0


def has_whole_heads(sizes: Sizes) -> bool:
    return sizes["h"] % sizes["mp"] == 0


def has_heads_of(width_max: int) -> Callable[[Sizes], bool]:
    return lambda s: (
        has_whole_heads(s) and s["dim"] % s["h"] == 0 and head_width(s) % 8 == 0 and HEAD_WIDTH_MIN <= head_width(s) <= width_max
    )


def largest_group(sizes: Sizes) -> int:
    return math.ceil(sizes["skew"] * sizes["rows"] / sizes["groups"])


def group_rows(rows: int, largest: int, groups: int) -> list[int]:
    """Rows of each group: one has most, the others share the rest."""
    if groups == 1:
        return [rows]
    rest, more = divmod(rows - largest, groups - 1)
    return [largest] + [rest + (index < more) for index in range(groups - 1)]


# --- Work ------------------------------------------------------------------------------------------------------------------------------


def matmul_work(rows: int, columns: int, inner: int, groups: int = 1) -> Work:
    return Work(2.0 * rows * columns * inner * groups, float(groups) * (rows * columns + rows * inner + inner * columns))


def passes_over(times: float) -> Callable[[Kernel], Work]:
    """So many reads and writes of the product of all sizes."""
    return lambda kernel: Work(0, times * math.prod(kernel))


def attention_work(pairs: float) -> Callable[[Kernel], Work]:
    """Of so many of all pairs of tokens."""
    return lambda kernel: Work(4.0 * pairs * kernel[0] * kernel[1] * kernel[2] ** 2 * kernel[3], 4.0 * math.prod(kernel))


def optimizer_parameters(kernel: Kernel) -> int:
    dim, mp, encoders, table_rows, norms = kernel
    encoder = (WEIGHTS_PER_ENCODER * dim + BIASES_PER_ENCODER) * dim // mp + 2 * NORM * dim
    return encoder * encoders + table_rows * dim + norms * NORM * dim


# --- The list --------------------------------------------------------------------------------------------------------------------------


def _linear(name: str, meaning: str, columns: Callable[[Sizes], float], inner: Callable[[Sizes], float]) -> Function:
    return Function(
        name, ("mp", "b", "l", "dim"), meaning, linear(columns, inner), lambda kernel: matmul_work(*kernel), has_whole_share, has_fp8=True
    )


def _rows_of_dim(name: str, meaning: str, times: float) -> Function:
    return Function(name, ("b", "l", "dim"), meaning, lambda s: (int(s["b"] * s["l"]), int(s["dim"])), passes_over(times))


def _optimizer(name: str, meaning: str, has_table: bool, norms: int = 0) -> Function:
    return Function(
        name, ("mp", "dim", "encoders"), meaning,
        lambda s: (int(s["dim"]), int(s["mp"]), int(s["encoders"]), words(s["mp"]) if has_table else 0, norms),
        lambda kernel: Work(0, 13.0 * optimizer_parameters(kernel)), has_whole_share, has_backward=False,
    )  # fmt: skip


def _attention(name: str, meaning: str, pairs: float) -> Function:
    return Function(
        name, ("mp", "b", "h", "l", "dim"), meaning, lambda s: (int(s["b"]), int(s["h"] / s["mp"]), int(s["l"]), int(head_width(s))),
        attention_work(pairs), has_heads_of(FUSED_HEAD_WIDTH_MAX),
    )  # fmt: skip


def _collective(name: str, meaning: str) -> Function:
    return Function(
        name, ("shape",), meaning, lambda s: (int(s["shape"]),), passes_over(2), has_backward=False, is_collective=True
    )


def _experts(name: str, meaning: str) -> Function:
    return Function(
        name, ("rows", "skew", "columns", "inner", "groups"), meaning,
        lambda s: (int(s["rows"]), largest_group(s), int(s["columns"]), int(s["inner"]), int(s["groups"])),
        lambda k: Work(2.0 * k[0] * k[2] * k[3], float(k[0] * (k[2] + k[3]) + k[4] * k[2] * k[3])),
        lambda s: s["rows"] >= s["groups"] and (s["skew"] < s["groups"] or s["skew"] == 1),
    )  # fmt: skip


FUNCTIONS = {
    function.name: function
    for function in (
        Function(
            "embedding", ("mp", "b", "l", "dim"), "looks b l words up in a rank's rows of a table of dim features",
            lambda s: (int(s["b"] * s["l"]), int(s["dim"]), words(s["mp"]), s["mp"] > 1), lambda k: Work(0, 2.0 * k[0] * k[1]),
        ),
        _rows_of_dim("layernorm", "layer norm of b l rows of dim", 2),
        _rows_of_dim("RMSlayernorm", "RMS norm of b l rows of dim", 2),
        _rows_of_dim("res_add", "adds two tensors of b l rows of dim", 3),
        Function(
            "RoPE", ("mp", "b", "h", "l", "dim"), "rotary embedding of queries and keys, h/mp heads of dim/h",
            lambda s: (int(s["l"]), int(s["b"]), int(s["h"] / s["mp"]), int(head_width(s))), passes_over(12), has_heads_of(HEAD_WIDTH_MAX),
        ),
        _linear("linear1", "queries, keys and values: (b l) x (3 dim/mp) x dim", lambda s: 3 * share(s), lambda s: s["dim"]),
        _linear("linear2", "output of attention: (b l) x dim x (dim/mp)", lambda s: s["dim"], share),
        _linear("linear3", "up: (b l) x (4 dim/mp) x dim", lambda s: 4 * share(s), lambda s: s["dim"]),
        _linear("linear4", "down: (b l) x dim x (4 dim/mp)", lambda s: s["dim"], lambda s: 4 * share(s)),
        _linear("linear_final", "output layer: (b l) x (V/mp) x dim", lambda s: words(s["mp"]), lambda s: s["dim"]),
        _attention("flash_atten", "fused attention without a mask of h/mp heads of dim/h", 1),
        _attention("causal_flash_atten", "the same, of causal pairs: half of all", 0.5),
        Function(
            "baddbmm", ("mp", "b", "h", "l", "dim"), "scores of attention: b h/mp products l x l x (dim/h)",
            lambda s: (local_heads(s), int(s["l"]), int(s["l"]), int(head_width(s))),
            lambda k: matmul_work(k[1], k[2], k[3], k[0]), has_heads_of(HEAD_WIDTH_MAX),
        ),
        Function(
            "bmm", ("mp", "b", "h", "l", "dim"), "scores times values: b h/mp products l x (dim/h) x l",
            lambda s: (local_heads(s), int(s["l"]), int(head_width(s)), int(s["l"])),
            lambda k: matmul_work(k[1], k[2], k[3], k[0]), has_heads_of(HEAD_WIDTH_MAX),
        ),
        Function(
            "softmax", ("mp", "b", "h", "l"), "softmax of b h/mp squares of l scores",
            lambda s: (local_heads(s), int(s["l"])), lambda k: Work(0, 2.0 * k[0] * k[1] ** 2), has_whole_heads,
        ),
        Function(
            "ScaledUpperTriangMaskedSoftmax", ("mp", "b", "h", "l"), "scales, masks and normalises b h/mp squares of l scores",
            lambda s: (local_heads(s), int(s["l"])), lambda k: Work(0, 6.0 * k[0] * k[1] ** 2), has_whole_heads,
        ),
        Function(
            "fillmask", ("mp", "b", "h", "l", "dim"), "fills masked scores; dim is without effect",
            lambda s: (local_heads(s), int(s["l"])), lambda k: Work(0, 2.0 * k[0] * k[1] ** 2), has_whole_heads,
        ),
        Function(
            "gelu", ("mp", "b", "l", "dim"), "GELU (tanh) of b l rows of 4 dim/mp",
            lambda s: (int(s["b"] * s["l"]), int(4 * share(s))), passes_over(2), has_whole_share,
        ),
        Function(
            "swiglu", ("mp", "b", "l", "ffn"), "SwiGLU: two inputs of b l rows of ffn/mp, one output",
            lambda s: (int(s["b"] * s["l"]), int(s["ffn"] / s["mp"])), passes_over(3), lambda s: s["ffn"] % s["mp"] == 0,
        ),
        Function(
            "parallel_cross_entropy_128", ("mp", "b", "l"), "cross entropy of b l rows of a rank's words, without its all-reduces",
            lambda s: (int(s["b"] * s["l"]), words(s["mp"])), passes_over(8),
        ),
        Function(
            "cross_entropy", ("b", "l", "vocab"), "cross entropy of b l rows of vocab words",
            lambda s: (int(s["b"] * s["l"]), int(s["vocab"])), passes_over(4),
        ),
        _optimizer("firstStage_optimizer", "Adam of encoders layers and the rows of the embedding", True),
        _optimizer("middleStage_optimizer", "Adam of encoders layers", False),
        _optimizer("lastStage_optimizer", "Adam of encoders layers, last norm and output layer", True, norms=1),
        Function(
            "moe_router", ("b", "l", "experts", "topk"), "softmax of b l rows of experts, top-k, and its weights made to add up to 1",
            lambda s: (int(s["b"] * s["l"]), int(s["experts"]), int(s["topk"])), lambda k: Work(0, 6.0 * k[0] * k[1]),
            lambda s: s["topk"] < s["experts"],
        ),
        _experts("expert_gemm", "experts one after the other: rows x columns x inner in groups, the largest skew times the mean"),
        _experts("grouped_gemm", "the same in one kernel (torch.nn.functional.grouped_mm)"),
        _collective("allreduce", "sum of a tensor of shape elements"),
        _collective("allgather", "shape elements of each rank to all"),
        _collective("reducescatter", "sum, of which each rank gets shape elements"),
        _collective("alltoall", "shape elements of each rank, an equal part to each"),
        _collective("p2p", "shape elements from each rank of the lower half to one of the upper half, all at once"),
    )
}  # fmt: skip
OPERATORS = tuple(name for name, function in FUNCTIONS.items() if not function.is_collective)
COLLECTIVES = tuple(name for name, function in FUNCTIONS.items() if function.is_collective)
