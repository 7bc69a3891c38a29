// SPDX-License-Identifier: Apache-2.0
// Planned workload: one training iteration of a model under a parallel plan, with operator times of
// a GPU by the analytical model.
//
// Where it sits: a scenario's `workload { model: plan: }` and `weft workload make` ask for it.
// Threads: pure functions.
#pragma once

#include <string>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft {

struct PlannedWorkload {
  std::string model;  ///< a file if it has a dot or a slash, else a preset, as the plan's name
  PlanRequest plan;
  std::string gpu;  ///< preset
};

/// Where each was named.
struct PlannedPlaces {
  SourcePlace model;
  SourcePlace plan;
  SourcePlace gpu;
};

/// Throws InputError of load_model(), load_plan(), gpu_named() and make_training_workload().
Workload make_planned_workload(const PlannedWorkload& planned, const PlannedPlaces& places);

}  // namespace weft
