// SPDX-License-Identifier: Apache-2.0
// Job states: what every job of a run is at present - not there yet, waiting, on GPUs or over.
//
// Where it sits: JobLifecycle takes jobs from state to state; its parts and the policies read
// states.
//
// States: NotArrived, Waiting, a JobAttempt (the job holds GPUs), Ended and Cancelled. Transitions
//   arrive   NotArrived -> Waiting          stop    a JobAttempt -> Waiting
//   start    Waiting -> a JobAttempt        end     a JobAttempt -> Ended
//   cancel   any that is not over -> Cancelled
// What a job does while it holds GPUs is the JobAttempt's to say.
//
// Invariants
//   1. queue() has the jobs that wait, in order of submission. running() has those that hold GPUs,
//      in order of their starts.
//   2. Every other transition than those above is a WEFT_CHECK failure.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.hpp"
#include "core/values/ids.hpp"
#include "scheduler/lifecycle/job_attempt.hpp"
#include "scheduler/lifecycle/job_list.hpp"

namespace weft {

class JobStates {
 public:
  struct NotArrived {};
  struct Waiting {};
  struct Ended {};
  struct Cancelled {};

  explicit JobStates(std::size_t jobs) : states_(jobs), arrivals_(jobs), queue_(jobs), running_(jobs) {}

  std::size_t size() const { return states_.size(); }
  const JobList& queue() const { return queue_; }
  const JobList& running() const { return running_; }
  template <class State>
  bool is(JobId job) const {
    return std::holds_alternative<State>(states_[job.index()]);
  }
  bool is_over(JobId job) const { return is<Ended>(job) || is<Cancelled>(job); }
  /// Null unless the job holds GPUs.
  const JobAttempt* attempt(JobId job) const {
    const auto* const held = std::get_if<Held>(&states_[job.index()]);
    return held == nullptr ? nullptr : held->get();
  }
  /// Requires: the job holds GPUs.
  const JobAttempt& running(JobId job) const {
    WEFT_CHECK(is<Held>(job), "a job that is asked about holds GPUs");
    return *std::get<Held>(states_[job.index()]);
  }
  JobAttempt& running(JobId job) {
    WEFT_CHECK(is<Held>(job), "a job that is changed holds GPUs");
    return *std::get<Held>(states_[job.index()]);
  }

  void arrive(JobId job);
  /// Arguments as of JobAttempt. The reference is valid until the job stops, ends or is cancelled.
  JobAttempt& start(const JobAttempt::Terms& terms, Placement placement, Time since, const KeptWork& kept);
  void stop(JobId job);
  void end(JobId job);
  void cancel(JobId job);
  /// For a run that goes on from a snapshot: a job that had ended, or was cancelled, before.
  void restore_over(JobId job, bool is_cancelled);

 private:
  using Held = std::unique_ptr<JobAttempt>;  ///< never null

  std::vector<std::variant<NotArrived, Waiting, Held, Ended, Cancelled>> states_;  ///< by job
  std::vector<std::uint64_t> arrivals_;  ///< likewise: the how many-th it is to have arrived
  std::uint64_t arrived_ = 0;
  JobList queue_;
  JobList running_;
};

}  // namespace weft
