// SPDX-License-Identifier: Apache-2.0
// Plan groups: the communicators of a plan's axes.
//
// Where it sits: the training workload has them and its ops name them.
// Model: rank = ((stage D + d) C + c) T + t, so groups are strided (workloads/dag/strided_groups):
// "tp" (T, 1), "cp" (C, T), "dp" (C D, T), "pp" (P, T C D), "etp" (X, 1), "ep" (E, X), "edp"
// (D_e, X E). "embedding" pairs ranks of the first and the last stage.
// Threads: a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

struct PlanGroup {
  std::uint16_t communicator = 0;
  std::uint64_t size = 1;
};

class PlanGroups {
 public:
  /// Adds the communicators to the workload; axes of one rank have none.
  PlanGroups(Workload& workload, const TransformerModel& model, const ParallelPlan& plan);

  /// Of size 1 where the axis has no communicator.
  PlanGroup of(PlanAxis axis) const { return groups_[static_cast<std::size_t>(axis)]; }

 private:
  std::array<PlanGroup, plan_axis_count> groups_;
};

}  // namespace weft
