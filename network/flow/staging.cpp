// SPDX-License-Identifier: Apache-2.0
#include "network/flow/staging.hpp"

#include <limits>

#include "topologies/topology.hpp"

namespace weft {

Staging::Staging(const Topology& topology, const FlowSettings& settings)
    : topology_(topology),
      is_on_(!settings.gpudirect),
      latency_(settings.staging_latency),
      // Flows move as many more wire bytes as the efficiency is below 1.
      rate_bps_(static_cast<double>(settings.staging_rate.in_bps()) / settings.network_efficiency) {}

bool Staging::stages(NodeId endpoint) const { return is_on_ && topology_.node(endpoint).kind == NodeKind::gpu; }

Duration Staging::delay(NodeId endpoint) const { return stages(endpoint) ? latency_ : Duration::zero(); }

double Staging::cap_bps(NodeId source, NodeId destination) const {
  return stages(source) || stages(destination) ? rate_bps_ : std::numeric_limits<double>::infinity();
}

LinkId Staging::second_crossing(LinkId link) const {
  const HostId host = topology_.node(topology_.link(link).source).host;
  if (!is_on_ || host.is_none() || topology_.node(topology_.link(link).destination).host != host) return LinkId::none();
  return stages(topology_.endpoints_of(host).front()) ? topology_.reverse(link) : LinkId::none();
}

void Staging::add_second_crossings(std::vector<LinkId>& links, std::vector<double>& loads) const {
  const std::size_t count = links.size();
  for (std::size_t i = 0; i < count; ++i) {
    const LinkId again = second_crossing(links[i]);
    if (again.is_none()) continue;
    links.push_back(again);
    if (!loads.empty()) loads.push_back(loads[i]);
  }
}

}  // namespace weft
