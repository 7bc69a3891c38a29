// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_states.hpp"

#include <utility>

#include "core/check.hpp"

namespace weft {

void JobStates::arrive(JobId job) {
  WEFT_CHECK(is<NotArrived>(job), "a job arrives once");
  states_[job.index()] = Waiting{};
  arrivals_[job.index()] = arrived_++;
  queue_.insert(job, arrivals_);
}

JobAttempt& JobStates::start(const JobAttempt::Terms& terms, Placement placement, Time since, const KeptWork& kept) {
  const JobId job = terms.job;
  WEFT_CHECK(is<Waiting>(job), "a job that starts was waiting");
  queue_.remove(job);
  running_.push_back(job);
  return *states_[job.index()].emplace<Held>(std::make_unique<JobAttempt>(terms, std::move(placement), since, kept));
}

void JobStates::stop(JobId job) {
  WEFT_CHECK(is<Held>(job), "a job that is stopped was running");
  running_.remove(job);
  states_[job.index()] = Waiting{};
  queue_.insert(job, arrivals_);
}

void JobStates::end(JobId job) {
  WEFT_CHECK(is<Held>(job), "a job that ends was running");
  running_.remove(job);
  states_[job.index()] = Ended{};
}

void JobStates::cancel(JobId job) {
  WEFT_CHECK(!is_over(job), "a job that is over is not cancelled");
  if (is<Held>(job)) running_.remove(job);
  if (is<Waiting>(job)) queue_.remove(job);
  states_[job.index()] = Cancelled{};
}

void JobStates::restore_over(JobId job, bool is_cancelled) {
  WEFT_CHECK(is<NotArrived>(job), "a job is restored before it arrives");
  if (is_cancelled) {
    states_[job.index()] = Cancelled{};
  } else {
    states_[job.index()] = Ended{};
  }
}

}  // namespace weft
