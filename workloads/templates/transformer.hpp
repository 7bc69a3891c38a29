// SPDX-License-Identifier: Apache-2.0
// Transformer: one training iteration of a decoder with tensor, pipeline, data and expert
// parallelism.
//
// Where it sits: templates "llm" (dense) and "moe" (experts) are this with their parameters. Every
// pipeline stage is a role.
//
// Ranks: rank = (stage x dp + d) x tp + t; see strided_groups. An expert group ("ep") consists of
// ep data-parallel neighbours; the replicas of an expert are "dp_ep".
// Schedule: 1F1B (PipeDream-flush, arXiv 2104.04473 section 2.2.1). Stage s of p runs
// min(p - 1 - s, m) forwards, then pairs of one forward and one backward, then the backwards that
// are left. A stage waits for the activations (gradients) of its neighbour, not for its own sends.
// Without communication time an iteration takes (m + p - 1) (forward + backward) and the last
// stage's share.
// Tensor parallelism: arXiv 1909.08053 section 3; sequence parallelism: arXiv 2205.05198 section
// 4.2.2. Order of backward: Megatron-LM, megatron/core/tensor_parallel/layers.py.
// Gradients of a layer are all-reduced (or reduce-scattered) when the last micro-batch's backward
// has passed it, beside the rest of backward. The optimizer waits for all. With reduce-scatter the
// new weights are all-gathered after it (ZeRO stage 1, arXiv 1910.02054).
// transformer.cpp states the operations, bytes and collectives of each part.
// Not modelled: biases, norms and positions, the small all-reduces of norms' and routers'
// gradients, recomputation, interleaved stages.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/param_rows.hpp"
#include "core/text/params.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

constexpr std::string_view gpt_origin = "GPT-3 6.7B (arXiv 2005.14165, table 2.1)";

struct TransformerSettings {
  std::uint32_t tp;
  std::uint32_t pp;
  std::uint32_t dp;
  std::uint32_t layers;
  std::uint32_t hidden;
  std::uint32_t heads;
  std::uint32_t ffn;
  bool is_gated;
  std::uint32_t vocab;
  bool is_tied;
  std::uint32_t seq;
  std::uint32_t microbatch;
  std::uint32_t microbatches;
  ElementType dtype;
  ElementType grad_dtype;
  bool sequence_parallel;
  bool shards_optimizer;
  Duration forward_time;  ///< zero: by operations
  double backward_factor;
  Duration optimizer_time;
  std::uint32_t bucket_layers;
};

