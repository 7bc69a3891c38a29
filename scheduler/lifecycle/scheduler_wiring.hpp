// SPDX-License-Identifier: Apache-2.0
// Scheduler wiring: what the scheduler reaches hosts and the network by.
//
// Where it sits: whoever assembles a run fills it in; JobLifecycle and its parts send by it.
// Thread safety: a value; what it points to belongs to the scheduler's logical process.
#pragma once

#include <functional>
#include <vector>

#include "core/engine/entity.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "host/ranks/job.hpp"
#include "host/symmetry/coupled_jobs.hpp"

namespace weft {

/// Not needed if every job is in job mode.
struct SchedulerWiring {
  std::vector<EntityId> entity_of_host;
  std::vector<NodeId> endpoint_of_gpu;  ///< per slot: Topology::endpoints()
  /// Told of attempts that are stopped; none() if it need not be.
  EntityId network = EntityId::none();
  JobTable* jobs = nullptr;  ///< outlives the run
  /// Completes a placed job with what its placement decides, before hosts see it; may be empty.
  std::function<void(RunningJob&)> prepare = nullptr;
  /// Called when jobs were prepared, before any of them has started. Returns false if the run is of
  /// no use any more; nothing else happens in it then. May be empty.
  std::function<bool()> after_launch = nullptr;
  /// With fast-forward, outlives the run; null: every job may slow down every other.
  CoupledJobs* coupled = nullptr;
  /// Tells the network, from the scheduler's entity, that a cable carries this share of its speed.
  /// The network hears of it `delay` later. May be empty.
  std::function<void(LinkId cable, double share, Duration delay, EventContext& context)> tell_of_cable = nullptr;
};

}  // namespace weft
