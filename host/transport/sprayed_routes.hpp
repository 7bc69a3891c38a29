// SPDX-License-Identifier: Apache-2.0
// Sprayed routes: what the switches of packet mode spread packets over that have no route of their
// own.
//
// Where it sits: queue_pair_planner asks, for rates; the packets themselves go port by port
// (network/packet). Switches that choose by queues divide packets by what links can carry in the
// long run.
// Threads: any may ask.
#pragma once

#include <mutex>

#include "core/values/units.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/routing/path_delay.hpp"
#include "network/routing/spray.hpp"
#include "topologies/topology.hpp"

namespace weft {

class SprayedRoutes {
 public:
  /// Keeps a reference to the topology.
  SprayedRoutes(const Topology& topology, const FlowSettings& flow);

  /// All shortest paths while nothing is out. Requires: source != destination, a path exists.
  SprayedPath path(NodeId source, NodeId destination) const;
  /// What a flow may have that is divided by loads, so that no link is beyond its rate.
  Bandwidth rate(NodeId source, NodeId destination) const;

 private:
  const Topology& topology_;
  LinkDelays delays_;
  mutable std::mutex mutex_;
  mutable SprayPaths paths_;
};

}  // namespace weft
