// JobLifecycle: the state of the cluster as a snapshot, and going on from one.
#include "scheduler/lifecycle/job_lifecycle.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/lifecycle/job_lifecycle_events.hpp"

namespace weft {

ClusterSnapshot JobLifecycle::snapshot(Time now) const {
  ClusterSnapshot result;
  result.at = now;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const JobId id(static_cast<std::uint32_t>(i));
    ClusterSnapshot::Job& job = result.jobs.emplace_back();
    const Running* const running = running_state_[i].get();
    const Progress& progress = progress_[i];
    job.record = records_[i];
    job.kept = progress.kept;
    job.iterating = progress.iterating;
    job.queued = progress.queued;
    job.priority = jobs_[i].priority;
    if (fast_forward_.is_on() && jobs_[i].workload != nullptr) job.iteration_time = fast_forward_.estimate(id);
    if (job.record.end || job.record.cancelled) {
      job.state = ClusterSnapshot::State::ended;
    } else if (running == nullptr) {
      job.state = queue_.contains(id) ? ClusterSnapshot::State::waits : ClusterSnapshot::State::not_arrived;
    } else if (running->failed_at || running->moves_since) {
      job.state = ClusterSnapshot::State::waits;
      // Who writes a checkpoint to move has written it.
      const AttemptAccount so_far = account(*running, got_on_until(*running, now));
      job.kept = kept_of(id, running->failed_at ? so_far.kept : so_far.whole);
      job.queued = now;
    } else {
      job.state = ClusterSnapshot::State::runs;
      job.placement = running->placement;
      job.since = running->since;
      job.part_since = running->part_since;
      job.past = running->past;
      job.fetches = running->under_way > 0;
      if (running->progress) {
        const Duration last_report = jobs_[i].workload == nullptr ? Duration::zero() : settings_.control_delay;
        const std::optional<Duration> held = running->progress->held();
        if (held) job.expected_end = running->part_since + *held + last_report;
      }
      if (is_fast_forwarded(id)) {
        job.pace = fast_forward_.pace(id);
      } else if (running->ranks != nullptr) {
        const WorkloadProgress::Landmark landmark = running->ranks->landmark(Duration::zero());
        job.past = running->past.followed_by(landmark.account);
        job.part_since = landmark.at;
      }
    }
  }
  for (std::uint32_t gpu = 0; gpu < cluster_.gpu_count(); ++gpu) {
    if (!cluster_.is_in_service(GpuSlot(gpu))) result.out_of_service.emplace_back(gpu);
  }
  if (network_) result.slow_cables = network_->lasting();
  return result;
}

void JobLifecycle::go_on_from_snapshot(EventContext& context) {
  const ClusterSnapshot& from = *settings_.from;
  for (const ScriptedEvent& event : settings_.events) {
    if (event.at <= from.at && event.kind == ScriptedEvent::Kind::set) change_settings(settings_.changes[changes_done_++], context);
  }
  std::map<HostId, std::vector<GpuSlot>> out;
  for (const GpuSlot gpu : from.out_of_service) out[cluster_.host_of(gpu)].push_back(gpu);
  for (const auto& [host, gpus] : out) fleet_->take_out(gpus);
  std::vector<JobId> running;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const JobId id(static_cast<std::uint32_t>(i));
    const ClusterSnapshot::Job& job = from.jobs[i];
    if (job.state == ClusterSnapshot::State::not_arrived) continue;
    ++counters_.arrived;
    jobs_[i].priority = job.priority;
    records_[i] = job.record;
    records_[i].id = id;
    progress_[i] = {job.kept, job.iterating, job.queued};
    if (job.state == ClusterSnapshot::State::ended) {
      ++(job.record.cancelled ? counters_.cancelled : counters_.finished);
    } else if (job.state == ClusterSnapshot::State::waits) {
      queue_.insert(id);
      arrived_.push_back(id);
      waiting_gpus_ += jobs_[i].gpus;
    } else {
      running.push_back(id);
    }
  }
  std::stable_sort(running.begin(), running.end(),
                   [&](JobId a, JobId b) { return from.jobs[a.index()].since < from.jobs[b.index()].since; });
  for (const JobId id : running) go_on_running(id, context);
  for (const JobId id : running) {
    if (!from.jobs[id.index()].is_pace_old || !is_fast_forwarded(id)) continue;
    begin_epoch(std::span(&id, 1), context);
    begin_epoch(others_of(id), context);
  }
  if (data_under_way_ > 0) begin_epoch_of_all(context);
  launch(context);
  request_pass(context);
}

void JobLifecycle::go_on_running(JobId id, EventContext& context) {
  const ClusterSnapshot::Job& job = settings_.from->jobs[id.index()];
  const JobSpec& spec = jobs_[id.index()];
  cluster_.take(id, job.placement);
  running_.push_back(id);
  ++counters_.started;
  Running& running = begin_attempt(id, job.placement, job.since, job.kept);
  running.part_since = job.part_since;
  // Who starts just now goes on from what it has kept.
  if (job.since < settings_.from->at) running.past = job.past;
  const SchedulerTimer timer{id, records_[id.index()].restarts, 1};
  if (spec.workload == nullptr) {
    running.start_overhead = overhead_of_start(id);
    const ProgressModel& progress = running.progress.emplace(duration_of(id), records_[id.index()].iterations, running.past.kept,
                                                             running.start_overhead, settings_.checkpoints);
    running.parts = 1;
    context.schedule(std::max(Duration::zero(), job.since + progress.held().value() - context.now()), EventClass::timer, job_ends,
                     timer);
    return;
  }
  const Duration overhead_left = job.since + settings_.start_overhead - context.now();
  if (!job.pace && overhead_left > Duration::zero()) {
    context.schedule(overhead_left, EventClass::timer, ranks_begin, SchedulerTimer{id, records_[id.index()].restarts});
    return;
  }
  if (job.fetches && fetch_data(id, context)) return;
  running.parts = 1;
  if (!job.pace) {
    running.part_since = context.now() + settings_.control_delay;
    launching_.push_back(id);
    return;
  }
  const SchedulerWiring& wiring = settings_.wiring;
  RunningJob attempt = attempt_of(id, job.past.whole.iterations);
  if (wiring.prepare) wiring.prepare(attempt);
  if (wiring.coupled != nullptr) wiring.coupled->add(id, {attempt.workload, attempt.collectives, attempt.endpoint_of_rank});
  attempt.attempt = wiring.jobs->next();
  running.attempt = attempt.attempt;
  wiring.jobs->publish(std::move(attempt));
  running.is_among_others = true;
  running.simulated_up_to = job.past.whole.iterations;
  running.fast_forwards_since = context.now();
  fast_forward_.resume(id, *job.pace);
  const ProgressModel& progress =
      running.progress.emplace(job.pace->period * static_cast<std::int64_t>(spec.iterations), spec.iterations,
                               KeptWork{job.past.whole.iterations, {}}, Duration::zero(), settings_.checkpoints);
  context.schedule(std::max(Duration::zero(), job.part_since + progress.held().value() + settings_.control_delay - context.now()),
                   EventClass::timer, job_ends, timer);
}

}  // namespace weft
