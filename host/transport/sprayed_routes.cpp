// SPDX-License-Identifier: Apache-2.0
#include "host/transport/sprayed_routes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft {

namespace {

constexpr std::size_t cache_entries = 1024;

Bandwidth slowest_cable(const Topology& topology, const PacketTopology& nodes) {
  Bandwidth slowest = Bandwidth::bps(std::numeric_limits<std::int64_t>::max());
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    if (nodes.is_cable(LinkId(i))) slowest = std::min(slowest, topology.link(LinkId(i)).rate);
  }
  return slowest;
}

}  // namespace

SprayedRoutes::SprayedRoutes(const Topology& topology, const PacketTopology& nodes, const FlowSettings& flow)
    : topology_(topology),
      nodes_(nodes),
      delays_(topology, flow.switching_delay, flow.forwarding),
      slowest_cable_(slowest_cable(topology, nodes)),
      paths_(topology, delays_, cache_entries, flow.routing == Routing::spray ? flow.path_rule.weights : PathWeights::capacity) {}

SprayedPath SprayedRoutes::path(NodeId source, NodeId destination) const {
  const std::lock_guard lock(mutex_);
  return paths_.path(source, destination);
}

Bandwidth SprayedRoutes::rate(NodeId source, NodeId destination, Bandwidth sent) const {
  if (sent <= slowest_cable_) return sent;
  const SprayedPath all = path(source, destination);
  double least_bps = static_cast<double>(sent.in_bps());
  for (std::size_t i = 0; i < all.links.size(); ++i) {
    if (!nodes_.is_cable(all.links[i])) continue;
    // Rounded, as thirds do not add up to 1.
    const double rate_bps = static_cast<double>(topology_.link(all.links[i]).rate.in_bps());
    least_bps = std::min(least_bps, std::round(rate_bps / all.loads[i]));
  }
  return std::min(sent, Bandwidth::bps(static_cast<std::int64_t>(least_bps)));
}

}  // namespace weft
