// SPDX-License-Identifier: Apache-2.0
// Iteration tally: puts the reports of a job's ranks together into iterations of the job.
//
// Where it sits: WorkloadProgress keeps one per job whose ranks are simulated.
//
// Model: ranks report their iterations in order but may run ahead of each other. An iteration of
// the job starts with its first rank, ends with its last, and is complete when every rank has
// reported it; iterations complete in order. A rank starts an iteration when its last one has ended
// and the checkpoint after it is written. Memory is a few words per rank plus the iterations
// between the slowest rank and the fastest.
// Invariants: 1. each rank reports iterations one after the other, from the first of the attempt on
// (WEFT_CHECK).
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/ranks/job.hpp"
#include "scheduler/lifecycle/job_record.hpp"

namespace weft {

class IterationTally {
 public:
  /// Of an attempt, in which all ranks start their first iteration at `begin`. Where they are
  /// folded, representatives report for their classes. Keeps a reference to `job`.
  IterationTally(const RunningJob& job, Time begin);

  /// Takes a rank's report; returns the iteration that it completed, if any.
  std::optional<IterationRecord> add(const IterationDone& report);

  bool done() const { return completed_ == job_->iterations; }
  /// Of the job, earlier attempts included.
  std::uint64_t completed() const { return completed_; }
  /// Iterations of the job that a rank has done, earlier attempts included.
  std::uint64_t reported(RankId rank) const { return ranks_[rank.index()].reported; }
  std::uint32_t rank_count() const { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  struct Rank {
    std::uint64_t reported = 0;
    Time last_end;
  };
  struct Open {
    std::uint32_t reports = 0;
    Time start = Time::max();
    Time end;
    double exposed_ticks = 0;  ///< over all ranks; may exceed 64 bits
  };

  const RunningJob* job_;
  std::uint64_t completed_;
  std::vector<Rank> ranks_;
  std::deque<Open> open_;  ///< iterations from `completed_` on
};

}  // namespace weft
