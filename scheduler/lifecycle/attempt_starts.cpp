// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/attempt_starts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace weft {

AttemptStarts::AttemptStarts(const std::vector<JobSpec>& jobs, const ClusterState& cluster, JobStates& states,
                             JobAccounts& accounts, AttemptMessages& messages, FastForwardControl& fast_forward,
                             const SchedulerWiring& wiring, const StorageSettings& storage, const HostSpeeds* speeds,
                             std::uint64_t seed)
    : jobs_(jobs),
      cluster_(cluster),
      states_(states),
      accounts_(accounts),
      messages_(messages),
      fast_forward_(fast_forward),
      wiring_(wiring),
      storage_(storage),
      speeds_(speeds),
      seed_(seed) {}

double AttemptStarts::speed_on(const Placement& placement, Time since) const {
  if (speeds_ == nullptr) return 1;
  double slowest = std::numeric_limits<double>::infinity();
  HostId last = HostId::none();
  for (const GpuSlot gpu : placement.gpus) {
    const HostId host = cluster_.host_of(gpu);
    if (host != last) slowest = std::min(slowest, speeds_->at(host, since));
    last = host;
  }
  return slowest;
}

JobAttempt& AttemptStarts::begin_attempt(JobId job, Placement placement, Time since, const StartTerms& terms) {
  const JobSpec& spec = jobs_[job.index()];
  double speed = 1;
  if (spec.workload == nullptr) {
    const double share = spec.compute_share.value_or(1);
    speed = 1 / (1 - share + share / speed_on(placement, since));
  }
  const JobAttempt::Terms of_attempt{job, spec.gpus, accounts_.record(job).restarts, speed, terms.overhead, terms.checkpoints};
  return states_.start(of_attempt, std::move(placement), since, accounts_.kept(job));
}

Duration AttemptStarts::overhead_of(const JobAttempt& attempt) const {
  const Duration fetching = fetching_time(messages_.data_to_fetch(attempt, accounts_.kept(attempt.job())), storage_);
  const Duration overhead = attempt.start_overhead();
  return fetching < Duration::max() - overhead ? overhead + fetching : Duration::max();
}

Duration AttemptStarts::duration_of(const JobAttempt& attempt) const {
  const JobSpec& spec = jobs_[attempt.job().index()];
  // Times of placements are measured on all GPUs.
  if (spec.iteration_times == nullptr || attempt.gpus() < spec.gpus)
    return attempt.time_for(spec.duration.sample(seed_, attempt.job()));
  std::map<HostId, std::uint32_t> gpus_of_host;
  for (const GpuSlot gpu : attempt.placement().gpus) ++gpus_of_host[cluster_.host_of(gpu)];
  std::vector<std::uint32_t> gpus;
  for (const auto& [host, count] : gpus_of_host) gpus.push_back(count);
  return attempt.time_for(spec.iteration_times->of(gpus) * static_cast<std::int64_t>(spec.iterations));
}

void AttemptStarts::start(JobId job, Placement placement, const StartTerms& terms, EventContext& context) {
  const JobSpec& spec = jobs_[job.index()];
  JobAttempt& attempt = begin_attempt(job, std::move(placement), context.now(), terms);
  if (spec.workload == nullptr) {
    const JobTimer timer = attempt.run_by_model(duration_of(attempt), accounts_.record(job).iterations, overhead_of(attempt));
    const std::optional<Duration> held = attempt.model()->held();
    if (!held || *held >= Time::max() - context.now()) fail_beyond_clock(spec, context.now());
    context.schedule(*held, EventClass::timer, job_ends, timer);
  } else if (terms.overhead == Duration::zero()) {
    if (!fetch_data(attempt, context)) launching_.push_back(job);
  } else if (terms.overhead < Time::max() - context.now()) {
    context.schedule(terms.overhead, EventClass::timer, ranks_begin, attempt.await_ranks());
  }
}

bool AttemptStarts::fetch_data(JobAttempt& attempt, EventContext& context) {
  const KeptWork& kept = accounts_.kept(attempt.job());
  const std::vector<RankData> data = messages_.data_to_fetch(attempt, kept);
  if (data.empty()) return false;
  messages_.fetch(attempt, kept, data, context);
  fast_forward_.note_data(1, context);
  return true;
}

void AttemptStarts::begin_ranks(JobId job, EventContext& context) {
  if (!fetch_data(states_.running(job), context)) launch_this_instant(job, context);
}

void AttemptStarts::launch_this_instant(JobId job, EventContext& context) {
  launching_.push_back(job);
  if (launching_.size() == 1) context.schedule(Duration::zero(), EventClass::settle, launch_ranks);
}

bool AttemptStarts::launch(EventContext& context) {
  if (launching_.empty()) return true;
  const std::vector<JobId> jobs = std::exchange(launching_, {});
  std::vector<RunningJob> prepared;
  for (const JobId job : jobs) {
    const JobAttempt& attempt = states_.running(job);
    const auto ahead = static_cast<std::uint32_t>(prepared.size());
    fast_forward_.place(job, prepared.emplace_back(messages_.prepare(attempt, attempt.past().whole.iterations, ahead)));
  }
  if (wiring_.after_launch && !wiring_.after_launch()) return false;
  fast_forward_.fold(jobs, context);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    JobAttempt& attempt = states_.running(jobs[i]);
    if (fast_forward_.folds()) prepared[i].folding = fast_forward_.folding_of(jobs[i]);
    const RunningJob& published = messages_.publish(std::move(prepared[i]));
    attempt.simulate(published, context.now() + messages_.control_delay(), messages_.control_delay());
    messages_.start_ranks(attempt, published, context);
  }
  fast_forward_.launched(jobs, context);
  return true;
}

void AttemptStarts::restore(JobId job, const ClusterSnapshot::Job& from, Time at, const StartTerms& terms, EventContext& context) {
  const JobSpec& spec = jobs_[job.index()];
  JobAttempt& attempt = begin_attempt(job, from.placement, from.since, terms);
  // A job that starts just now goes on from what it has kept.
  attempt.restore(from.part_since, from.since < at ? std::optional(from.past) : std::nullopt);
  if (spec.workload == nullptr) {
    attempt.begin_later_part(from.part_since);
    const JobTimer timer = attempt.run_by_model(duration_of(attempt), accounts_.record(job).iterations, overhead_of(attempt));
    const Time end = from.since + attempt.model()->held().value();
    context.schedule(std::max(Duration::zero(), end - context.now()), EventClass::timer, job_ends, timer);
    return;
  }
  const Duration overhead_left = from.since + terms.overhead - context.now();
  if (!from.pace && overhead_left > Duration::zero()) {
    context.schedule(overhead_left, EventClass::timer, ranks_begin, attempt.await_ranks());
    return;
  }
  if (from.fetches && fetch_data(attempt, context)) return;
  if (!from.pace) {
    attempt.begin_later_part(context.now() + messages_.control_delay());
    launching_.push_back(job);
    return;
  }
  attempt.begin_later_part(from.part_since);
  RunningJob prepared = messages_.prepare(attempt, from.past.whole.iterations, 0);
  fast_forward_.restore(job, prepared, *from.pace);
  const AttemptId published = messages_.publish(std::move(prepared)).attempt;
  const JobTimer timer = attempt.restore_fast_forward(published, from.pace->period, spec.iterations, context.now());
  const Time end = from.part_since + attempt.model()->held().value() + messages_.control_delay();
  context.schedule(std::max(Duration::zero(), end - context.now()), EventClass::timer, job_ends, timer);
}

}  // namespace weft
