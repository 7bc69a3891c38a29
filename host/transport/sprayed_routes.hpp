// SPDX-License-Identifier: Apache-2.0
// Sprayed routes: all routes that packets of one queue pair may take where switches choose a port
// for each packet.
//
// Where it sits: queue_pair_planner asks what they carry together; the packets themselves go port
// by port (network/packet). Switches that choose by queues are taken to divide packets by capacity.
// Threads: any may ask.
#pragma once

#include <mutex>

#include "core/values/units.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/packet/packet_topology.hpp"
#include "network/routing/path_delay.hpp"
#include "network/routing/spray.hpp"
#include "topologies/topology.hpp"

namespace weft {

class SprayedRoutes {
 public:
  /// Keeps references to both topologies. Requires: flow.routing is spray or adaptive.
  SprayedRoutes(const Topology& topology, const PacketTopology& nodes, const FlowSettings& flow);

  /// All shortest paths while nothing is out. Requires: source != destination, a path exists.
  SprayedPath path(NodeId source, NodeId destination) const;
  /// The most, up to `sent`, that may be divided over them with no cable beyond its rate.
  Bandwidth rate(NodeId source, NodeId destination, Bandwidth sent) const;

 private:
  const Topology& topology_;
  const PacketTopology& nodes_;
  LinkDelays delays_;
  Bandwidth slowest_cable_;
  mutable std::mutex mutex_;
  mutable SprayPaths paths_;
};

}  // namespace weft
