// SPDX-License-Identifier: Apache-2.0
#include "topologies/switch_tiers.hpp"

#include "topologies/topology_summary.hpp"

namespace weft {

std::vector<std::uint32_t> switch_tiers(const Topology& topology) {
  std::vector<std::uint32_t> tiers = tiers_of(topology);
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    if (node.kind != NodeKind::packet_switch) continue;
    if (node.level > 0) tiers[i] = node.level;
    if (tiers[i] == TopologySummary::no_tier) tiers[i] = 0;
  }
  return tiers;
}

}  // namespace weft
