// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/drains.hpp"

#include "core/check.hpp"
#include "scheduler/lifecycle/scheduler_events.hpp"

namespace weft {

Drains::Drains(const ClusterState& cluster, MaintenanceSettings& settings, Outages& outages, ProgressWatch& watch,
               ServiceListener& listener)
    : cluster_(cluster),
      settings_(settings),
      outages_(outages),
      watch_(watch),
      listener_(listener),
      of_host_(cluster.host_count(), 0) {}

void Drains::announce(std::uint32_t drain) {
  const HostId host = settings_.drains[drain].host;
  ++of_host_[host.index()];
  outages_.take_out(cluster_.gpus(host));
  listener_.happened({ClusterEvent::Kind::drain_announced, JobId::none(), host});
}

void Drains::begin(std::uint32_t drain, EventContext& context) {
  const HostId host = settings_.drains[drain].host;
  waiting_.push_back(drain);
  listener_.happened({ClusterEvent::Kind::drain_began, JobId::none(), host});
  if (settings_.moves_jobs) {
    for (const GpuSlot gpu : cluster_.gpus(host)) listener_.gpu_is_wanted(gpu, context);
  }
  outages_.report(host, context);
}

void Drains::begin_work_on_idle_hosts(EventContext& context) {
  std::erase_if(waiting_, [&](std::uint32_t number) {
    const Drain& drain = settings_.drains[number];
    if (cluster_.held_gpus(drain.host) > 0) return false;
    if (drain.duration < Time::max() - context.now()) {
      watch_.expects(context.now() + drain.duration);
      context.schedule(drain.duration, EventClass::timer, drain_ends, DrainTimer{number});
    }
    return true;
  });
}

void Drains::end(std::uint32_t drain, EventContext& context) {
  const HostId host = settings_.drains[drain].host;
  --of_host_[host.index()];
  outages_.bring_back(cluster_.gpus(host), context);
  listener_.happened({ClusterEvent::Kind::drain_ended, JobId::none(), host});
}

bool Drains::begin_now(HostId host, Duration duration, EventContext& context) {
  WEFT_CHECK(duration > Duration::zero(), "a drain takes time");
  if (of_host_[host.index()] > 0) return false;
  const auto number = static_cast<std::uint32_t>(settings_.drains.size());
  settings_.drains.push_back({context.now(), host, duration});
  announce(number);
  begin(number, context);
  return true;
}

}  // namespace weft
