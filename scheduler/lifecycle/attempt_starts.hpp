// SPDX-License-Identifier: Apache-2.0
// Attempt starts: what happens from the moment a job gets GPUs until it gets on.
//
// Where it sits: JobLifecycle has jobs started here, once the policy has chosen GPUs or a snapshot
// says where they were, and hands over the timers and messages that belong to starts.
//
// Model: a job of job mode runs by its model at once. Of a job with a workload the overhead of the
// start lasts first; its data is fetched, if there is some; then its ranks are launched. All
// launches of an instant are one batch, at the end of the pass or of the instant.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/engine/entity.hpp"
#include "host/ranks/host_speed.hpp"
#include "scheduler/fast_forward/fast_forward_control.hpp"
#include "scheduler/lifecycle/attempt_messages.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "scheduler/lifecycle/job_accounts.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/job_states.hpp"

namespace weft {

/// What settings hold a job to that starts now.
struct StartTerms {
  Duration overhead;  ///< from the start of a job until it gets on, each time
  CheckpointPlan checkpoints;
};

class AttemptStarts {
 public:
  /// Keeps references. `speeds` may be null: all hosts at speed 1. `seed`: of durations.
  AttemptStarts(const std::vector<JobSpec>& jobs, const ClusterState& cluster, JobStates& states, JobAccounts& accounts,
                AttemptMessages& messages, FastForwardControl& fast_forward, const SchedulerWiring& wiring,
                const StorageSettings& storage, const HostSpeeds* speeds, std::uint64_t seed);

  /// A waiting job starts on GPUs that it holds by now. Its record has the start.
  void start(JobId job, Placement placement, const StartTerms& terms, EventContext& context);
  /// A waiting job goes on where the snapshot has it. `at`: the snapshot's instant.
  void restore(JobId job, const ClusterSnapshot::Job& from, Time at, const StartTerms& terms, EventContext& context);
  /// At ranks_begin: the overhead is over.
  void begin_ranks(JobId job, EventContext& context);
  /// The job has all that its ranks need: they are launched with others of this instant.
  void launch_this_instant(JobId job, EventContext& context);
  /// Launches the ranks of those that are ready. Returns false if the run is of no use any more.
  [[nodiscard]] bool launch(EventContext& context);
  /// The job is stopped: it is not launched if that was due.
  void drop(JobId job) { std::erase(launching_, job); }

 private:
  JobAttempt& begin_attempt(JobId job, Placement placement, Time since, const StartTerms& terms);
  /// Of the slowest host.
  double speed_on(const Placement& placement, Time since) const;
  /// Of a job of job mode: the overhead, and what its data takes where no network is simulated.
  Duration overhead_of(const JobAttempt& attempt) const;
  Duration duration_of(const JobAttempt& attempt) const;
  /// Returns false if the ranks have all that they need.
  bool fetch_data(JobAttempt& attempt, EventContext& context);

  const std::vector<JobSpec>& jobs_;
  const ClusterState& cluster_;
  JobStates& states_;
  JobAccounts& accounts_;
  AttemptMessages& messages_;
  FastForwardControl& fast_forward_;
  const SchedulerWiring& wiring_;
  const StorageSettings& storage_;
  const HostSpeeds* speeds_;
  std::uint64_t seed_;
  std::vector<JobId> launching_;  ///< ranks start at this instant
};

}  // namespace weft
