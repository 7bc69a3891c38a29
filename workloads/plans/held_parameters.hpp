// SPDX-License-Identifier: Apache-2.0
// Held parameters: what one rank of a pipeline position keeps of a model under a plan, by
// component.
//
// Where it sits: memory counts them, gradients of them are reduced; the workload and the closed
// form of its volumes both take them from here.
//
// Model: a component is copied, or divided by the ranks that share it (model_components.hpp). Ranks
// whose share is alike are all ranks of a position. Dense and expert parameters are apart, as they
// have different replicas. Where embedding and output layer are tied and stand in different
// stages, both hold the weights, and their gradients are added up.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/models/model_components.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

struct HeldComponent {
  std::string_view name;
  std::uint64_t parameters = 0;  ///< on one rank
  bool is_expert = false;        ///< its replicas are expert_replicas(), else replicas()
};

struct HeldSum {
  std::uint64_t dense = 0;
  std::uint64_t expert = 0;

  std::uint64_t all() const { return dense + expert; }
};

/// Shares of one rank, in the components' order. Requires: the plan breaks no rule.
std::vector<HeldComponent> held_components(const std::vector<ModelComponent>& components, const ParallelPlan& plan);

/// Of one layer.
std::vector<HeldComponent> held_by_layer(const TransformerModel& model, const ParallelPlan& plan, bool has_experts);
/// Before the first layer; of the first position.
std::vector<HeldComponent> held_by_input(const TransformerModel& model, const ParallelPlan& plan);
/// Behind the last layer; of the last position. With the tied weights where another
/// stage has the first position.
std::vector<HeldComponent> held_by_output(const TransformerModel& model, const ParallelPlan& plan);

/// Everything of a position, by name.
std::vector<HeldComponent> held_by_position(const TransformerModel& model, const ParallelPlan& plan, std::size_t position);

HeldSum sum_of(const std::vector<HeldComponent>& components);

/// Of all positions of a stage.
HeldSum held_by_stage(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage);

/// Weights of a rank whose gradients it adds up with one of another stage, since embedding and
/// output layer share them; 0 where no other stage has them.
std::uint64_t tied_parameters(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage);

}  // namespace weft
