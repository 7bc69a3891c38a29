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

#include "core/text/params.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

constexpr std::string_view gpt_origin = "GPT-3 6.7B (arXiv 2005.14165, table 2.1)";

/// What "llm" and "moe" have in common.
constexpr std::array<ParamSpec, 22> transformer_params = {{
    {"tp", ParamKind::integer, "8", "1", "65536", "", "Tensor-parallel ranks, neighbours.", "the GPUs of one server"},
    {"pp", ParamKind::integer, "4", "1", "4096", "", "Pipeline stages.", "assumption: a small pipeline"},
    {"dp", ParamKind::integer, "4", "1", "1048576", "", "Data-parallel replicas; there are tp x pp x dp ranks.",
     "assumption: 128 ranks in all"},
    {"layers", ParamKind::integer, "32", "1", "1000000", "", "Transformer layers, a multiple of pp.", gpt_origin},
    {"hidden", ParamKind::integer, "4096", "1", "1048576", "", "Width of the model.", gpt_origin},
    {"heads", ParamKind::integer, "32", "1", "1048576", "", "Attention heads; hidden is a multiple, and heads of tp.", gpt_origin},
    {"ffn", ParamKind::integer, "16384", "1", "16777216", "", "Width of the MLP, a multiple of tp.", "4 x hidden"},
    {"gated", ParamKind::boolean, "false", "", "", "", "The MLP has a gate: three matrices instead of two.", gpt_origin},
    {"vocab", ParamKind::integer, "51200", "1", "16777216", "", "Words, a multiple of tp.", "50,257 padded to a multiple of 1,024"},
    {"tied_embeddings", ParamKind::boolean, "true", "", "", "", "Embedding and head share their weights.",
     "Megatron-LM without --untie-embeddings-and-output-weights"},
    {"seq", ParamKind::integer, "2048", "1", "16777216", "", "Tokens in a sequence.", gpt_origin},
    {"microbatch", ParamKind::integer, "1", "1", "1048576", "", "Sequences in a micro-batch.", "assumption: the smallest"},
    {"microbatches", ParamKind::integer, "8", "1", "1048576", "", "Micro-batches of a replica in an iteration.",
     "assumption: twice the stages"},
    {"dtype", ParamKind::choice, "BF16", "", "", tensor_dtypes, "Type of activations and weights.", "mixed-precision training"},
    {"grad_dtype", ParamKind::choice, "FP32", "", "", tensor_dtypes, "Type in which gradients are reduced.",
     "Megatron's main gradients"},
    {"sequence_parallel", ParamKind::boolean, "true", "", "", "",
     "All-gather and reduce-scatter around each block instead of an all-reduce.", "arXiv 2205.05198"},
    {"gradients", ParamKind::choice, "all_reduce", "", "", "all_reduce|reduce_scatter",
     "How data-parallel ranks sum gradients; reduce_scatter also all-gathers the new weights.", "Megatron's default"},
    {"forward_time", ParamKind::duration, "0s", "0s", "", "", "Forward of one layer for a micro-batch; 0s: from tflops.",
     "computed from shapes"},
    {"backward_factor", ParamKind::real, "2", "0", "1000", "", "Backward over forward.", "two products per product of the forward"},
    {"optimizer_time", ParamKind::duration, "10ms", "0s", "", "", "The optimizer's step.", "assumption: bound by memory"},
    {"tflops", ParamKind::real, tensor_rate_default, "0.001", "1e9", "", tensor_rate_meaning, tensor_rate_origin},
    {"bucket_layers", ParamKind::integer, "1", "1", "1000000", "", "Layers whose gradients are reduced together.",
     "assumption: one bucket per layer"},
}};

/// Experts; none for a dense model.
struct ExpertPlan {
  std::uint32_t ep = 1;
  std::uint32_t experts = 0;
  std::uint32_t top_k = 0;
};

/// `math` stands for a set of parameters with transformer_params. Throws InputError.
Workload make_transformer(std::string_view name, const TensorMath& math, const ExpertPlan& experts);

}  // namespace weft
