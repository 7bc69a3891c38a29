// Iteration probe: how long an iteration of a workload takes when its job is alone on the scenario's cluster.
//
// Where it sits: load_scenario() asks it for rules that fit a workload's iterations to a job's run time.
// Model: the workload runs twice in the scenario's mode (flow mode if that is job), with the scenario's topology, parameters and placement; the mean of the two iterations is the
// answer.
// Thread safety: one call at a time per scenario.
#pragma once

#include <memory>

#include "core/diagnostics.hpp"
#include "core/units.hpp"
#include "tools/weft/scenario.hpp"

namespace weft {

/// Throws InputError, at `place` where the job does not fit the cluster.
Duration probe_iteration(const Scenario& scenario, const std::shared_ptr<const Workload>& workload, const SourcePlace& place);

}  // namespace weft
