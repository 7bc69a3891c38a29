// SPDX-License-Identifier: Apache-2.0
// Making of a JobView: what a policy or a handler may know of a job at an instant.
//
// Where it sits: JobLifecycle makes one whenever a pass or a handler asks.
// Thread safety: a function of its arguments.
#pragma once

#include "scheduler/lifecycle/attempt_starts.hpp"
#include "scheduler/lifecycle/job_accounts.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/job_states.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

/// `next_start`: what the job would be held to if it started now.
JobView view_of(JobId job, const JobSpec& spec, const JobStates& states, const JobAccounts& accounts, const StartTerms& next_start,
                Time now);

}  // namespace weft
