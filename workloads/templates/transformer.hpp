// SPDX-License-Identifier: Apache-2.0
// Transformer: templates "llm" (dense) and "moe" (experts) as presets of a model and a parallel
// plan, by a few numbers.
//
// Where it sits: both templates call make_transformer(); the plan is checked as plan files are, and
// make_training_workload() writes the DAG, so a template does what `--model --plan` does.
//
// Model
//   model      layers of RMS norm, attention, MLP or experts; rotary positions, no biases, no
//              dropout; of experts every layer, evenly loaded
//   plan       as plan files have it but for what the parameters say: global batch = microbatches
//              microbatch dp; ZeRO 1 where gradients are reduce-scattered, else 0; buckets of
//              bucket_layers layers' parameters on a rank (of dense ones or of experts, whichever
//              are fewer); the vocabulary padded to a multiple of tp
//   times      operations of products over tflops (rated_clock.hpp). A given forward_time scales
//              all products, so that forward of one layer on a rank takes it. Backward takes
//              backward_factor / 2 of what its products take.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/param_rows.hpp"
#include "core/text/params.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

constexpr std::string_view gpt_origin = "GPT-3 6.7B (arXiv 2005.14165, table 2.1)";

/// Numbers of 0 stand for what their meaning says.
struct TransformerSettings {
  std::uint32_t tp;
  std::uint32_t pp;
  std::uint32_t dp;
  std::uint32_t cp;
  std::uint32_t vpp;
  std::string schedule;  ///< schedule_auto: as plans choose
  bool counts_ends;
  std::uint32_t layers;
  std::uint32_t hidden;
  std::uint32_t heads;
  std::uint32_t kv_heads;
  std::uint32_t head_width;
  std::uint32_t ffn;
  bool is_gated;
  std::uint32_t vocab;
  bool is_tied;
  std::uint32_t seq;
  std::uint32_t microbatch;
  std::uint32_t microbatches;
  std::string precision;   ///< kind of plan.proto
  std::string grad_dtype;  ///< element type
  bool sequence_parallel;
  bool shards_optimizer;
  Duration forward_time;
  double backward_factor;
  Duration optimizer_time;
  std::uint32_t bucket_layers;
};

constexpr std::string_view schedule_auto = "auto";

/// The kind of precision in plan.proto whose products have this type.
std::string precision_of_dtype(const std::string& dtype, const std::string& param);

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
                                     .meaning = "Data-parallel replicas; there are tp x cp x pp x dp ranks.",
                                     .origin = "assumption: 128 ranks in all"}),
    param<&TransformerSettings::cp>({.name = "cp",
                                     .default_text = "1",
                                     .minimum = "1",
                                     .maximum = "65536",
                                     .meaning = "Context-parallel ranks, which share each sequence.",
                                     .origin = "sequences of a few thousand tokens fit one rank"}),
    param<&TransformerSettings::vpp>(
        {.name = "vpp",
         .default_text = "0",
         .minimum = "0",
         .maximum = "4096",
         .meaning = "Chunks of layers of a pipeline stage (virtual pipeline); 0: 1, or as many as the schedule needs.",
         .origin = "as plans have it"}),
    param<&TransformerSettings::schedule>(
        {.name = "schedule",
         .default_text = schedule_auto,
         .meaning = "Order of the passes, of `weft modules schedule`; auto: 1f1b, with several chunks interleaved_1f1b.",
         .origin = "as plans have it"}),
    param<&TransformerSettings::counts_ends>(
        {.name = "count_ends",
         .default_text = "false",
         .meaning = "Embedding and head count as a layer of the first and the last stage when layers are shared.",
         .origin = "as plans have it"}),
    param<&TransformerSettings::layers>(
        {.name = "layers",
         .default_text = "32",
         .minimum = "1",
         .maximum = "1000000",
         .meaning = "Transformer layers; where stages do not divide them, the first ones have one more.",
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
                                        .meaning = "Attention heads, a multiple of tp.",
                                        .origin = gpt_origin}),
    param<&TransformerSettings::kv_heads>({.name = "kv_heads",
                                           .default_text = "0",
                                           .minimum = "0",
                                           .maximum = "1048576",
                                           .meaning = "Heads of keys and values, which divide heads; 0: heads.",
                                           .origin = gpt_origin}),
    param<&TransformerSettings::head_width>({.name = "head_width",
                                             .default_text = "0",
                                             .minimum = "0",
                                             .maximum = "1048576",
                                             .meaning = "Width of a head; 0: hidden / heads.",
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
                                        .meaning = "Words, padded to a multiple of tp.",
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
    param_read<precision_of_dtype, &TransformerSettings::precision>(
        {.name = "dtype",
         .default_text = "BF16",
         .choices = "FP32|TF32|BF16|FP16|FP8_E4M3|FP4",
         .meaning = "Type of products; activations and weights of 8 and 4 bits stay BF16 elsewhere.",
         .origin = "mixed-precision training"}),
    param<&TransformerSettings::grad_dtype>({.name = "grad_dtype",
                                             .default_text = "FP32",
                                             .choices = tensor_dtypes,
                                             .meaning = "Type in which gradients are reduced.",
                                             .origin = "Megatron's main gradients"}),
    param<&TransformerSettings::sequence_parallel>(
        {.name = "sequence_parallel",
         .default_text = "true",
         .meaning = "All-gather and reduce-scatter around each block instead of an all-reduce, where tp is above 1.",
         .origin = "arXiv 2205.05198"}),
    param<&TransformerSettings::shards_optimizer>(
        {.name = "gradients",
         .default_text = "all_reduce",
         .choices = "all_reduce|reduce_scatter",
         .meaning = "How replicas sum gradients (ZeRO stage 0 or 1); reduce_scatter also all-gathers the weights.",
         .origin = "Megatron's default",
         .word = "reduce_scatter"}),
    param<&TransformerSettings::forward_time>({.name = "forward_time",
                                               .default_text = "0s",
                                               .minimum = "0s",
                                               .meaning = "Forward of one layer for a micro-batch on a rank; 0s: from tflops.",
                                               .origin = "computed from shapes"}),
    param<&TransformerSettings::backward_factor>({.name = "backward_factor",
                                                  .default_text = "2",
                                                  .minimum = "0",
                                                  .maximum = "1000",
                                                  .meaning = "Backward over forward of a product.",
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

struct ExpertSettings {
  std::uint32_t ep;
  std::uint32_t etp;
  std::uint32_t experts;
  std::uint32_t top_k;
};

/// `params` is over a table with transformer_params; `experts`: null for a dense model. Throws
/// InputError: [bad-plan] with the rule that a plan breaks, [too-large].
Workload make_transformer(std::string_view name, const ParamSet& params, const ExpertSettings* experts, const SourcePlace& place);

}  // namespace weft
