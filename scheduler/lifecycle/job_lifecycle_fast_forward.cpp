// JobLifecycle: fast forward - when jobs are fast-forwarded, resumed and folded.
#include "scheduler/lifecycle/job_lifecycle.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/lifecycle/job_lifecycle_events.hpp"

namespace weft {

std::vector<JobId> JobLifecycle::others_of(JobId job) const {
  std::vector<JobId> others;
  if (settings_.wiring.coupled != nullptr) {
    others = settings_.wiring.coupled->set_of(job);
  } else {
    for (const JobId other : running_) {
      if (running_state_[other.index()]->is_among_others) others.push_back(other);
    }
  }
  std::erase(others, job);
  return others;
}

void JobLifecycle::join_others(JobId job, EventContext& context) {
  running_state_[job.index()]->is_among_others = true;
  std::vector<JobId> others = others_of(job);
  // Of those that are launched with it, some may not have joined yet.
  std::erase_if(others, [this](JobId other) { return !running_state_[other.index()]->is_among_others; });
  begin_epoch(others, context);
  fast_forward_.begin_epoch(job, false);
}

void JobLifecycle::leave_others(JobId job, EventContext& context) {
  Running& running = *running_state_[job.index()];
  if (!running.is_among_others) return;
  const std::vector<JobId> others = others_of(job);
  running.is_among_others = false;
  if (settings_.wiring.coupled != nullptr) settings_.wiring.coupled->remove(job);
  begin_epoch(others, context);
}

void JobLifecycle::begin_epoch(std::span<const JobId> jobs, EventContext& context) {
  for (const JobId job : jobs) {
    if (!is_fast_forwarded(job)) {
      fast_forward_.begin_epoch(job, true);
      running_state_[job.index()]->exposed_is_old = true;
    } else if (!running_state_[job.index()]->lands_at) {
      plan_resume(job, context);
    }
  }
}

void JobLifecycle::begin_epoch_of_all(EventContext& context) {
  for (const JobId job : running_) {
    if (running_state_[job.index()]->is_among_others) begin_epoch(std::span(&job, 1), context);
  }
}

void JobLifecycle::fold(std::span<const JobId> jobs, EventContext& context) {
  const CoupledJobs& coupled = *settings_.wiring.coupled;
  std::set<std::vector<JobId>> sets;
  for (const JobId job : jobs) sets.insert(coupled.set_of(job));
  for (const std::vector<JobId>& set : sets) {
    const std::shared_ptr<const RankFolding> folding = coupled.fold(set);
    for (std::size_t i = 0; i < set.size(); ++i) {
      Running& running = *running_state_[set[i].index()];
      running.is_folding_known = true;
      running.folding = folding == nullptr ? nullptr : std::shared_ptr<const JobFolding>(folding, &folding->of(i));
      if (running.ranks != nullptr && settings_.wiring.jobs->at(running.attempt).folding != running.folding)
        change_folding(set[i], context);
    }
  }
}

void JobLifecycle::change_folding(JobId job, EventContext& context) {
  const std::optional<Duration> estimate = fast_forward_.estimate(job);
  Running& running = *running_state_[job.index()];
  if (estimate) {
    // An iteration that is overdue ends now.
    const Duration since = context.now() + settings_.control_delay - running.ranks->landmark(*estimate).at;
    begin_fast_forward(job, std::max(*estimate, since), context);
    plan_resume(job, context);
    return;
  }
  const WorkloadProgress::Landmark begin = running.ranks->landmark(Duration::zero());
  stop_attempt(job, false, context);
  fast_forward_.restart(job, context.now() + settings_.control_delay - begin.at);
  running.past = running.past.followed_by(begin.account);
  ++running.parts;
  running.part_since = context.now() + settings_.control_delay;
  RunningJob attempt = settings_.wiring.jobs->at(running.attempt);
  attempt.folding = running.folding;
  publish(job, std::move(attempt), running.part_since, context);
}

void JobLifecycle::consider_fast_forward(JobId job, EventContext& context) {
  if (!fast_forward_.is_on() || data_under_way_ > 0) return;
  std::vector<JobId> set = others_of(job);
  set.push_back(job);
  Duration slowest;
  Duration first_left = Duration::max();
  for (const JobId one : set) {
    if (is_fast_forwarded(one) || !fast_forward_.knows(one)) return;
    const Duration period = fast_forward_.period(one);
    const auto all = static_cast<std::int64_t>(jobs_[one.index()].iterations);
    if (period == Duration::zero() || period > Duration::ticks(Duration::max().in_ticks() / all / 4)) return;
    const WorkloadProgress::Landmark landmark = running_state_[one.index()]->ranks->landmark(period);
    const Duration since = context.now() - landmark.at;
    // An iteration that is long overdue says that the job has become slower.
    if (since > period * 2 + running_state_[one.index()]->checkpoints.write) return;
    slowest = std::max(slowest, period);
    first_left = std::min(first_left, period * (all - static_cast<std::int64_t>(landmark.iterations)) - since);
  }
  // Otherwise nothing would be left out.
  if (first_left <= slowest) return;
  fast_forward_.note_jump();
  for (const JobId one : set) begin_fast_forward(one, fast_forward_.period(one), context);
}

void JobLifecycle::begin_fast_forward(JobId job, Duration period, EventContext& context) {
  Running& running = *running_state_[job.index()];
  const JobSpec& spec = jobs_[job.index()];
  const WorkloadProgress::Landmark landmark = running.ranks->landmark(period);
  stop_attempt(job, false, context);
  fast_forward_.begin(job, period);
  running.simulated_up_to = running.ranks->tally().completed();
  running.fast_forwards_since = context.now();
  running.past = running.past.followed_by(landmark.account);
  running.part_since = landmark.at;
  running.ranks.reset();
  ++running.parts;
  const ProgressModel& progress =
      running.progress.emplace(period * static_cast<std::int64_t>(spec.iterations), spec.iterations,
                               KeptWork{landmark.iterations, {}}, Duration::zero(), running.checkpoints);
  const std::optional<Duration> held = progress.held();
  if (!held || *held > Time::max() - landmark.at - settings_.control_delay) fail_beyond_clock(spec, running.since);
  context.schedule(landmark.at + *held + settings_.control_delay - context.now(), EventClass::timer, job_ends,
                   SchedulerTimer{job, records_[job.index()].restarts, running.parts});
}

void JobLifecycle::plan_resume(JobId job, EventContext& context) {
  Running& running = *running_state_[job.index()];
  const ProgressModel& progress = *running.progress;
  const Duration ready = context.now() + settings_.control_delay - running.part_since;
  if (ready >= progress.held()) return;
  std::uint64_t next = progress.at(ready).whole.iterations;
  while (next < jobs_[job.index()].iterations && progress.begin_of(next) < ready) ++next;
  if (next == jobs_[job.index()].iterations) return;
  running.lands_at = next;
  ++running.parts;
  context.schedule(progress.begin_of(next) - ready, EventClass::timer, job_lands,
                   SchedulerTimer{job, records_[job.index()].restarts, running.parts});
}

void JobLifecycle::resume_simulation(JobId job, EventContext& context) {
  Running& running = *running_state_[job.index()];
  const std::uint64_t next = *running.lands_at;
  note_skipped(job, next, context.now());
  const Duration begin = running.progress->begin_of(next);
  running.past = running.past.followed_by(running.progress->account(begin));
  running.part_since += begin;
  running.progress.reset();
  running.lands_at.reset();
  running.exposed_is_old = true;
  if (settings_.wiring.coupled != nullptr && !running.is_folding_known) fold(std::span(&job, 1), context);
  RunningJob attempt = settings_.wiring.jobs->at(running.attempt);
  attempt.first_iteration = next;
  if (settings_.wiring.coupled != nullptr) attempt.folding = running.folding;
  publish(job, std::move(attempt), running.part_since, context);
  begin_epoch(others_of(job), context);
  fast_forward_.begin_epoch(job, false);
}

void JobLifecycle::note_skipped(JobId job, std::uint64_t iterations, Time now) {
  const Running& running = *running_state_[job.index()];
  const std::uint64_t skipped = iterations - std::min(iterations, running.simulated_up_to);
  fast_forward_.skip(job, skipped);
  if (settings_.observer != nullptr)
    settings_.observer->job_fast_forwarded(jobs_[job.index()], records_[job.index()], running.fast_forwards_since, now);
  if (running.iterations == 0) return;
  records_[job.index()].exposed_communication += scaled(running.exposed, skipped, running.iterations);
}

}  // namespace weft
