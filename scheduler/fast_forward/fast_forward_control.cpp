// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fast_forward/fast_forward_control.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "scheduler/lifecycle/scheduler_events.hpp"

namespace weft {

FastForwardControl::FastForwardControl(std::uint64_t iterations, const std::vector<JobSpec>& jobs, JobStates& states,
                                       JobAccounts& accounts, AttemptMessages& messages, CoupledJobs* coupled,
                                       JobObserver* observer)
    : jobs_(jobs),
      states_(states),
      accounts_(accounts),
      messages_(messages),
      coupled_(coupled),
      observer_(observer),
      measured_(iterations, jobs.size()),
      sharers_(states.running(), jobs.size(), coupled),
      foldings_(jobs.size()) {}

void FastForwardControl::place(JobId job, const RunningJob& prepared) {
  if (coupled_ != nullptr) coupled_->add(job, {prepared.workload, prepared.collectives, prepared.endpoint_of_rank});
}

void FastForwardControl::launched(std::span<const JobId> jobs, EventContext& context) {
  if (!is_on()) return;
  for (const JobId job : jobs) measured_.start(job, accounts_.record(job).wait > Duration::zero());
  for (const JobId job : jobs) join(job, context);
}

void FastForwardControl::join(JobId job, EventContext& context) {
  sharers_.join(job);
  std::vector<JobId> others = sharers_.others_of(job);
  // Of jobs that are launched together, some may not have joined yet.
  std::erase_if(others, [this](JobId other) { return !sharers_.shares(other); });
  begin_epoch(others, context);
  measured_.begin_epoch(job, false);
}

void FastForwardControl::leave(JobId job, EventContext& context) {
  if (!sharers_.shares(job)) return;
  const std::vector<JobId> others = sharers_.others_of(job);
  sharers_.leave(job);
  begin_epoch(others, context);
}

void FastForwardControl::begin_epoch(std::span<const JobId> jobs, EventContext& context) {
  for (const JobId job : jobs) {
    const JobAttempt& attempt = states_.running(job);
    if (!attempt.is<JobAttempt::FastForwarded>()) {
      measured_.begin_epoch(job, true);
    } else if (!attempt.as<JobAttempt::FastForwarded>().resumes_at) {
      plan_resume(job, context);
    }
  }
}

void FastForwardControl::begin_epoch_of_all(EventContext& context) {
  for (const JobId job : states_.running()) {
    if (sharers_.shares(job)) begin_epoch(std::span(&job, 1), context);
  }
}

void FastForwardControl::note_data(std::int32_t more, EventContext& context) {
  data_under_way_ += static_cast<std::uint32_t>(more);
  if (is_on()) begin_epoch_of_all(context);
}

void FastForwardControl::fold(std::span<const JobId> jobs, EventContext& context) {
  if (coupled_ == nullptr) return;
  std::set<std::vector<JobId>> sets;
  for (const JobId job : jobs) sets.insert(coupled_->set_of(job));
  for (const std::vector<JobId>& set : sets) {
    const std::shared_ptr<const RankFolding> folding = coupled_->fold(set);
    for (std::size_t i = 0; i < set.size(); ++i) {
      const std::shared_ptr<const JobFolding>& of_job = foldings_[set[i].index()].emplace(
          folding == nullptr ? nullptr : std::shared_ptr<const JobFolding>(folding, &folding->of(i)));
      const JobAttempt& attempt = states_.running(set[i]);
      if (attempt.is<JobAttempt::Simulated>() && messages_.published(attempt).folding != of_job) change_folding(set[i], context);
    }
  }
}

void FastForwardControl::change_folding(JobId job, EventContext& context) {
  const std::optional<Duration> estimate = measured_.estimate(job);
  JobAttempt& attempt = states_.running(job);
  const Time told = context.now() + messages_.control_delay();
  if (estimate) {
    // An iteration that is overdue ends now.
    const Duration since = told - attempt.ranks()->landmark(*estimate).at;
    begin(job, std::max(*estimate, since), context);
    plan_resume(job, context);
    return;
  }
  const WorkloadProgress::Landmark first = attempt.ranks()->landmark(Duration::zero());
  messages_.stop(attempt, false, context);
  measured_.restart(job, told - first.at);
  RunningJob folded = messages_.published(attempt);
  folded.folding = folding_of(job);
  const RunningJob& published = messages_.publish(std::move(folded));
  attempt.simulate_anew(first, published, told);
  messages_.start_ranks(attempt, published, context);
}

void FastForwardControl::complete_iteration(JobId job, Duration period, Duration exposed) {
  if (is_on()) measured_.add(job, period, exposed);
}

void FastForwardControl::consider(JobId job, EventContext& context) {
  if (!is_on() || data_under_way_ > 0) return;
  std::vector<JobId> set = sharers_.others_of(job);
  set.push_back(job);
  Duration slowest;
  Duration first_left = Duration::max();
  for (const JobId one : set) {
    const JobAttempt& attempt = states_.running(one);
    if (attempt.is<JobAttempt::FastForwarded>() || !measured_.knows(one)) return;
    const Duration period = measured_.period(one);
    const auto all = static_cast<std::int64_t>(jobs_[one.index()].iterations);
    if (period == Duration::zero() || period > Duration::ticks(Duration::max().in_ticks() / all / 4)) return;
    const WorkloadProgress::Landmark landmark = attempt.ranks()->landmark(period);
    const Duration since = context.now() - landmark.at;
    // An iteration that is long overdue says that the job has become slower.
    if (since > period * 2 + attempt.checkpoints().write) return;
    slowest = std::max(slowest, period);
    first_left = std::min(first_left, period * (all - static_cast<std::int64_t>(landmark.iterations)) - since);
  }
  // Otherwise nothing would be left out.
  if (first_left <= slowest) return;
  measured_.note_jump();
  for (const JobId one : set) begin(one, measured_.period(one), context);
}

void FastForwardControl::begin(JobId job, Duration period, EventContext& context) {
  JobAttempt& attempt = states_.running(job);
  const JobSpec& spec = jobs_[job.index()];
  const WorkloadProgress::Landmark landmark = attempt.ranks()->landmark(period);
  messages_.stop(attempt, false, context);
  measured_.begin(job, period);
  const JobTimer timer = attempt.fast_forward(landmark, period, spec.iterations, context.now());
  const Duration control_delay = messages_.control_delay();
  const std::optional<Duration> held = attempt.model()->held();
  if (!held || *held > Time::max() - landmark.at - control_delay) fail_beyond_clock(spec, attempt.since());
  context.schedule(landmark.at + *held + control_delay - context.now(), EventClass::timer, job_ends, timer);
}

void FastForwardControl::plan_resume(JobId job, EventContext& context) {
  JobAttempt& attempt = states_.running(job);
  const ProgressModel& model = *attempt.model();
  const Duration ready = context.now() + messages_.control_delay() - attempt.part_since();
  if (ready >= model.held()) return;
  std::uint64_t next = model.at(ready).whole.iterations;
  while (next < jobs_[job.index()].iterations && model.begin_of(next) < ready) ++next;
  if (next == jobs_[job.index()].iterations) return;
  const Duration until = model.begin_of(next) - ready;
  context.schedule(until, EventClass::timer, job_resumes, attempt.plan_resume(next));
}

void FastForwardControl::resume(JobId job, EventContext& context) {
  JobAttempt& attempt = states_.running(job);
  const std::uint64_t next = attempt.as<JobAttempt::FastForwarded>().resumes_at.value();
  skip(job, next, context.now());
  if (coupled_ != nullptr && !foldings_[job.index()]) fold(std::span(&job, 1), context);
  RunningJob from_there = messages_.published(attempt);
  from_there.first_iteration = next;
  if (coupled_ != nullptr) from_there.folding = folding_of(job);
  const RunningJob& published = messages_.publish(std::move(from_there));
  attempt.resume(published);
  messages_.start_ranks(attempt, published, context);
  begin_epoch(sharers_.others_of(job), context);
  measured_.begin_epoch(job, false);
}

void FastForwardControl::skip(JobId job, std::uint64_t iterations, Time now) {
  const auto& forwarded = states_.running(job).as<JobAttempt::FastForwarded>();
  const std::uint64_t skipped = iterations - std::min(iterations, forwarded.simulated_up_to);
  const Duration exposed = measured_.skip(job, skipped);
  if (observer_ != nullptr) observer_->job_fast_forwarded(jobs_[job.index()], accounts_.record(job), forwarded.since, now);
  accounts_.add_exposed(job, exposed);
}

void FastForwardControl::close_open_attempts(Time now) {
  for (const JobId job : states_.running()) {
    const JobAttempt& attempt = states_.running(job);
    if (!attempt.is<JobAttempt::FastForwarded>() || !sharers_.shares(job)) continue;
    const std::uint64_t iterations = attempt.account(now).whole.iterations;
    accounts_.complete_iteration(job, iterations, Duration::zero());
    skip(job, iterations, now);
  }
}

void FastForwardControl::restore(JobId job, const RunningJob& prepared, const KnownPace& pace) {
  place(job, prepared);
  sharers_.join(job);
  measured_.resume(job, pace);
}

void FastForwardControl::doubt(JobId job, EventContext& context) {
  begin_epoch(std::span(&job, 1), context);
  begin_epoch(sharers_.others_of(job), context);
}

void FastForwardControl::restored(EventContext& context) {
  if (data_under_way_ > 0) begin_epoch_of_all(context);
}

}  // namespace weft
