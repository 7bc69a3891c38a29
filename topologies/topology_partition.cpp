// SPDX-License-Identifier: Apache-2.0
#include "topologies/topology_partition.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

std::vector<PartitionEdge> partition_edges(const Topology& topology) {
  std::vector<PartitionEdge> edges;
  edges.reserve(topology.link_count() / 2 + topology.node_count());
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    const bool between_hosts_or_switches =
        topology.node(link.source).host != topology.node(link.destination).host || topology.node(link.source).host.is_none();
    edges.push_back(
        {link.source.index(), link.destination.index(), between_hosts_or_switches ? link.propagation_delay : Duration::zero()});
  }
  // Nodes of a host stay together even where no cable joins them.
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const HostId host = topology.node(NodeId(i)).host;
    if (host.is_none()) continue;
    const NodeId first = topology.endpoints_of(host).front();
    if (first.index() != i) edges.push_back({first.index(), i, Duration::zero()});
  }
  return edges;
}

Partition partition_topology(const Topology& topology, Duration zeta) {
  return partition_by_delay(topology.node_count(), partition_edges(topology), zeta);
}

Partition partition_topology_automatically(const Topology& topology, std::uint32_t lps_min) {
  return partition_automatically(topology.node_count(), partition_edges(topology), lps_min);
}

PartitionSummary summarize_partition(const Topology& topology, const Partition& partition) {
  PartitionSummary summary;
  summary.lookahead = partition.lookahead;
  summary.lps.resize(partition.lp_count);
  for (std::uint32_t i = 0; i < partition.lp_count; ++i) summary.lps[i].id = LpId(i);
  const auto lp_of = [&](NodeId node) { return partition.lp_of_node[node.index()].index(); };
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (topology.node(NodeId(i)).kind == NodeKind::packet_switch) ++summary.lps[lp_of(NodeId(i))].switches;
  }
  for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
    ++summary.lps[lp_of(topology.endpoints_of(HostId(host)).front())].hosts;
  }
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const std::uint32_t a = lp_of(topology.link(LinkId(i)).source);
    const std::uint32_t b = lp_of(topology.link(LinkId(i)).destination);
    if (a == b) continue;
    ++summary.cut_cables;
    ++summary.lps[a].cables_out;
    ++summary.lps[b].cables_out;
  }
  return summary;
}

std::string to_text(const PartitionSummary& summary) {
  std::string out =
      fmt::format("{}, lookahead {}, {} between them\n", counted(summary.lps.size(), "logical process", "logical processes"),
                  summary.lookahead == Duration::max() ? "unlimited (nothing joins two of them)" : to_text(summary.lookahead),
                  counted(summary.cut_cables, "cable", "cables"));
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> alike;
  for (const PartitionSummary::Lp& lp : summary.lps) ++alike[{lp.hosts, lp.switches, lp.cables_out}];
  for (const auto& [size, count] : alike) {
    const auto& [hosts, switches, cables] = size;
    out += fmt::format("  {} x: {}, {}, {} to others\n", count, counted(hosts, "host", "hosts"),
                       counted(switches, "switch", "switches"), counted(cables, "cable", "cables"));
  }
  return out;
}

}  // namespace weft
