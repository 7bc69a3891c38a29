// SPDX-License-Identifier: Apache-2.0
// Held queues: job sources in closed loop, each of which keeps as many jobs waiting as it began
// with.
//
// Where it sits: JobLifecycle tells it which jobs leave the queue, and submits what it says is due.
// JobCounters get the steady state.
//
// Model
//   - JobSpec::queue is the number of a job's source, from 1. The jobs of a source that are not
//     held are submitted at their time and are its queue; each job that leaves the queue for the
//     first time, as it starts or is cancelled, has the next held one submitted at that instant.
//     Jobs that come back, preempted or failed, wait beside them.
//   - Steady state: from the first departure beyond the queue's length, when those that found an
//     empty cluster and an equally old queue have left, until the last job is submitted, after
//     which the queue becomes shorter. Of several sources it is what they have in common.
//
// Threads: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/values/ids.hpp"
#include "scheduler/lifecycle/job_spec.hpp"

namespace weft {

class HeldQueues {
 public:
  explicit HeldQueues(const std::vector<JobSpec>& jobs);

  enum class Phase : std::uint8_t { before, steady, after };
  Phase phase() const;

  /// A job leaves the queue for the first time. Requires: JobSpec::queue of it is above 0.
  void leave(JobId job);
  /// The next job that is due, which then is not any more; none if nobody is.
  std::optional<JobId> take_due();
  /// Who was due and had been cancelled before makes room for the next.
  void pass_over(JobId job) { ++sources_[jobs_[job.index()].queue - 1].due; }

 private:
  struct Source {
    std::deque<JobId> held = {};  ///< in order of the source
    std::uint64_t length = 0;
    std::uint64_t left = 0;
    std::uint64_t due = 0;
  };

  const std::vector<JobSpec>& jobs_;
  std::vector<Source> sources_;
};

/// Of the time during which all sources kept their queues.
struct SteadyState {
  Time from;
  Time until;
  std::uint64_t starts = 0;  ///< first starts of jobs
  double mean_wait_s = 0;    ///< of these, from submission to start
  double stranded_gpus = 0;  ///< mean over time: free while jobs wait
  double busy_gpus = 0;      ///< likewise: held by jobs
};

}  // namespace weft
