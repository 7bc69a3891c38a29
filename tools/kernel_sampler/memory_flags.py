# SPDX-License-Identifier: Apache-2.0
"""`kernel_sampler memory`: its flags, and the layers that they describe."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from .faults import UseError
from .flags import positive

DESCRIPTION = """\
Measures what layers of a transformer take on one GPU: the time of forward and backward, the tensors that forward leaves for backward,
and the memory of a whole training step. `weft project memory --mode=benchmark` anchors on the file that it writes, and prints the flags
that a model and a plan need.
"""
EPILOG = """\
what runs:
  Embedding, --layers layers of each kind, last norm, output layer and loss, in PyTorch's own kernels; norms, activations, softmax and
  loss keep what backward needs and no more. A step is forward, backward, gradients added up and an Adam step, in the types of
  --precision, as Weft's plans name them. On a CPU there is no allocator to ask: peaks are then those of the tensors that are known.
"""
PRECISIONS = ("all_fp32", "all_tf32", "all_fp16", "all_bf16", "amp_fp16", "amp_bf16", "megatron_fp16", "megatron_bf16")


@dataclass(frozen=True)
class LayerShape:
    """What one rank has of a model's layers."""

    hidden: int
    heads: int
    key_value_heads: int
    head_width: int
    mlp_width: int  # 0: no dense layer
    activation: str
    experts: int  # 0: no layer with experts
    top_k: int
    expert_width: int
    vocabulary: int
    padded_vocabulary: int
    microbatch: int
    sequence: int
    layers: int  # of each kind
    is_layer_norm: bool
    is_fused: bool
    is_tied: bool
    dropout: float

    @property
    def tokens(self) -> int:
        return self.microbatch * self.sequence

    @property
    def is_gated(self) -> bool:
        return self.activation == "swiglu"


@dataclass(frozen=True)
class MemoryRequest:
    model: str
    shape: LayerShape
    precision: str
    device: str
    samples: int
    out: Path


def share(text: str) -> float:
    number = float(text)
    if not 0 <= number < 1:
        raise ValueError
    return number


def read_memory_request(arguments: Sequence[str]) -> MemoryRequest:
    parser = argparse.ArgumentParser(
        prog="kernel_sampler memory", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )  # fmt: skip
    size = positive(int)

    def number(name: str, meaning: str, default: int | None = None) -> None:
        parser.add_argument(name, type=size, default=default, required=default is None, metavar="N", help=meaning)

    parser.add_argument("--model", default="", metavar="NAME", help="of the model, for display")
    number("--hidden", "width of the stream between layers")
    number("--heads", "of attention")
    number("--key-value-heads", "heads of keys and values; default: as many as --heads", 0)
    number("--head-width", "of queries and keys; default: hidden / heads", 0)
    number("--mlp-width", "of a dense layer's MLP; default: there is no dense layer", 0)
    parser.add_argument("--activation", choices=("gelu", "relu", "swiglu"), default="gelu", help="of MLPs and experts (default: gelu)")
    number("--experts", "of a rank; default: no layer has experts", 0)
    number("--top-k", "experts of a token", 1)
    number("--expert-width", "of an expert's MLP", 0)
    number("--vocabulary", "words")
    number("--padded-vocabulary", "rows of the table; default: as many as words", 0)
    number("--microbatch", "sequences", 1)
    number("--sequence", "tokens of a sequence")
    number("--layers", "of each kind in the step (default: 1)", 1)
    parser.add_argument("--precision", choices=PRECISIONS, default="megatron_bf16", help="types of tensors (default: megatron_bf16)")
    parser.add_argument("--layer-norm", action="store_true", help="norms are layer norms; default: RMS norms")
    parser.add_argument("--unfused-attention", action="store_true", help="attention keeps its scores")
    parser.add_argument("--tied-embeddings", action="store_true", help="the output layer has the embedding's table")
    parser.add_argument("--dropout", type=share, default=0.0, metavar="SHARE", help="behind attention, MLP and softmax (default: 0)")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu", help="cpu tries the benchmark where there is no GPU (default: gpu)")
    number("--samples", "of each time (default: 10)", 10)
    parser.add_argument("--out", type=Path, default=Path("bench.textproto"), metavar="FILE", help="the benchmark (default: bench.textproto)")
    given = parser.parse_args(arguments)
    if given.mlp_width == 0 and given.experts == 0:
        raise UseError("there is no layer", "give --mlp-width, or --experts and --expert-width")
    if (given.experts == 0) != (given.expert_width == 0):
        raise UseError("experts have a number and a width", "give --experts and --expert-width together")
    if given.experts and given.top_k > given.experts:
        raise UseError(f"a token has {given.top_k} experts of {given.experts}", "lower --top-k")
    key_value_heads = given.key_value_heads or given.heads
    if given.heads % key_value_heads:
        raise UseError(f"{given.heads} heads are no multiple of {key_value_heads} heads of keys and values")
    shape = LayerShape(
        hidden=given.hidden, heads=given.heads, key_value_heads=key_value_heads, head_width=given.head_width or given.hidden // given.heads,
        mlp_width=given.mlp_width, activation=given.activation, experts=given.experts, top_k=given.top_k if given.experts else 0,
        expert_width=given.expert_width, vocabulary=given.vocabulary, padded_vocabulary=max(given.padded_vocabulary, given.vocabulary),
        microbatch=given.microbatch, sequence=given.sequence, layers=given.layers, is_layer_norm=given.layer_norm,
        is_fused=not given.unfused_attention, is_tied=given.tied_embeddings, dropout=given.dropout,
    )  # fmt: skip
    return MemoryRequest(given.model, shape, given.precision, given.device, given.samples, given.out)
