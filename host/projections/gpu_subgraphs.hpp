// SPDX-License-Identifier: Apache-2.0
// GPU subgraphs: what each GPU of a plan has of a model - layers, weights, and the operators of a
// microbatch with the type that each is computed in.
//
// Where it sits: precision_estimate.hpp adds their times up.
//
// Model ("Partition model into GPU-specific subgraphs"): a stage gets layers, each of its D x T
// ranks a copy of them, with the weights sliced that tensor parallelism divides. As published a
// stage has floor(L / P) layers, so that 62 layers on 4 stages leave 2 to nobody; else it has those
// of the plan. Operators are those of workloads/plans/training_steps, which have the shapes of one
// rank and the types of the plan's precision.
// Context-parallel ranks are copies of each other and not told apart.
// Source: Kang et al., arXiv 2604.16145, algorithm 1.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/projections/arithmetic.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

struct GraphWeight {
  std::string_view component;  ///< "attention", "mlp"
  std::uint64_t parameters = 0;
  ElementType type;        ///< in which its operators compute
  bool is_sliced = false;  ///< by tensor parallelism
  bool is_expert = false;
};

struct GpuSubgraph {
  std::uint32_t stage = 0;
  std::uint32_t data = 0;
  std::uint32_t tensor = 0;
  std::vector<LayerRange> layers;  ///< of each of its chunks
  bool has_input = false;
  bool has_output = false;
  std::vector<GraphWeight> weights;

  std::uint64_t layer_count() const;
  std::uint64_t parameters() const;
};

/// One rank's. Requires: the plan breaks no rule.
GpuSubgraph gpu_subgraph(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage, std::uint32_t data,
                         std::uint32_t tensor, Arithmetic arithmetic);

/// Of all ranks: P x D x T, by stage, then data, then tensor rank.
std::vector<GpuSubgraph> gpu_subgraphs(const TransformerModel& model, const ParallelPlan& plan, Arithmetic arithmetic);

/// How many layers of a range have experts; they come last.
std::uint64_t expert_layers_in(const TransformerModel& model, const LayerRange& range);

/// How many layers of a range run forward again in backward; its first ones.
std::uint64_t recomputed_layers(const ParallelPlan& plan, const LayerRange& range);

/// An operator, and how often a GPU runs it for one microbatch.
struct OperatorUse {
  TimedOperator what;
  std::uint64_t count = 0;
};

/// Each operator once, in the order in which they come up first; layers that the plan recomputes
/// run forward twice.
std::vector<OperatorUse> unique_operators(const TransformerModel& model, const ParallelPlan& plan, const GpuSubgraph& graph);

}  // namespace weft
