// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/workload_progress.hpp"

#include <algorithm>

namespace weft {

WorkloadProgress::WorkloadProgress(const RunningJob& job, Time since, Duration overhead, Duration message)
    : job_(&job), since_(since), overhead_(overhead), begin_(since + overhead + message), tally_(job, begin_) {
  ended_.iterations = job.first_iteration;
  checkpoint_ = ended_;
  before_ = ended_;
}

std::optional<IterationRecord> WorkloadProgress::add(const IterationDone& report) {
  const std::optional<IterationRecord> completed = tally_.add(report);
  if (!completed) return completed;
  ended_.iterations = tally_.completed();
  ended_.checkpoints = checkpoint_.checkpoints;
  const Duration work = completed->end - begin_ - job_->checkpoint_write * ended_.checkpoints;
  last_period_ = work - ended_.work;
  ended_.work = work;
  if (job_->has_checkpoint_after(ended_.iterations)) {
    before_ = checkpoint_;
    checkpoint_ = {ended_.iterations, ended_.work, completed->end + job_->checkpoint_write - since_, checkpoint_.checkpoints + 1};
  }
  return completed;
}

AttemptAccount WorkloadProgress::account(Duration elapsed) const {
  const bool is_writing = checkpoint_.written > elapsed;
  const Mark& mark = is_writing ? before_ : checkpoint_;
  AttemptAccount account;
  account.overhead = std::min(elapsed, overhead_);
  account.writing = job_->checkpoint_write * mark.checkpoints;
  if (is_writing) account.writing += elapsed - (checkpoint_.written - job_->checkpoint_write);
  account.work = mark.work;
  account.work_whole = ended_.work;
  account.kept.iterations = mark.iterations;
  account.whole.iterations = ended_.iterations;
  return account;
}

WorkloadProgress::Landmark WorkloadProgress::landmark(Duration period) const {
  const bool is_at_checkpoint = ended_.iterations > job_->first_iteration && job_->checkpoint_write > Duration::zero() &&
                                job_->has_checkpoint_after(ended_.iterations);
  const Duration back = is_at_checkpoint ? std::min(period, ended_.work) : Duration::zero();
  const Mark& saved = is_at_checkpoint ? before_ : checkpoint_;
  const std::uint64_t iterations = ended_.iterations - (is_at_checkpoint ? 1 : 0);
  const Duration writing = job_->checkpoint_write * ended_.checkpoints;
  const AttemptAccount account{overhead_, writing, saved.work, ended_.work - back, {saved.iterations, {}}, {iterations, {}}};
  return {begin_ + ended_.work + writing - back, iterations, account};
}

}  // namespace weft
