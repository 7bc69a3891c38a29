// SPDX-License-Identifier: Apache-2.0
// Model components: the parameters of a model by part, exact to the parameter, and how parallel
// training may divide each.
//
// Where it sits: totals, memory, gradients and their reduction all come from these rows.
//
// Model, for hidden h, heads a of width d, key-value heads g, MLP width f, vocabulary V:
//   embedding         V h, positions rows h
//   attention         queries h a d, keys and values 2 h g d, output a d h
//   latent attention  h r_q + r_q + r_q a (d_k + d_r), or h a (d_k + d_r);
//                     h (r_kv + d_r) + r_kv + r_kv a (d_k + d_v); output a d_v h
//   MLP               h f up, once more where gated, f h down
//   router            h E, and E biases if it has them
//   experts           E times the MLP of their width; shared ones once
//   norms             h each, with a shift 2 h
// Tensor parallelism divides what is split by heads, by the MLP's width or by words, and copies the
// rest (Shoeybi et al., arXiv 1909.08053, section 3); expert parallelism divides experts.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/models/model.hpp"

namespace weft {

/// How a component is spread over ranks that hold one layer together.
enum class Division : std::uint8_t {
  copied,        ///< each rank has all
  tensor,        ///< over tensor-parallel ranks
  expert,        ///< experts over expert-parallel ranks, each over expert-tensor-parallel ones
  expert_copied  ///< experts over expert-parallel ranks
};

struct ModelComponent {
  std::string_view name;  ///< "attention", "mlp"; several rows may share one
  std::uint64_t parameters = 0;
  Division division = Division::copied;
  /// Ranks beyond these have copies: keys and values have no more parts than heads.
  std::uint64_t parts_max = ~std::uint64_t{0};
};

// --- Parts of a transformer ---

/// Before the first layer. `vocabulary`: padded or not.
std::vector<ModelComponent> input_components(const TransformerModel& model, std::uint64_t vocabulary);
std::vector<ModelComponent> layer_components(const TransformerModel& model, bool has_experts);
/// Behind the last layer; without the output layer's weights where they are the embedding's.
std::vector<ModelComponent> output_components(const TransformerModel& model, std::uint64_t vocabulary);

// --- Whole models ---

struct ComponentCount {
  std::string_view name;
  std::uint64_t parameters = 0;  ///< of all its instances together
  std::uint64_t active = 0;      ///< of those that one token or sample meets
};

/// By name, in the order of the model, without padding.
std::vector<ComponentCount> component_counts(const ModelDescription& model);

std::uint64_t parameter_count(const ModelDescription& model);
std::uint64_t active_parameter_count(const ModelDescription& model);

}  // namespace weft
