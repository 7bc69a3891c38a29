// SPDX-License-Identifier: Apache-2.0
// Reduced plan: a plan for a few GPUs that does on each of them what the whole plan does, so that
// layers can be measured there and the rest be calculated.
//
// Where it sits: benchmarks of memory and times are of reduced plans; projections restore the whole
// plan.
//
// Model: what does not fit is reduced in this order, each no further than needed:
//   pipeline  to 1, always: a benchmark has a few layers
//   expert    to a divisor; experts of a rank stay, so that the layer has fewer of them
//   tensor    to a divisor; a rank has more of each layer then
//   context   to a divisor, with a shorter sequence: tokens of a rank stay
// What is left of the GPUs is data parallelism, with one microbatch for each replica.
// Source: Primus, docs/projection.md, "Configuration Reduction"; it leaves context as it is.
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "workloads/models/model.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

struct ReducedPlan {
  TransformerModel model;  ///< with so many layers, and experts of the ranks that are left
  ParallelPlan plan;
  std::vector<std::string> reductions;  ///< "pipeline_parallel 4 -> 1"
};

/// So many GPUs, and layers without and with experts; a kind that the model lacks has none.
struct BenchmarkSize {
  std::uint64_t gpus = 1;
  std::uint64_t dense_layers = 1;
  std::uint64_t expert_layers = 1;
};

/// The reduced plan, or the rule of plans that it would break. Requires: gpus > 0, and the plan
/// breaks no rule for the model.
std::variant<ReducedPlan, BrokenPlanRule> reduced_plan(const TransformerModel& model, const ParallelPlan& plan,
                                                       const BenchmarkSize& size);

}  // namespace weft