/// What "llm" and "moe" have in common.
inline constexpr std::array transformer_params = {
    param<&TransformerSettings::tp>({.name = "tp",
                                     .default_text = "8",
                                     .minimum = "1",
                                     .maximum = "65536",
                                     .meaning = "Tensor-parallel ranks, neighbours.",
                                     .origin = "the GPUs of one server"}),
    param<&TransformerSettings::pp>({.name = "pp",
                                     .default_text = "4",
                                     .minimum = "1",
                                     .maximum = "4096",
                                     .meaning = "Pipeline stages.",
                                     .origin = "assumption: a small pipeline"}),
    param<&TransformerSettings::dp>({.name = "dp",
                                     .default_text = "4",
                                     .minimum = "1",
                                     .maximum = "1048576",
                                     .meaning = "Data-parallel replicas; there are tp x pp x dp ranks.",
                                     .origin = "assumption: 128 ranks in all"}),
    param<&TransformerSettings::layers>({.name = "layers",
                                         .default_text = "32",
                                         .minimum = "1",
                                         .maximum = "1000000",
                                         .meaning = "Transformer layers, a multiple of pp.",
                                         .origin = gpt_origin}),
    param<&TransformerSettings::hidden>({.name = "hidden",
                                         .default_text = "4096",
                                         .minimum = "1",
                                         .maximum = "1048576",
                                         .meaning = "Width of the model.",
                                         .origin = gpt_origin}),
    param<&TransformerSettings::heads>({.name = "heads",
                                        .default_text = "32",
                                        .minimum = "1",
                                        .maximum = "1048576",
                                        .meaning = "Attention heads; hidden is a multiple, and heads of tp.",
                                        .origin = gpt_origin}),
    param<&TransformerSettings::ffn>({.name = "ffn",
                                      .default_text = "16384",
                                      .minimum = "1",
                                      .maximum = "16777216",
                                      .meaning = "Width of the MLP, a multiple of tp.",
                                      .origin = "4 x hidden"}),
    param<&TransformerSettings::is_gated>({.name = "gated",
                                           .default_text = "false",
                                           .meaning = "The MLP has a gate: three matrices instead of two.",
                                           .origin = gpt_origin}),
    param<&TransformerSettings::vocab>({.name = "vocab",
                                        .default_text = "51200",
                                        .minimum = "1",
                                        .maximum = "16777216",
                                        .meaning = "Words, a multiple of tp.",
                                        .origin = "50,257 padded to a multiple of 1,024"}),
    param<&TransformerSettings::is_tied>({.name = "tied_embeddings",
                                          .default_text = "true",
                                          .meaning = "Embedding and head share their weights.",
                                          .origin = "Megatron-LM without --untie-embeddings-and-output-weights"}),
    param<&TransformerSettings::seq>({.name = "seq",
                                      .default_text = "2048",
                                      .minimum = "1",
                                      .maximum = "16777216",
                                      .meaning = "Tokens in a sequence.",
                                      .origin = gpt_origin}),
    param<&TransformerSettings::microbatch>({.name = "microbatch",
                                             .default_text = "1",
                                             .minimum = "1",
                                             .maximum = "1048576",
                                             .meaning = "Sequences in a micro-batch.",
                                             .origin = "assumption: the smallest"}),
    param<&TransformerSettings::microbatches>({.name = "microbatches",
                                               .default_text = "8",
                                               .minimum = "1",
                                               .maximum = "1048576",
                                               .meaning = "Micro-batches of a replica in an iteration.",
                                               .origin = "assumption: twice the stages"}),
    param_read<tensor_dtype, &TransformerSettings::dtype>({.name = "dtype",
                                                           .default_text = "BF16",
                                                           .choices = tensor_dtypes,
                                                           .meaning = "Type of activations and weights.",
                                                           .origin = "mixed-precision training"}),
    param_read<tensor_dtype, &TransformerSettings::grad_dtype>({.name = "grad_dtype",
                                                                .default_text = "FP32",
                                                                .choices = tensor_dtypes,
                                                                .meaning = "Type in which gradients are reduced.",
                                                                .origin = "Megatron's main gradients"}),
    param<&TransformerSettings::sequence_parallel>(
        {.name = "sequence_parallel",
         .default_text = "true",
         .meaning = "All-gather and reduce-scatter around each block instead of an all-reduce.",
         .origin = "arXiv 2205.05198"}),
    param<&TransformerSettings::shards_optimizer>(
        {.name = "gradients",
         .default_text = "all_reduce",
         .choices = "all_reduce|reduce_scatter",
         .meaning = "How data-parallel ranks sum gradients; reduce_scatter also all-gathers the new weights.",
         .origin = "Megatron's default",
         .word = "reduce_scatter"}),
    param<&TransformerSettings::forward_time>({.name = "forward_time",
                                               .default_text = "0s",
                                               .minimum = "0s",
                                               .meaning = "Forward of one layer for a micro-batch; 0s: from tflops.",
                                               .origin = "computed from shapes"}),
    param<&TransformerSettings::backward_factor>({.name = "backward_factor",
                                                  .default_text = "2",
                                                  .minimum = "0",
                                                  .maximum = "1000",
                                                  .meaning = "Backward over forward.",
                                                  .origin = "two products per product of the forward"}),
    param<&TransformerSettings::optimizer_time>({.name = "optimizer_time",
                                                 .default_text = "10ms",
                                                 .minimum = "0s",
                                                 .meaning = "The optimizer's step.",
                                                 .origin = "assumption: bound by memory"}),
    param<&TensorRate::tflops>({.name = "tflops",
                                .default_text = tensor_rate_default,
                                .minimum = "0.001",
                                .maximum = "1e9",
                                .meaning = tensor_rate_meaning,
                                .origin = tensor_rate_origin}),
    param<&TransformerSettings::bucket_layers>({.name = "bucket_layers",
                                                .default_text = "1",
                                                .minimum = "1",
                                                .maximum = "1000000",
                                                .meaning = "Layers whose gradients are reduced together.",
                                                .origin = "assumption: one bucket per layer"}),
};

/// Experts; none for a dense model.
struct ExpertPlan {
  std::uint32_t ep = 1;
  std::uint32_t experts = 0;
  std::uint32_t top_k = 0;
};

/// `params` is over a table with transformer_params. Throws InputError.
Workload make_transformer(std::string_view name, const ParamSet& params, const ExpertPlan& experts, const SourcePlace& place);

}  // namespace weft
