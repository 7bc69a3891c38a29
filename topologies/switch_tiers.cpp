// SPDX-License-Identifier: Apache-2.0
#include "topologies/switch_tiers.hpp"

#include <cstddef>

namespace weft {

std::vector<std::uint32_t> switch_tiers(const Topology& topology) {
  std::vector<std::uint32_t> tiers(topology.node_count(), 0);
  std::vector<NodeId> reached;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (!topology.node(NodeId(i)).host.is_none()) reached.emplace_back(i);
  }
  // From the hosts upwards, breadth first: what is reached first is closest.
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const NodeId from = reached[next];
    for (const LinkId link : topology.out_links(from)) {
      const NodeId to = topology.link(link).destination;
      if (topology.node(to).kind != NodeKind::packet_switch || tiers[to.index()] > 0) continue;
      tiers[to.index()] = tiers[from.index()] + 1;
      reached.push_back(to);
    }
  }
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    if (node.kind == NodeKind::packet_switch && node.level > 0) tiers[i] = node.level;
  }
  return tiers;
}

}  // namespace weft
