// SPDX-License-Identifier: Apache-2.0
// Fast-forward control: when sets of jobs are fast-forwarded and when they resume, and how they
// fold.
//
// Where it sits: JobLifecycle tells it of launches, reports, stops and changes of the cluster. It
// takes attempts from phase to phase (JobStates) and has hosts told (AttemptMessages).
//
// Model: without fast-forward, ranks are folded and nothing else happens.
//   - Once FastForward knows all jobs of a set, and no data is on its way, their ranks are stopped
//     and the jobs go on by models of their measured periods.
//   - When one of the set starts, ends or is stopped, each other one is simulated again from its
//     next iteration on, as a new published attempt.
//   - Ranks are folded by set. A job that is simulated when its set gets another folding is
//     fast-forwarded to its next iteration, or begins its first one anew.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/entity.hpp"
#include "scheduler/fast_forward/fast_forward.hpp"
#include "scheduler/fast_forward/network_sharers.hpp"
#include "scheduler/lifecycle/attempt_messages.hpp"
#include "scheduler/lifecycle/job_accounts.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/job_states.hpp"

namespace weft {

class FastForwardControl {
 public:
  /// Keeps references. `iterations`: to simulate before jobs are fast-forwarded; 0: all are
  /// simulated. `coupled` and `observer` may be null.
  FastForwardControl(std::uint64_t iterations, const std::vector<JobSpec>& jobs, JobStates& states, JobAccounts& accounts,
                     AttemptMessages& messages, CoupledJobs* coupled, JobObserver* observer);

  bool is_on() const { return measured_.is_on(); }
  FastForwardReport report() const { return measured_.report(); }
  /// How long an iteration of the job takes, as last measured since its start.
  std::optional<Duration> iteration_time(JobId job) const { return measured_.estimate(job); }
  /// Requires: the job is fast-forwarded.
  KnownPace pace(JobId job) const { return measured_.pace(job); }

  // A launch of several jobs: place() for each, fold(), folding_of() for each, and launched().
  /// The job is to be launched as prepared.
  void place(JobId job, const RunningJob& prepared);
  /// Folds the sets of these jobs.
  void fold(std::span<const JobId> jobs, EventContext& context);
  /// As fold() found; null if no ranks are alike. Requires: the job's set was folded.
  const std::shared_ptr<const JobFolding>& folding_of(JobId job) const { return *foldings_[job.index()]; }
  bool folds() const { return coupled_ != nullptr; }
  /// Ranks of these jobs were launched.
  void launched(std::span<const JobId> jobs, EventContext& context);

  /// An iteration of a simulated job has ended, `period` after the one before.
  void complete_iteration(JobId job, Duration period, Duration exposed);
  /// Fast-forwards the job's set if all jobs of it are known by now.
  void consider(JobId job, EventContext& context);
  /// The time of job_resumes has come: the job is simulated again.
  void resume(JobId job, EventContext& context);
  /// A job that is fast-forwarded ends, resumes or is stopped, with so many iterations done.
  void skip(JobId job, std::uint64_t iterations, Time now);
  /// The job uses the network no more, if it did.
  void leave(JobId job, EventContext& context);
  /// The job has ended and left.
  void end(JobId job) { measured_.end(job); }
  /// `more`: +1 if data or a last checkpoint of a job begins to be on its way, -1 if it ceases to.
  /// It slows other jobs down meanwhile, which is simulated.
  void note_data(std::int32_t more, EventContext& context);
  /// What was measured of any job does not hold any more.
  void begin_epoch_of_all(EventContext& context);
  /// The run is cut off at `now`: jobs that are fast-forwarded have done what their models say.
  void close_open_attempts(Time now);

  // A run that goes on from a snapshot.
  /// The job was fast-forwarded at that pace.
  void restore(JobId job, const RunningJob& prepared, const KnownPace& pace);
  /// The paces of the job and of the others of its set may not hold: they are simulated again.
  void doubt(JobId job, EventContext& context);
  /// All jobs are restored. Data that was on its way is fetched anew, which is simulated.
  void restored(EventContext& context);

 private:
  void join(JobId job, EventContext& context);
  /// What was measured of these jobs does not hold any more. Those that are fast-forwarded resume.
  void begin_epoch(std::span<const JobId> jobs, EventContext& context);
  void begin(JobId job, Duration period, EventContext& context);
  void plan_resume(JobId job, EventContext& context);
  /// A simulated job goes on with the folding that its set has by now.
  void change_folding(JobId job, EventContext& context);

  const std::vector<JobSpec>& jobs_;
  JobStates& states_;
  JobAccounts& accounts_;
  AttemptMessages& messages_;
  CoupledJobs* coupled_;
  JobObserver* observer_;
  FastForward measured_;
  NetworkSharers sharers_;
  /// The folding of each job's next attempt; none before its set was folded.
  std::vector<std::optional<std::shared_ptr<const JobFolding>>> foldings_;
  /// Jobs whose data or last checkpoint is on its way.
  std::uint32_t data_under_way_ = 0;
};

}  // namespace weft
