// SPDX-License-Identifier: Apache-2.0
// Drains: hosts that are taken out of service for work on them, and for how long.
//
// Where it sits: JobLifecycle hands it the timers of drains. It sets the later ones, has Outages
// take GPUs out and bring them back, and calls a ServiceListener.
//
// Model (scheduler/failures/maintenance_plan): announce() keeps new jobs off the host; begin() has
// its jobs move, or waits for them to end; the work begins once the host is empty, and takes its
// time.
//
// Invariants: 1. A host that is announced or drained is not drained once more by begin_now().
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/entity.hpp"
#include "scheduler/failures/maintenance_plan.hpp"
#include "scheduler/failures/outages.hpp"
#include "scheduler/failures/service_listener.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/progress_watch.hpp"

namespace weft {

class Drains {
 public:
  /// Keeps references. `settings`: `moves_jobs` may change during the run, and drains are added.
  Drains(const ClusterState& cluster, MaintenanceSettings& settings, Outages& outages, ProgressWatch& watch,
         ServiceListener& listener);

  /// The host gets no new jobs. `drain`: its place in the settings.
  void announce(std::uint32_t drain);
  void begin(std::uint32_t drain, EventContext& context);
  /// Work begins on hosts that jobs have left since. To be called after each event.
  void begin_work_on_idle_hosts(EventContext& context);
  void end(std::uint32_t drain, EventContext& context);
  /// Drains a host without notice, unless it is drained or about to be. Returns whether it does.
  bool begin_now(HostId host, Duration duration, EventContext& context);

 private:
  const ClusterState& cluster_;
  MaintenanceSettings& settings_;
  Outages& outages_;
  ProgressWatch& watch_;
  ServiceListener& listener_;
  std::vector<std::uint32_t> waiting_;  ///< drains that have begun, on hosts where jobs still are
  std::vector<std::uint32_t> of_host_;  ///< drains that are announced and not over
};

}  // namespace weft
