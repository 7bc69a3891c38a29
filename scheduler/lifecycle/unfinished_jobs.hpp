// SPDX-License-Identifier: Apache-2.0
// Unfinished jobs: what jobs do or wait for, whether any may still get on, and what is said if none
// does.
//
// Where it sits: JobLifecycle asks it when its ProgressWatch is due, and at the end of a run.
//
// Model: a job may get on if it has not shown the contrary since the watch began anew. Who waited
// all the time has shown nothing. Who came or ran meanwhile, or kept something in this start, may
// take longer than others fail.
// Thread safety: belongs to the scheduler's logical process; may be used once the engine has
// stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "host/ranks/job.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/job_accounts.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/job_states.hpp"
#include "scheduler/lifecycle/progress_watch.hpp"

namespace weft {

class UnfinishedJobs {
 public:
  /// Keeps references. `published` may be null if no job runs a workload.
  UnfinishedJobs(const std::vector<JobSpec>& jobs, const JobStates& states, const JobAccounts& accounts, const JobTable* published)
      : jobs_(jobs), states_(states), accounts_(accounts), published_(published) {}

  /// What the job does or waits for, as a sentence without its stop: "job "a" waits for 8 GPUs".
  std::string state_text(JobId job) const;
  /// The same of some jobs that are not over.
  std::string text() const;
  /// Whether nothing but reports of simulated ranks moves the jobs that run.
  bool all_wait_for_ranks() const;
  bool any_may_get_on(const ProgressWatch& watch, Time now) const;
  /// [no-progress], by what the watch has seen.
  Diagnostic no_progress(const ProgressWatch& watch, Time now) const;
  /// [never-repaired] if nobody runs and GPUs are out of service, but for those of hosts that were
  /// set aside.
  std::optional<Diagnostic> never_repaired(const ClusterState& cluster, std::span<const HostId> set_aside) const;
  /// WEFT_CHECK failure that names jobs which are not over.
  void require_none() const;

 private:
  bool may_get_on(JobId job, const ProgressWatch& watch, Time now) const;

  const std::vector<JobSpec>& jobs_;
  const JobStates& states_;
  const JobAccounts& accounts_;
  const JobTable* published_;
};

}  // namespace weft
