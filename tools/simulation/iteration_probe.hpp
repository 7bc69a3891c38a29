// SPDX-License-Identifier: Apache-2.0
// Iteration probe: how long an iteration of a workload takes when its job is alone on the
// scenario's cluster.
//
// Where it sits: load_scenario() asks it for rules that fit a workload's iterations to a job's run
// time, and for jobs that run their workload in job mode.
// Model: the workload runs twice in the scenario's mode (flow mode if that is job), with the
// scenario's topology, parameters and placement, on hosts at full speed; the mean of the two
// iterations is the answer. Where hosts may be slow it does so once more with all of them at half
// the speed: as much longer as that takes is what they compute, as if nothing overlapped in another
// way.
// Thread safety: one call at a time per scenario.
#pragma once

#include <memory>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/units.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

struct ProbedIteration {
  Duration time;
  double compute_share = 1;  ///< of the time; 1 where no host may be slow
};

/// Throws InputError, at `place` where the job does not fit the cluster.
ProbedIteration probe_iteration(const Scenario& scenario, const std::shared_ptr<const Workload>& workload,
                                const SourcePlace& place);

}  // namespace weft
