// SPDX-License-Identifier: Apache-2.0
// Activation memory: what one microbatch leaves for backward in each part of a transformer on one
// rank, tensor by tensor.
//
// Where it sits: stage_memory.hpp multiplies it by the microbatches that a stage holds.
//
// Model, for T tokens on a context-parallel rank, r of them between blocks (T / t under sequence
// parallelism), hidden h, heads a of width d and MLP width f shared by t ranks; a tensor is kept
// once, in the type in which backward reads it:
//   norms      inputs r h, and FP32 statistics of rows
//   attention  input r h; queries, keys and values T; fused: output T a d / t and FP32 logarithms
//              T a / t; else softmax T S a / t, with dropout its mask and its output, too;
//              the projection's input
//   MLP        input r h; outputs of the projections up T f / t each; input of the one down
//   experts    the same for the tokens that this rank's experts get at most, top_k copies of each
//              and no more than the capacity; router: input r h and FP32 scores
//   dropout    masks r h of one byte
//   output     norm's input, product's input, FP32 softmax of the logits T V / t
// Selective recomputation keeps nothing between queries, keys, values and attention's output. A
// layer that is computed again keeps its input.
// Between the backward passes for input and for weights, inputs of products with weights and
// gradients of their outputs remain.
// Sources: Korthikanti et al., arXiv 2205.05198, section 4; Qi et al., ICLR 2024, section 2; Dao,
// arXiv 2307.08691, section 3.1.2; Megatron-LM for experts and the loss.
// Threads: values and pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "core/values/units.hpp"
#include "workloads/models/model.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

struct ActivationItem {
  std::string_view component;  ///< as model_components.hpp names it, or "residuals", "loss"
  Bytes bytes;
};

/// Adds to the component's item, or one for it.
void add_item(std::vector<ActivationItem>& items, std::string_view component, Bytes bytes);

/// Of one microbatch in one part of the model: a layer, the embedding or the output.
struct PartActivations {
  std::vector<ActivationItem> items;  ///< each component once
  Bytes kept;                         ///< their sum: from forward to backward
  Bytes for_weights;                  ///< between the backward passes for input and for weights
  /// More, while backward goes through: gradients, gathered inputs.
  Bytes working;
};

/// How one rank spends memory on a microbatch. Requires: the plan breaks no rule for the model.
struct ActivationMemory {
  PartActivations dense_layer;
  PartActivations expert_layer;
  PartActivations input;
  PartActivations output;
  Bytes layer_input;  ///< all that a recomputed layer keeps
};

ActivationMemory activation_memory(const TransformerModel& model, const ParallelPlan& plan);

}  // namespace weft
