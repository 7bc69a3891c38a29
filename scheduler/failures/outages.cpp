// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/outages.hpp"

#include "core/check.hpp"
#include "scheduler/lifecycle/scheduler_events.hpp"

namespace weft {

Outages::Outages(ClusterState& cluster, const FailureSettings& settings, std::span<const HostId> set_aside, std::uint64_t seed,
                 ProgressWatch& watch, ServiceListener& listener)
    : cluster_(cluster),
      settings_(settings),
      watch_(watch),
      listener_(listener),
      fleet_(cluster, settings.hot_spares, settings.cold_spares),
      plan_(settings, cluster, seed),
      next_(plan_.next()) {
  for (const HostId host : set_aside) fleet_.set_aside(host);
  if (!settings.has_network_failures()) return;
  WEFT_CHECK(settings.network != nullptr, "switches and links belong to a topology");
  network_.emplace(settings.network, settings.scope);
}

void Outages::schedule_next(EventContext& context) {
  next_ = plan_.next();
  if (next_ != Time::max()) context.schedule(next_ - context.now(), EventClass::timer, parts_fail);
}

void Outages::fail_due(EventContext& context) {
  while (plan_.next() <= context.now()) fail(plan_.take(), context);
  schedule_next(context);
}

std::map<HostId, std::vector<GpuSlot>> Outages::by_host(std::span<const GpuSlot> gpus) const {
  std::map<HostId, std::vector<GpuSlot>> result;
  for (const GpuSlot gpu : gpus) result[cluster_.host_of(gpu)].push_back(gpu);
  return result;
}

void Outages::apply(const NetworkService::Changes& changes, EventContext& context) {
  if (!changes.cables.empty()) listener_.cables_changed(changes.cables, context);
  for (const auto& [host, gpus] : by_host(changes.connected)) bring_back(gpus, context);
}

void Outages::fail(const Failure& failure, EventContext& context) {
  const auto number = static_cast<std::uint32_t>(outages_.size());
  Outage& outage = outages_.emplace_back(Outage{failure});
  ++(failure.fault == Fault::flaps ? flaps_ : failures_);
  if (is_of_network(failure.part.kind)) {
    const NetworkService::Changes changes = network_->fail(failure);
    outage.gpus = changes.cut_off;
    apply(changes, context);
  } else {
    outage.gpus = gpus_without(failure.part, settings_.scope, cluster_);
  }
  for (const auto& [host, gpus] : by_host(outage.gpus)) fleet_.take_out(gpus);
  for (const GpuSlot gpu : outage.gpus) listener_.gpu_failed(gpu, context);
  // A flap is over before anybody looks.
  const bool is_detected = failure.fault != Fault::flaps;
  const Duration detection = is_detected ? settings_.detection : Duration::zero();
  const bool is_before_clock_ends = detection <= Time::max() - context.now();
  if (is_before_clock_ends && is_detected) context.schedule(detection, EventClass::timer, failure_detected, OutageTimer{number});
  if (is_before_clock_ends && failure.repair < Time::max() - context.now() - detection) {
    watch_.expects(context.now() + detection + failure.repair);
    context.schedule(detection + failure.repair, EventClass::timer, part_works, OutageTimer{number});
  }
  watch_.part_fails();
}

ClusterEvent Outages::about(const Failure& failure, ClusterEvent::Kind kind) const {
  const HostId host = is_of_network(failure.part.kind) ? HostId::none() : host_of(failure.part, cluster_);
  return {kind, JobId::none(), host, failure.part};
}

void Outages::detect(std::uint32_t outage, EventContext& context) {
  const Outage& detected = outages_[outage];
  listener_.happened(about(detected.failure, ClusterEvent::Kind::part_failed));
  for (const GpuSlot gpu : detected.gpus) listener_.failure_known(gpu, detected.failure.at, context);
  for (const auto& [host, gpus] : by_host(detected.gpus)) {
    // Another part that works again may have connected them by now.
    if (!is_of_network(detected.failure.part.kind) || network_->is_cut_off(gpus.front())) fleet_.report(host);
  }
  call_spares(context);
  listener_.service_changed(context);
}

void Outages::end(std::uint32_t outage, EventContext& context) {
  const Outage& ended = outages_[outage];
  if (is_of_network(ended.failure.part.kind)) {
    apply(network_->repair(ended.failure), context);
  } else {
    bring_back(ended.gpus, context);
  }
  listener_.happened(about(ended.failure, ClusterEvent::Kind::part_repaired));
  if (!ended.failure.renews) return;
  plan_.renew(ended.failure, context.now());
  if (plan_.next() < next_) schedule_next(context);
}

void Outages::join(HostId spare, EventContext& context) {
  fleet_.join(spare);
  listener_.happened({ClusterEvent::Kind::spare_joined, JobId::none(), spare});
  call_spares(context);
  listener_.service_changed(context);
}

void Outages::bring_back(std::span<const GpuSlot> gpus, EventContext& context) {
  fleet_.bring_back(gpus);
  call_spares(context);
  listener_.service_changed(context);
}

void Outages::report(HostId host, EventContext& context) {
  fleet_.report(host);
  call_spares(context);
}

void Outages::call_spares(EventContext& context) {
  while (const std::optional<Fleet::StandIn> stand_in = fleet_.find_stand_in()) {
    const Duration until = stand_in->kind == Fleet::Spare::cold ? settings_.cold_start : Duration::zero();
    if (until >= Time::max() - context.now()) continue;
    watch_.expects(context.now() + until);
    context.schedule(until, EventClass::timer, spare_joins, SpareTimer{stand_in->host});
  }
}

std::vector<CableShare> Outages::slow_cables() const { return network_ ? network_->lasting() : std::vector<CableShare>(); }

}  // namespace weft
