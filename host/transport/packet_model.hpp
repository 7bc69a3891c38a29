// SPDX-License-Identifier: Apache-2.0
// Packet model: what all parts of the packet network read - topology, settings, nodes.
//
// Where it sits: PacketNetwork (host/transport/packet_network) owns it; the parts of the packet
// network keep references.
// Threads: immutable after construction, but for routes, which packet_topology describes, and what
// sprayed routes keep; any thread may ask.
#pragma once

#include <optional>

#include "host/transport/packet_settings.hpp"
#include "host/transport/sprayed_routes.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/staging.hpp"
#include "network/packet/packet_topology.hpp"
#include "network/wide_area/wide_area_paths.hpp"
#include "topologies/topology.hpp"

namespace weft {

struct PacketModel {
  PacketModel(const Topology& graph, const FlowSettings& flow_settings, const PacketSettings& packet_settings)
      : topology(graph),
        flow(flow_settings),
        packet(packet_settings),
        nodes(graph, flow_settings.path_rule),
        staging(graph, flow_settings),
        wide_area(graph, flow_settings) {
    if (sprays()) sprayed.emplace(graph, nodes, flow);
  }

  /// Whether switches choose a route for each packet.
  bool sprays() const { return flow.routing != Routing::single; }
  bool weighs_paths() const { return flow.path_rule.weights == PathWeights::capacity; }

  const Topology& topology;
  FlowSettings flow;
  PacketSettings packet;
  PacketTopology nodes;
  Staging staging;
  WideAreaPaths wide_area;
  std::optional<SprayedRoutes> sprayed;  ///< where sprays()
};

/// A rate times a factor, at least 1 bit/s.
Bandwidth scaled_rate(Bandwidth rate, double factor);

}  // namespace weft
