// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_accounts.hpp"

#include "core/check.hpp"

namespace weft {
namespace {

/// By more than rounding may have moved what is kept, on the scale of other GPUs.
bool is_more(const KeptWork& kept, const KeptWork& before) {
  return kept.iterations > before.iterations || kept.work > before.work + Duration::us(1);
}

}  // namespace

JobAccounts::JobAccounts(const std::vector<JobSpec>& jobs, const ClusterState& cluster, const JobStates& states,
                         JobObserver* observer, Time begin)
    : jobs_(jobs), cluster_(cluster), states_(states), records_(jobs.size()), progress_(jobs.size()), usage_(observer, begin) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    records_[i].id = JobId(static_cast<std::uint32_t>(i));
    records_[i].gpus = jobs[i].gpus;
    records_[i].submit = jobs[i].submit;
    if (jobs[i].workload == nullptr) records_[i].iterations = jobs[i].iterations;
  }
  if (!jobs.empty()) counters_.first_submit = jobs.front().submit;
}

void JobAccounts::arrive(JobId job, Time now) {
  waiting_gpus_ += jobs_[job.index()].gpus;
  progress_[job.index()].queued = now;
  ++counters_.arrived;
}

void JobAccounts::start(JobId job, const Placement& placement, Time now) {
  const JobSpec& spec = jobs_[job.index()];
  JobRecord& record = records_[job.index()];
  waiting_gpus_ -= spec.gpus;
  ++counters_.started;
  if (record.start) {
    ++record.restarts;
    if (placement.gpus.size() < spec.gpus) {
      ++record.elastic_restarts;
      ++counters_.elastic_restarts;
    }
  } else {
    record.start = now;
    if (is_steady_) {
      ++counters_.steady->starts;
      counters_.steady->mean_wait_s += (now - progress_[job.index()].queued).in_s();
    }
  }
  record.last_start = now;
  record.wait += now - progress_[job.index()].queued;
  record.placement = cluster_.to_text(placement);
}

void JobAccounts::complete_iteration(JobId job, std::uint64_t completed, Duration exposed_communication) {
  records_[job.index()].iterations = completed;
  add_exposed(job, exposed_communication);
}

void JobAccounts::preempt(JobId job) {
  ++records_[job.index()].preemptions;
  ++counters_.preempted;
}

void JobAccounts::move(JobId job) {
  ++records_[job.index()].moves;
  ++counters_.moved;
}

AttemptAccount JobAccounts::charge(const JobAttempt& attempt, Time now) {
  JobRecord& record = records_[attempt.job().index()];
  record.run += now - attempt.since();
  record.run_whole += attempt.of_all_gpus(now - attempt.since());
  const AttemptAccount result = attempt.account(now);
  record.overhead += attempt.of_all_gpus(result.overhead);
  record.checkpointing += attempt.of_all_gpus(result.writing);
  return result;
}

bool JobAccounts::leave(const JobAttempt& attempt, Time now, AttemptEnd why) {
  const JobId job = attempt.job();
  JobRecord& record = records_[job.index()];
  Progress& progress = progress_[job.index()];
  const AttemptAccount account = charge(attempt, now);
  const Time until = attempt.got_on_until(now);
  const KeptWork kept_before = progress.kept;
  // Of the time up to then, what neither counts nor went into overhead and checkpoints.
  const auto lost = [&](Time end, Duration work) {
    return attempt.of_all_gpus(std::max(Duration::zero(), end - attempt.since() - account.overhead - account.writing - work));
  };
  Duration work = account.work;
  switch (why) {
    case AttemptEnd::ended:
      work = account.work_whole;
      break;
    case AttemptEnd::preempted:
      progress.kept = attempt.on_common_scale(account.kept);
      (attempt.is<JobAttempt::Failed>() ? record.lost_to_failures : record.lost_to_preemptions) += lost(now, account.work);
      break;
    case AttemptEnd::cancelled:
      progress.kept = attempt.on_common_scale(account.kept);
      break;
    case AttemptEnd::failed:
      progress.kept = attempt.on_common_scale(account.kept);
      record.lost_to_failures += lost(now, account.work);
      break;
    case AttemptEnd::moved:
      progress.kept = attempt.on_common_scale(account.whole);
      work = account.work_whole;
      record.checkpointing += attempt.of_all_gpus(now - until);
      record.lost_to_moves += lost(until, account.work_whole);
      break;
    case AttemptEnd::running:
      WEFT_CHECK(false, "an attempt that is left has an end");
  }
  if (jobs_[job.index()].workload != nullptr) {
    progress.iterating += work;
    if (why != AttemptEnd::ended) record.iterations = progress.kept.iterations;
  }
  const bool is_over = why == AttemptEnd::ended || why == AttemptEnd::cancelled;
  if (is_over) counters_.last_end = now;
  return is_over || is_more(progress.kept, kept_before);
}

bool JobAccounts::would_keep_more(const JobAttempt& attempt, Time now) const {
  return is_more(attempt.on_common_scale(attempt.account(now).kept), kept(attempt.job()));
}

void JobAccounts::wait_again(JobId job, Time now) {
  waiting_gpus_ += jobs_[job.index()].gpus;
  progress_[job.index()].queued = now;
}

