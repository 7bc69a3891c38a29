// SPDX-License-Identifier: Apache-2.0
// Outages: parts that have failed and do not work again yet, the GPUs that are out with them, and
// spares.
//
// Where it sits: JobLifecycle hands it the timers of failures, detections, repairs and spares. It
// sets the next ones, changes which GPUs of the cluster serve (Fleet), and calls a ServiceListener.
//
// Model of a failure
//   - At its time its GPUs go out of service, or, of a part of the network, its cables carry less
//     and the GPUs go out that are cut off by that (NetworkService).
//   - After `detection` the scheduler knows. A spare then stands in for a host with all GPUs out.
//   - After the repair the GPUs serve again, and a part that fails by chance gets its next failure.
// A link that flaps goes on by itself, and is never detected.
//
// Invariants: 1. One timer of the next failure counts: the one at the time that is_next() knows.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/entity.hpp"
#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/fleet.hpp"
#include "scheduler/failures/network_service.hpp"
#include "scheduler/failures/service_listener.hpp"
#include "scheduler/lifecycle/progress_watch.hpp"

namespace weft {

class Outages {
 public:
  /// Keeps references; `settings` may change its times during the run. `set_aside`: hosts that
  /// never run jobs. Requires: an empty cluster; failures of the network come with the network's
  /// parts.
  Outages(ClusterState& cluster, const FailureSettings& settings, std::span<const HostId> set_aside, std::uint64_t seed,
          ProgressWatch& watch, ServiceListener& listener);

  /// When the next part fails; Time::max() if none does.
  Time next() const { return plan_.next(); }
  bool is_next(Time timer) const { return timer == next_; }

  // At the timers.
  void fail_due(EventContext& context);
  void detect(std::uint32_t outage, EventContext& context);
  void end(std::uint32_t outage, EventContext& context);
  void join(HostId spare, EventContext& context);

  // For drains and snapshots.
  /// A part that these GPUs of one host need is out of service.
  void take_out(std::span<const GpuSlot> gpus) { fleet_.take_out(gpus); }
  /// It serves again.
  void bring_back(std::span<const GpuSlot> gpus, EventContext& context);
  /// It is known that the host is out: a spare stands in, if there is one.
  void report(HostId host, EventContext& context);
  /// By host, as take_out() takes them.
  std::map<HostId, std::vector<GpuSlot>> by_host(std::span<const GpuSlot> gpus) const;

  std::uint64_t failures() const { return failures_; }
  std::uint64_t flaps() const { return flaps_; }
  /// Cables that carry less than they could until they are repaired, ascending.
  std::vector<CableShare> slow_cables() const;

 private:
  struct Outage {
    Failure failure;
    std::vector<GpuSlot> gpus = {};  ///< that went out with it
  };

  void fail(const Failure& failure, EventContext& context);
  void schedule_next(EventContext& context);
  void apply(const NetworkService::Changes& changes, EventContext& context);
  void call_spares(EventContext& context);
  ClusterEvent about(const Failure& failure, ClusterEvent::Kind kind) const;

  const ClusterState& cluster_;
  const FailureSettings& settings_;
  ProgressWatch& watch_;
  ServiceListener& listener_;
  Fleet fleet_;
  FailurePlan plan_;
  std::optional<NetworkService> network_;  ///< if something of the network fails
  Time next_;                              ///< for which a timer is set
  std::vector<Outage> outages_;            ///< all there were
  std::uint64_t failures_ = 0;
  std::uint64_t flaps_ = 0;
};

}  // namespace weft
