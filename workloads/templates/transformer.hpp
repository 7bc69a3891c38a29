// Transformer: one training iteration of a decoder with tensor, pipeline, data and expert parallelism.
//
// Where it sits: templates "llm" (dense) and "moe" (experts) are this with their parameters. Every pipeline stage is a role.
//
// Ranks: rank = (stage x dp + d) x tp + t; see strided_groups. An expert group ("ep") are ep data-parallel neighbours; the replicas of an
// expert are "dp_ep".
// Schedule: 1F1B (PipeDream-flush, arXiv 2104.04473 section 2.2.1): stage s of p runs min(p - 1 - s, m) forwards, then pairs of one
// forward and one backward, then the backwards that are left. A stage waits for the activations (gradients) of its neighbour and does
// not wait for its own sends. Without communication time the iteration takes (m + p - 1) (forward + backward) plus the last stages.
// Tensor parallelism (arXiv 1909.08053 section 3): attention and MLP each end with an all-reduce, forward and backward. With sequence
// parallelism (arXiv 2205.05198 section 4.2.2) each begins with an all-gather and ends with a reduce-scatter instead; as a rank keeps only
// its part of the block's input, backward gathers that a second time. Per layer and micro-batch, of T h e bytes each:
//   forward  2 all-gathers, 2 reduce-scatters       backward  4 all-gathers, 2 reduce-scatters       or 2 all-reduces each way
// Backward of a block, in Megatron-LM's order (megatron/core/tensor_parallel/layers.py):
//
//   gather -> rest -+-> dgrad --------+-> scatter -+->      dgrad: gradient of the input, by the matrices split by columns (queries,
//                   +-> input_gather -+-> wgrad ---+        keys and values; the MLP's first; the head); wgrad: of these matrices;
//                                                           rest: all other operations. An all-reduce is beside wgrad, too.
// Vocabulary (1909.08053 section 3): each rank has a part of it. The embedding's sum is all-reduced or, as Megatron does with rotary
// positions, reduce-scattered, and its gradient then gathered. The head is a block without rest and without a sum in forward; its loss
// all-reduces three FP32 numbers per token: the largest logit, the target's, and the sum of exponentials.
// Experts: tokens go to top_k experts by an all-to-all among "ep", are gathered among "tp", computed, reduce-scattered and sent back;
// routing is balanced. Experts keep what they gathered: backward does not gather it again, as in Megatron-LM.
// Gradients: a layer's are all-reduced (or reduce-scattered) when the last micro-batch's backward has passed it, beside the rest of
// backward; the optimizer waits for all. With reduce-scatter the new weights are all-gathered after it (ZeRO stage 1, arXiv 1910.02054).
// Tied embeddings: first and last stage each have the vocabulary's weights; when all reductions have ended, the two sum its gradient by an
// all-reduce of vocab h / tp among "embedding" (megatron/core/distributed/finalize_model_grads.py). A single stage has them once.
//
// Floating-point operations of one rank, T = seq x microbatch tokens, h hidden, F ffn, g = 2 matrices per MLP (3 if gated), k = top_k:
// a product of m x k by k x n costs 2 m n k, so forward
//   attention  2 T h 4h / tp  (queries, keys, values, output)  +  2 x 2 T seq h / tp  (scores, values)
//   MLP        g 2 T h F / tp      experts  g 2 T k h F / tp + 2 T h experts / tp  (router)      head  2 T h vocab / tp
// and backward backward_factor as much. A given forward_time is one layer's; the parts and the head share it in these proportions.
// Bytes: activations T h e; a layer's weights (4 h^2 + g h F) / tp, experts (experts / ep) g h F / tp; embedding and head vocab h / tp.
// Not modelled: biases, norms and positions, the small all-reduces of norms' and routers' gradients, recomputation, interleaved stages.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/param_rows.hpp"
#include "core/text/params.hpp"
#include "workloads/dag/dag.hpp"
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
