// JobLifecycle: what fails, what is drained, and what comes back.
#include "scheduler/lifecycle/job_lifecycle.hpp"

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/lifecycle/job_lifecycle_events.hpp"

namespace weft {

void JobLifecycle::schedule_next_failure(EventContext& context) {
  next_failure_ = failures_->next();
  if (next_failure_ != Time::max()) context.schedule(next_failure_ - context.now(), EventClass::timer, parts_fail);
}

void JobLifecycle::fail_parts(EventContext& context) {
  while (failures_->next() <= context.now()) fail_part(failures_->take(), context);
  schedule_next_failure(context);
}

std::map<HostId, std::vector<GpuSlot>> JobLifecycle::by_host(std::span<const GpuSlot> gpus) const {
  std::map<HostId, std::vector<GpuSlot>> result;
  for (const GpuSlot gpu : gpus) result[cluster_.host_of(gpu)].push_back(gpu);
  return result;
}

void JobLifecycle::change_cables(std::span<const CableShare> cables, EventContext& context) {
  if (cables.empty() || !settings_.wiring.tell_of_cable) return;
  for (const CableShare& change : cables)
    settings_.wiring.tell_of_cable(change.cable, change.share, settings_.control_delay, context);
  if (!fast_forward_.is_on()) return;
  // What ended before it is reported by then, and what is under way counts for neither. Ways may change once more.
  const Duration reported = settings_.control_delay * 2;
  context.schedule(reported, EventClass::timer, speeds_change);
  // In packet mode nodes hear of other ways as late as of cables.
  if (settings_.failures.reroute > Duration::zero())
    context.schedule(reported + settings_.control_delay + settings_.failures.reroute, EventClass::timer, speeds_change);
}

bool JobLifecycle::has_done_all(JobId job, Time now) const {
  const Running& running = *running_state_[job.index()];
  // Of a job that is fast-forwarded the report is on its way for a message longer.
  return running.progress && !running.moves_since && !running.failed_at && now - running.part_since >= running.progress->held();
}

void JobLifecycle::fail_part(const Failure& failure, EventContext& context) {
  const auto number = static_cast<std::uint32_t>(outages_.size());
  Outage& outage = outages_.emplace_back(Outage{failure});
  ++(failure.fault == Fault::flaps ? counters_.flaps : counters_.failures);
  if (is_of_network(failure.part.kind)) {
    const NetworkService::Changes changes = network_->fail(failure);
    outage.gpus = changes.cut_off;
    change_cables(changes.cables, context);
    for (const auto& [host, gpus] : by_host(changes.connected)) bring_back(gpus, context);
  } else {
    outage.gpus = gpus_without(failure.part, settings_.failures.scope, cluster_);
  }
  for (const auto& [host, gpus] : by_host(outage.gpus)) fleet_->take_out(gpus);
  for (const GpuSlot gpu : outage.gpus) {
    const JobId holder = cluster_.holder(gpu);
    if (holder.is_none() || running_state_[holder.index()]->failed_at || has_done_all(holder, context.now())) continue;
    halt(holder, context);
    running_state_[holder.index()]->failed_at = context.now();
    ++records_[holder.index()].failures;
  }
  // A flap is over before anybody looks.
  const Duration detection = failure.fault == Fault::flaps ? Duration::zero() : settings_.failures.detection;
  if (detection > Time::max() - context.now()) return progress_watch_.part_fails();
  if (failure.fault != Fault::flaps) context.schedule(detection, EventClass::timer, failure_detected, OutageTimer{number});
  if (failure.repair < Time::max() - context.now() - detection) {
    progress_watch_.expects(context.now() + detection + failure.repair);
    context.schedule(detection + failure.repair, EventClass::timer, part_works, OutageTimer{number});
  }
  progress_watch_.part_fails();
}

HostId JobLifecycle::host_with(const Part& part) const {
  return is_of_network(part.kind) ? HostId::none() : host_of(part, cluster_);
}

void JobLifecycle::detect_failure(std::uint32_t outage, EventContext& context) {
  const Outage& detected = outages_[outage];
  tell({ClusterEvent::Kind::part_failed, JobId::none(), host_with(detected.failure.part), detected.failure.part});
  for (const GpuSlot gpu : detected.gpus) {
    const JobId holder = cluster_.holder(gpu);
    // Who got the GPU since the failure, and has failed, has done so for another.
    if (holder.is_none() || !running_state_[holder.index()]->failed_at ||
        *running_state_[holder.index()]->failed_at > detected.failure.at)
      continue;
    send_back(holder, Leaving::has_failed, context.now());
  }
  for (const auto& [host, gpus] : by_host(detected.gpus)) {
    // Another part that works again may have connected them by now.
    if (!is_of_network(detected.failure.part.kind) || network_->is_cut_off(gpus.front())) fleet_->report(host);
  }
  call_spares(context);
  request_pass(context);
}

void JobLifecycle::call_spares(EventContext& context) {
  while (const std::optional<Fleet::StandIn> stand_in = fleet_->find_stand_in()) {
    const Duration until = stand_in->kind == Fleet::Spare::cold ? settings_.failures.cold_start : Duration::zero();
    if (until >= Time::max() - context.now()) continue;
    progress_watch_.expects(context.now() + until);
    context.schedule(until, EventClass::timer, spare_joins, SpareTimer{stand_in->host});
  }
}

void JobLifecycle::end_outage(std::uint32_t outage, EventContext& context) {
  const Outage ended = outages_[outage];
  if (is_of_network(ended.failure.part.kind)) {
    const NetworkService::Changes changes = network_->repair(ended.failure);
    change_cables(changes.cables, context);
    for (const auto& [host, gpus] : by_host(changes.connected)) bring_back(gpus, context);
  } else {
    bring_back(ended.gpus, context);
  }
  tell({ClusterEvent::Kind::part_repaired, JobId::none(), host_with(ended.failure.part), ended.failure.part});
  if (!ended.failure.renews) return;
  failures_->renew(ended.failure, context.now());
  if (failures_->next() < next_failure_) schedule_next_failure(context);
}

void JobLifecycle::bring_back(std::span<const GpuSlot> gpus, EventContext& context) {
  fleet_->bring_back(gpus);
  call_spares(context);
  request_pass(context);
}

// --- Maintenance --------------------------------------------------------------------------------------------------------------

std::vector<GpuSlot> JobLifecycle::gpus_of(const Drain& drain) const { return cluster_.gpus(drain.host); }

void JobLifecycle::announce_drain(std::uint32_t drain) {
  const Drain& announced = settings_.maintenance.drains[drain];
  ++drains_of_host_[announced.host.index()];
  fleet_->take_out(gpus_of(announced));
  tell({ClusterEvent::Kind::drain_announced, JobId::none(), announced.host});
}

void JobLifecycle::begin_drain(std::uint32_t drain, EventContext& context) {
  const Drain& begun = settings_.maintenance.drains[drain];
  waiting_drains_.push_back(drain);
  tell({ClusterEvent::Kind::drain_began, JobId::none(), begun.host});
  if (settings_.maintenance.moves_jobs) {
    for (const GpuSlot gpu : gpus_of(begun)) {
      if (!cluster_.holder(gpu).is_none()) start_moving(cluster_.holder(gpu), context);
    }
  }
  fleet_->report(begun.host);
  call_spares(context);
}

void JobLifecycle::start_moving(JobId job, EventContext& context) {
  Running& running = *running_state_[job.index()];
  if (running.failed_at || running.moves_since || has_done_all(job, context.now())) return;
  const AttemptAccount so_far = account(running, context.now());
  const bool has_more = so_far.whole.iterations > so_far.kept.iterations || so_far.whole.work > so_far.kept.work;
  Duration write = running.checkpoints.write;
  if (has_more && jobs_[job.index()].workload == nullptr)
    write = std::max(write, storing_time(jobs_[job.index()], settings_.storage));
  // A checkpoint that would end after the clock does moves nobody.
  if (write >= Time::max() - context.now()) return;
  halt(job, context);
  running.moves_since = context.now();
  if (has_more) send_last_checkpoint(job, so_far.whole.iterations, context);
  context.schedule(write, EventClass::timer, job_moves, SchedulerTimer{job, records_[job.index()].restarts});
}

void JobLifecycle::send_last_checkpoint(JobId job, std::uint64_t iterations, EventContext& context) {
  if (jobs_[job.index()].workload == nullptr) return;
  RunningJob attempt = attempt_of(job, iterations);
  if (attempt.checkpoint == nullptr) return;
  const SchedulerWiring& wiring = settings_.wiring;
  Running& running = *running_state_[job.index()];
  attempt.is_last_checkpoint = true;
  running.attempt = attempt.attempt = wiring.jobs->next();
  running.under_way = static_cast<std::uint32_t>(attempt.checkpoint->size());
  const std::vector<HostId> hosts = hosts_of(attempt, running.placement);
  wiring.jobs->publish(std::move(attempt));
  for (const HostId host : hosts)
    context.send(wiring.entity_of_host[host.index()], settings_.control_delay, send_checkpoint, StartJob{running.attempt});
  note_data_under_way(1, context);
}

void JobLifecycle::move(JobId job, EventContext& context) {
  ++records_[job.index()].moves;
  ++counters_.moved;
  send_back(job, Leaving::moves, context.now());
  request_pass(context);
}

void JobLifecycle::begin_work_on_idle_hosts(EventContext& context) {
  std::erase_if(waiting_drains_, [&](std::uint32_t number) {
    const Drain& drain = settings_.maintenance.drains[number];
    if (cluster_.held_gpus(drain.host) > 0) return false;
    if (drain.duration < Time::max() - context.now()) {
      progress_watch_.expects(context.now() + drain.duration);
      context.schedule(drain.duration, EventClass::timer, drain_ends, DrainTimer{number});
    }
    return true;
  });
}

}  // namespace weft
