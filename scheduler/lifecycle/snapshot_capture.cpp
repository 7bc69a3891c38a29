// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/snapshot_capture.hpp"

#include <optional>

namespace weft {
namespace {

/// Of a job that gets on: where it is, and how far it has come.
void capture_running(const JobAttempt& attempt, const JobSpec& spec, const FastForwardControl& fast_forward, Duration control_delay,
                     ClusterSnapshot::Job& job) {
  job.state = ClusterSnapshot::State::runs;
  job.placement = attempt.placement();
  job.since = attempt.since();
  job.part_since = attempt.part_since();
  job.past = attempt.past();
  job.fetches = attempt.parts_left() > 0;
  if (const ProgressModel* const model = attempt.model()) {
    const Duration last_report = spec.workload == nullptr ? Duration::zero() : control_delay;
    if (const std::optional<Duration> held = model->held()) job.expected_end = attempt.part_since() + *held + last_report;
  }
  if (attempt.is<JobAttempt::FastForwarded>()) job.pace = fast_forward.pace(attempt.job());
  if (!attempt.is<JobAttempt::Simulated>()) return;
  const WorkloadProgress::Landmark landmark = attempt.ranks()->landmark(Duration::zero());
  job.past = attempt.past().followed_by(landmark.account);
  job.part_since = landmark.at;
}

}  // namespace

ClusterSnapshot capture_snapshot(Time now, const std::vector<JobSpec>& jobs, const JobStates& states, const JobAccounts& accounts,
                                 const ClusterState& cluster, const FastForwardControl& fast_forward, Duration control_delay) {
  ClusterSnapshot result;
  result.at = now;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    const JobId id(i);
    ClusterSnapshot::Job& job = result.jobs.emplace_back();
    const JobAttempt* const attempt = states.attempt(id);
    job.record = accounts.record(id);
    job.kept = accounts.kept(id);
    job.iterating = accounts.iterating(id);
    job.queued = accounts.queued(id);
    job.priority = jobs[i].priority;
    if (jobs[i].is_held) job.submitted = jobs[i].submit;
    if (fast_forward.is_on() && jobs[i].workload != nullptr) job.iteration_time = fast_forward.iteration_time(id);
    if (states.is_over(id)) {
      job.state = ClusterSnapshot::State::ended;
    } else if (attempt == nullptr) {
      job.state = states.is<JobStates::Waiting>(id) ? ClusterSnapshot::State::waits : ClusterSnapshot::State::not_arrived;
    } else if (!attempt->gets_on()) {
      job.state = ClusterSnapshot::State::waits;
      // Who writes a checkpoint to move has written it.
      const AttemptAccount so_far = attempt->account(now);
      job.kept = attempt->on_common_scale(attempt->is<JobAttempt::Failed>() ? so_far.kept : so_far.whole);
      job.queued = now;
    } else {
      capture_running(*attempt, jobs[i], fast_forward, control_delay, job);
    }
  }
  for (std::uint32_t gpu = 0; gpu < cluster.gpu_count(); ++gpu) {
    if (!cluster.is_in_service(GpuSlot(gpu))) result.out_of_service.emplace_back(gpu);
  }
  return result;
}

}  // namespace weft
