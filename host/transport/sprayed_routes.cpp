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

bool is_cable(const Topology& topology, const Link& link) {
  const HostId host = topology.node(link.source).host;
  return host.is_none() || host != topology.node(link.destination).host;
}

Bandwidth slowest_cable(const Topology& topology) {
  Bandwidth slowest = Bandwidth::bps(std::numeric_limits<std::int64_t>::max());
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    if (is_cable(topology, link)) slowest = std::min(slowest, link.rate);
  }
  return slowest;
}

}  // namespace

SprayedRoutes::SprayedRoutes(const Topology& topology, const FlowSettings& flow)
    : topology_(topology),
      delays_(topology, flow.switching_delay, flow.forwarding),
      slowest_cable_(slowest_cable(topology)),
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
    const Link& link = topology_.link(all.links[i]);
    // Rounded, as thirds do not add up to 1.
    if (is_cable(topology_, link))
      least_bps = std::min(least_bps, std::round(static_cast<double>(link.rate.in_bps()) / all.loads[i]));
  }
  return std::min(sent, Bandwidth::bps(static_cast<std::int64_t>(least_bps)));
}

}  // namespace weft
