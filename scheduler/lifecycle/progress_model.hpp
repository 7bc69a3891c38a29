// SPDX-License-Identifier: Apache-2.0
// Progress model: how a job of job mode gets on while it holds GPUs - overhead of its start, work,
// and checkpoints in between.
//
// Where it sits: JobAttempt has one while a job goes on by a model. It knows when the job ends and,
// when the job loses its GPUs or fails, what was done by then and what of that counts. Of jobs that
// run workloads, scheduler/lifecycle/workload_progress knows that.
//
// Model of an attempt:
//   overhead | work up to the next checkpoint | write | work up to the one after | ... | work
// Work is measured by a job's whole duration on these GPUs, `total`, of which each of its
// iterations takes an equal part. Checkpoints come after every `CheckpointPlan::every` iterations,
// or after every `interval` of work where a job declares no iterations; none at the end. The job
// stands still while one is written (synchronous checkpoints, as in Young 1974 and Daly 2006), and
// what came before counts once it is complete.
//
// Invariants
//   1. at(e).overhead + at(e).work + at(e).writing == e for 0 <= e <= held().
//   2. What is kept never becomes less; at(e).counts <= at(e).counts_whole <= at(e).done.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>

#include "core/text/params.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Parameter table "checkpoint".
ParamTable checkpoint_params();

/// When jobs write checkpoints, and how long that takes them.
struct CheckpointPlan {
  std::uint64_t every = 1;  ///< iterations; 0: none are written
  /// Of work, for jobs that declare no iterations; zero: all that was done counts, and nothing is
  /// written.
  Duration interval;
  Duration write;  ///< >= 0
};

/// What a job brings along from earlier attempts.
struct KeptWork {
  std::uint64_t iterations = 0;  ///< if it declares some
  Duration work;                 ///< if it declares none
};

/// What a job's attempt on GPUs has come to by some instant. What is left of the time is lost.
struct AttemptAccount {
  Duration overhead;    ///< of the start
  Duration writing;     ///< of checkpoints
  Duration work;        ///< in this attempt, that counts if the job stops now
  Duration work_whole;  ///< likewise, if it writes a checkpoint of what it has done by now
  KeptWork kept;        ///< that is the former, earlier attempts included
  KeptWork whole;       ///< and that the latter

  /// Of two parts of an attempt, this one up to an iteration's end and `next` from there on.
  AttemptAccount followed_by(const AttemptAccount& next) const;
};

class ProgressModel {
 public:
  /// `iterations`: as declared, 0 if unknown. Requires: durations >= 0, kept <= all of it.
  ProgressModel(Duration total, std::uint64_t iterations, const KeptWork& kept, Duration overhead, const CheckpointPlan& plan);

  Duration total() const { return total_; }
  /// How long the job holds its GPUs until it ends; none if that is more than a Duration holds.
  std::optional<Duration> held() const;

  struct Position {
    Duration overhead;
    Duration work;     ///< in this attempt
    Duration writing;  ///< of checkpoints
    Duration done;     ///< of total(): what was kept from before, and `work`
    Duration counts;   ///< of total(): what is kept if the job stops now
    KeptWork kept;     ///< that, for the next attempt
    /// What is kept of a job that writes a checkpoint now: all iterations that have ended, or all
    /// of the work.
    KeptWork whole;
    Duration counts_whole;  ///< that, of total()
  };
  /// After how long on the GPUs an iteration of the job begins, its number from 0. Requires: the
  /// job declares iterations; it begins in this attempt.
  Duration begin_of(std::uint64_t iteration) const;

  /// After so long on the GPUs. Requires: 0 <= elapsed <= held().
  Position at(Duration elapsed) const;
  AttemptAccount account(Duration elapsed) const;

 private:
  /// Of total(), where the checkpoint number `i` of this attempt is written; 0 is its start.
  /// Requires: i <= checkpoints_.
  Duration checkpoint(std::uint64_t i) const;

  Duration total_;
  std::uint64_t iterations_;
  KeptWork kept_;
  Duration overhead_;
  CheckpointPlan plan_;
  Duration begin_;                 ///< of total(): what is kept from before
  std::uint64_t checkpoints_ = 0;  ///< to write in this attempt if it goes on to the end
};

}  // namespace weft
