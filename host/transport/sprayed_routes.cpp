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

}  // namespace

SprayedRoutes::SprayedRoutes(const Topology& topology, const FlowSettings& flow)
    : topology_(topology),
      delays_(topology, flow.switching_delay, flow.forwarding),
      paths_(topology, delays_, cache_entries, flow.routing == Routing::spray ? flow.path_rule.weights : PathWeights::capacity) {}

SprayedPath SprayedRoutes::path(NodeId source, NodeId destination) const {
  const std::lock_guard lock(mutex_);
  return paths_.path(source, destination);
}

Bandwidth SprayedRoutes::rate(NodeId source, NodeId destination) const {
  const std::lock_guard lock(mutex_);
  const SprayedPath& all = paths_.path(source, destination);
  std::int64_t least_bps = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < all.links.size(); ++i) {
    // Rounded, as thirds do not add up to 1.
    const double divided_bps = std::round(static_cast<double>(topology_.link(all.links[i]).rate.in_bps()) / all.loads[i]);
    if (divided_bps < static_cast<double>(least_bps)) least_bps = static_cast<std::int64_t>(divided_bps);
  }
  return Bandwidth::bps(least_bps);
}

}  // namespace weft
