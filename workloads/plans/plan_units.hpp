// SPDX-License-Identifier: Apache-2.0
// Plan units: the parts of a pipeline position whose parameters come and whose gradients go
// together, and the buckets that they share.
//
// Where it sits: the training workload walks through them; the closed form of volumes counts them.
//
// Model: units are the embedding, each layer and the output layer, in the order of forward. Going
// backward, units fill a bucket until it has gradient_bucket parameters; dense and expert
// parameters fill buckets of their own, as they have other replicas. Under ZeRO 3 each unit is a
// bucket.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/plans/held_parameters.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

enum class UnitKind : std::uint8_t { input, dense_layer, expert_layer, output };
constexpr std::size_t unit_kind_count = static_cast<std::size_t>(UnitKind::output) + 1;

struct PlanUnit {
  UnitKind kind = UnitKind::dense_layer;
  std::string name;  ///< "embedding", "layer12", "output"
  HeldSum held;      ///< by one rank
};

/// Consecutive units of a position.
struct GradientBucket {
  std::size_t first_unit = 0;
  std::size_t last_unit = 0;
  std::uint64_t parameters = 0;
  bool is_expert = false;

  /// What one of so many ranks has of it, rounded up.
  std::uint64_t share(std::uint64_t ranks) const { return (parameters + ranks - 1) / ranks; }
  bool has(std::size_t unit) const { return first_unit <= unit && unit <= last_unit; }
};

std::vector<PlanUnit> units_of(const TransformerModel& model, const ParallelPlan& plan, std::size_t position);

/// In the order in which backward fills them.
std::vector<GradientBucket> buckets_of(const std::vector<PlanUnit>& units, const ParallelPlan& plan);

}  // namespace weft