void JobAccounts::end(JobId job, bool counts_all) {
  JobRecord& record = records_[job.index()];
  if (counts_all) record.iterations = jobs_[job.index()].iterations;
  if (jobs_[job.index()].workload != nullptr) {
    const auto count = static_cast<std::int64_t>(record.iterations);
    record.mean_iteration = Duration::ticks((progress_[job.index()].iterating.in_ticks() + count / 2) / count);
  } else if (record.iterations > 0) {
    record.mean_iteration = Duration::from_seconds(record.useful().in_s() / static_cast<double>(record.iterations));
  }
  ++counters_.finished;
}

void JobAccounts::leave_queue(JobId job, Time now) {
  waiting_gpus_ -= jobs_[job.index()].gpus;
  records_[job.index()].wait += now - progress_[job.index()].queued;
}

void JobAccounts::cancel(JobId job, Time now) {
  JobRecord& record = records_[job.index()];
  record.lost_to_cancellation = record.useful();
  record.cancelled = now;
  ++counters_.cancelled;
}

void JobAccounts::restore(JobId job, const ClusterSnapshot::Job& from) {
  ++counters_.arrived;
  records_[job.index()] = from.record;
  records_[job.index()].id = job;
  progress_[job.index()] = {from.kept, from.iterating, from.queued};
  if (from.state == ClusterSnapshot::State::ended) ++(from.record.cancelled ? counters_.cancelled : counters_.finished);
  if (from.state == ClusterSnapshot::State::waits) waiting_gpus_ += jobs_[job.index()].gpus;
  if (from.state == ClusterSnapshot::State::runs) ++counters_.started;
}

void JobAccounts::count_pass() {
  ++counters_.passes;
  counters_.queue_length_max = std::max<std::uint64_t>(counters_.queue_length_max, states_.queue().size());
  counters_.gpus_busy_max = std::max(counters_.gpus_busy_max, cluster_.held_gpus());
}

void JobAccounts::begin_steady(Time now) {
  is_steady_ = true;
  counters_.steady = SteadyState{now, now, 0, 0, -usage_.stranded_gpu_s(), -usage_.busy_gpu_s()};
}

void JobAccounts::end_steady(Time now) {
  is_steady_ = false;
  SteadyState& steady = *counters_.steady;
  steady.until = now;
  const double length_s = (now - steady.from).in_s();
  if (length_s == 0) return counters_.steady.reset();
  steady.stranded_gpus = (steady.stranded_gpus + usage_.stranded_gpu_s()) / length_s;
  steady.busy_gpus = (steady.busy_gpus + usage_.busy_gpu_s()) / length_s;
  steady.mean_wait_s /= static_cast<double>(std::max<std::uint64_t>(steady.starts, 1));
}

void JobAccounts::advance(Time now) {
  if (now > usage_.up_to()) usage_.advance(now, sample());
}

ClusterSample JobAccounts::sample() const {
  ClusterSample sample;
  sample.since = usage_.up_to();
  sample.running_jobs = states_.running().size();
  sample.waiting_jobs = states_.queue().size();
  sample.waiting_gpus = waiting_gpus_;
  sample.free_gpus = cluster_.free_gpus();
  sample.busy_gpus = cluster_.held_gpus();
  sample.fragmented_gpus = cluster_.fragmented_gpus();
  sample.gpus_out = cluster_.gpu_count() - cluster_.held_gpus() - cluster_.free_gpus();
  sample.draining_gpus = cluster_.gpu_count() - cluster_.gpus_in_service() - sample.gpus_out;
  return sample;
}

void JobAccounts::close_open_attempts(Time now) {
  for (const JobId job : states_.queue()) records_[job.index()].wait += now - progress_[job.index()].queued;
  for (const JobId job : states_.running()) {
    const JobAttempt& attempt = states_.running(job);
    JobRecord& record = records_[job.index()];
    charge(attempt, now);
    // It has failed, or writes a checkpoint to move.
    const Duration stands_still = attempt.of_all_gpus(now - attempt.got_on_until(now));
    (attempt.is<JobAttempt::Failed>() ? record.lost_to_failures : record.checkpointing) += stands_still;
  }
}

JobCounters JobAccounts::counters() const {
  JobCounters result = counters_;
  if (is_steady_) result.steady.reset();
  result.busy_gpu_s = usage_.busy_gpu_s();
  result.stranded_gpu_s = usage_.stranded_gpu_s();
  result.out_gpu_s = usage_.out_gpu_s();
  result.draining_gpu_s = usage_.draining_gpu_s();
  result.gpus_busy_mean = usage_.gpus_busy_mean();
  result.queue_length_mean = usage_.queue_length_mean();
  double useful_gpu_s = 0;
  double started_gpu_s = 0;
  for (const JobRecord& record : records_) {
    result.lost_to_preemptions_gpu_s += record.lost_to_preemptions.in_s() * record.gpus;
    result.lost_to_failures_gpu_s += record.lost_to_failures.in_s() * record.gpus;
    result.lost_to_moves_gpu_s += record.lost_to_moves.in_s() * record.gpus;
    result.lost_to_cancellations_gpu_s += record.lost_to_cancellation.in_s() * record.gpus;
    result.overhead_gpu_s += record.overhead.in_s() * record.gpus;
    result.checkpointing_gpu_s += record.checkpointing.in_s() * record.gpus;
    if (!record.end) continue;
    useful_gpu_s += record.useful().in_s() * record.gpus;
    started_gpu_s += (*record.end - *record.start).in_s() * record.gpus;
  }
  if (started_gpu_s > 0) result.effective_time_ratio = useful_gpu_s / started_gpu_s;
  return result;
}

}  // namespace weft
