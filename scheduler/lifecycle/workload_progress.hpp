// SPDX-License-Identifier: Apache-2.0
// Workload progress: how a job that runs a workload gets on while it holds GPUs, as its ranks
// report it.
//
// Where it sits: JobAttempt has one while ranks of such a job are simulated. It takes what hosts
// report, and knows what counts when the job ends, loses its GPUs or fails. The counterpart for job
// mode, where nobody reports, is scheduler/lifecycle/progress_model.
//
// Model of an attempt: overhead | message to the hosts | iterations, and after every
// `checkpoint_every` of them a checkpoint, but for the last. An iteration has ended when its last
// rank has, and a checkpoint is complete when the last rank has written it; ranks that go ahead of
// others write theirs earlier, and what they write before the last does is work of the next
// iteration. What the reports have not said yet does not count.
//
// Invariants: 1. overhead, writing and work of an account never exceed what has gone by; 2. work <=
// work_whole.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <optional>

#include "core/values/units.hpp"
#include "host/ranks/job.hpp"
#include "scheduler/lifecycle/iteration_tally.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "scheduler/lifecycle/progress_model.hpp"

namespace weft {

class WorkloadProgress {
 public:
  /// GPUs are held from `since` on; `message` after the overhead the ranks start. Keeps a
  /// reference. Requires: durations >= 0.
  WorkloadProgress(const RunningJob& job, Time since, Duration overhead, Duration message);

  /// Takes a rank's report; returns the iteration that it completed, if any.
  std::optional<IterationRecord> add(const IterationDone& report);
  bool done() const { return tally_.done(); }
  const IterationTally& tally() const { return tally_; }
  /// After so long on the GPUs. Requires: whatever was added had been reported by then.
  AttemptAccount account(Duration elapsed) const;
  /// From where the job may be extrapolated at `period` an iteration: the end of its last
  /// iteration, or that much before it where a checkpoint follows, or the begin of its first.
  struct Landmark {
    Time at;
    std::uint64_t iterations = 0;  ///< of the job, that have ended by then
    AttemptAccount account;        ///< likewise
  };
  Landmark landmark(Duration period) const;
  /// Of the last iteration: since the end of the one before and its checkpoint, or the start.
  Duration last_period() const { return last_period_; }

 private:
  struct Mark {
    std::uint64_t iterations = 0;  ///< of the job, that have ended
    Duration work;                 ///< in this attempt, up to their end
    Duration written;              ///< on the GPUs when the checkpoint after them is complete
    std::int64_t checkpoints = 0;  ///< of this attempt, up to that one
  };

  const RunningJob* job_;
  Time since_;
  Duration overhead_;
  Time begin_;  ///< of the first iteration
  IterationTally tally_;
  Duration last_period_;
  Mark ended_;       ///< the last iteration; `checkpoints` before it
  Mark checkpoint_;  ///< the last, which may be under way still
  Mark before_;      ///< the one before it, which is complete, or the start
};

}  // namespace weft
