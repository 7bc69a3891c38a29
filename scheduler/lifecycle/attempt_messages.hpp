// SPDX-License-Identifier: Apache-2.0
// Attempt messages: what the scheduler publishes of attempts and tells hosts and the network about
// them.
//
// Where it sits: between JobLifecycle and its parts, which decide, and the hosts (host/ranks/job).
//
// Model: every attempt that hosts hear of gets a number in the JobTable, in the order of
// publication. Messages leave at once and travel for the control-plane delay.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/entity.hpp"
#include "host/ranks/job.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/job_attempt.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/scheduler_wiring.hpp"
#include "scheduler/lifecycle/storage.hpp"

namespace weft {

class AttemptMessages {
 public:
  /// Keeps references.
  AttemptMessages(const std::vector<JobSpec>& jobs, const ClusterState& cluster, const SchedulerWiring& wiring,
                  const StorageSettings& storage, Duration control_delay);

  Duration control_delay() const { return control_delay_; }
  /// What was published of the attempt that is on these GPUs. Requires: something was.
  const RunningJob& published(const JobAttempt& attempt) const { return wiring_.jobs->at(attempt.published()); }
  /// An attempt of the job from an iteration on, complete but for the folding and its number.
  RunningJob describe(const JobAttempt& attempt, std::uint64_t first_iteration) const;
  /// Describes it, gives it the number `ahead` of the next one, and has the wiring complete it.
  RunningJob prepare(const JobAttempt& attempt, std::uint64_t first_iteration, std::uint32_t ahead) const;
  /// Numbers and publishes it.
  const RunningJob& publish(RunningJob attempt);
  /// Hosts start the ranks of an attempt.
  void start_ranks(const JobAttempt& attempt, const RunningJob& published, EventContext& context) const;
  /// Hosts and network stop the published attempt. `is_over`: the job gets on no more, nor do its
  /// transfers.
  void stop(const JobAttempt& attempt, bool is_over, EventContext& context) const;
  /// Data that the ranks need before they begin. `kept`: of the job, from earlier attempts.
  std::vector<RankData> data_to_fetch(const JobAttempt& attempt, const KeptWork& kept) const;
  /// Stores send the data; the attempt fetches it. Requires: there is some.
  void fetch(JobAttempt& attempt, const KeptWork& kept, const std::vector<RankData>& data, EventContext& context);
  /// Ranks of an attempt that moves send to the store that they have done so many iterations.
  /// Returns false if checkpoints lie nowhere.
  bool send_last_checkpoint(JobAttempt& attempt, std::uint64_t iterations, EventContext& context);

 private:
  /// Hosts that run a rank of the attempt: of folded ranks those of representatives.
  std::vector<HostId> hosts_of(const RunningJob& published, const Placement& placement) const;

  const std::vector<JobSpec>& jobs_;
  const ClusterState& cluster_;
  const SchedulerWiring& wiring_;
  const StorageSettings& storage_;
  Duration control_delay_;
};

}  // namespace weft
