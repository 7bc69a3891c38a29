// SPDX-License-Identifier: Apache-2.0
// Snapshot capture: the state of all jobs and of the cluster as a ClusterSnapshot.
//
// Where it sits: JobLifecycle captures at the instant that it was asked for.
// AttemptStarts::restore() and JobLifecycle go on from what was captured.
// Thread safety: a function of its arguments.
#pragma once

#include <vector>

#include "scheduler/fast_forward/fast_forward_control.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/job_accounts.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/job_states.hpp"

namespace weft {

/// After all events up to `now`; without cables. `control_delay`: of the last report of a workload.
ClusterSnapshot capture_snapshot(Time now, const std::vector<JobSpec>& jobs, const JobStates& states, const JobAccounts& accounts,
                                 const ClusterState& cluster, const FastForwardControl& fast_forward, Duration control_delay);

}  // namespace weft
