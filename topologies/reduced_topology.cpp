// SPDX-License-Identifier: Apache-2.0
#include "topologies/reduced_topology.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/check.hpp"
#include "core/containers/disjoint_sets.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/connected_parts.hpp"
#include "topologies/cut_off.hpp"

namespace weft {

NodeId node_called(const Topology& topology, std::string_view name) {
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    if (topology.node_name(NodeId(node)) == name) return NodeId(node);
  }
  return NodeId::none();
}

namespace {

/// Adds a cable like the one that begins with this link, each way at a share of its speed.
void add_cable_like(TopologyBuilder& builder, const Topology& topology, LinkId cable, double share) {
  const auto rate_of = [&](LinkId link) {
    const Bandwidth rate = topology.link(link).rate;
    if (share >= 1) return rate;
    return Bandwidth::bps(std::max<std::int64_t>(1, std::llround(static_cast<double>(rate.in_bps()) * share)));
  };
  const Link& link = topology.link(cable);
  const LinkId back = topology.reverse(cable);
  const LinkId added = builder.add_cable(link.source, link.destination, rate_of(cable), rate_of(back), link.propagation_delay);
  if (const WideAreaLine* const line = topology.wide_area(cable)) builder.set_wide_area(added, *line, *topology.wide_area(back));
}

/// A topology without cables yet.
TopologyBuilder nodes_of(const Topology& topology) {
  TopologyBuilder builder(topology.name());
  builder.set_machine(topology.machine());
  for (const BufferClass& buffer_class : topology.buffer_classes()) builder.add_buffer_class(buffer_class);
  for (std::size_t host = 0; host < topology.host_count(); ++host) builder.add_host();
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    const std::string name = topology.node_name(NodeId(i));
    if (node.kind == NodeKind::gpu || node.kind == NodeKind::host) {
      builder.add_endpoint(node.host, node.kind, name);
    } else if (node.kind == NodeKind::packet_switch) {
      builder.add_switch(node.level, name, node.buffer_class);
    } else {
      builder.add_inside(node.host, node.kind, name);
    }
  }
  return builder;
}

HostId host_at(const Topology& topology, NodeId node) { return topology.node(node).host; }

/// Hosts some endpoint of which is. By HostId.
std::vector<bool> hosts_cut_off(const Topology& topology, const std::vector<bool>& is_out) {
  const std::vector<bool> cut_off = cut_off_endpoints(topology, is_out, nics_relay(topology));
  std::vector<bool> hosts(topology.host_count(), false);
  for (std::size_t place = 0; place < cut_off.size(); ++place) {
    const HostId host = host_at(topology, topology.endpoints()[place]);
    hosts[host.index()] = hosts[host.index()] || cut_off[place];
  }
  return hosts;
}

/// Puts cables of those hosts back into service.
void keep_cables_of(const Topology& topology, const std::vector<bool>& hosts, std::vector<bool>& is_out) {
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const HostId host = host_at(topology, topology.link(LinkId(i)).source);
    if (!host.is_none() && hosts[host.index()]) is_out[i] = is_out[topology.reverse(LinkId(i)).index()] = false;
  }
}

/// Puts cables back that join parts which nothing else joins, of the network with its hosts or of
/// its switches alone.
void keep_last_cables(const Topology& topology, bool with_hosts, std::vector<bool>& is_out) {
  DisjointSets joined(topology.node_count());
  for (const bool were_out : {false, true}) {
    for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
      const Link& link = topology.link(LinkId(i));
      const bool is_of_host = !host_at(topology, link.source).is_none() || !host_at(topology, link.destination).is_none();
      if (is_out[i] != were_out || (is_of_host && !with_hosts)) continue;
      if (joined.join(link.source.index(), link.destination.index())) is_out[i] = is_out[i + 1] = false;
    }
  }
}

bool all_at_one_part(const Topology& topology, const std::vector<bool>& is_out) {
  ConnectedParts connected(topology, is_out, nics_relay(topology));
  std::map<std::uint32_t, std::size_t> endpoints_at;
  std::size_t most = 0;
  for (const NodeId endpoint : topology.endpoints()) {
    for (const std::uint32_t part : connected.of(endpoint).parts) most = std::max(most, ++endpoints_at[part]);
  }
  return most == topology.endpoints().size();
}

/// Of those that are out, all but what endpoints need to reach each other. By LinkId.
std::vector<bool> cables_to_leave_out(const Topology& topology, std::vector<bool> is_out) {
  keep_cables_of(topology, hosts_cut_off(topology, is_out), is_out);
  keep_last_cables(topology, false, is_out);
  keep_last_cables(topology, true, is_out);
  // Where planes of a network share no switches, two hosts may each have lost the other's.
  if (!all_at_one_part(topology, is_out)) keep_cables_of(topology, std::vector<bool>(topology.host_count(), true), is_out);
  return is_out;
}

/// Both directions of all of them. By LinkId.
std::vector<bool> cables_of(const Topology& topology, NodeId packet_switch) {
  WEFT_CHECK(topology.node(packet_switch).kind == NodeKind::packet_switch, "a switch is taken away");
  std::vector<bool> is_out(topology.link_count(), false);
  for (const LinkId link : topology.out_links(packet_switch)) is_out[link.index()] = is_out[topology.reverse(link).index()] = true;
  return is_out;
}

}  // namespace

std::shared_ptr<const Topology> with_less(const Topology& topology, std::span<const CableShare> cables) {
  std::map<LinkId, double> shares;
  for (const CableShare& cable : cables) shares[cable.cable] = cable.share;
  const auto share_of = [&](LinkId link) {
    const auto share = shares.find(link);
    return share == shares.end() ? 1.0 : share->second;
  };
  std::vector<bool> is_out(topology.link_count(), false);
  for (const CableShare& cable : cables) {
    if (cable.share == 0) is_out[cable.cable.index()] = is_out[topology.reverse(cable.cable).index()] = true;
  }
  const std::vector<bool> left_out = cables_to_leave_out(topology, is_out);
  TopologyBuilder builder = nodes_of(topology);
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    if (left_out[i]) continue;
    // What should be out but must stay has its whole speed.
    const double share = share_of(LinkId(i));
    add_cable_like(builder, topology, LinkId(i), share > 0 ? share : 1);
  }
  return std::move(builder).build(nullptr, SourcePlace::named(topology.name()));
}

std::vector<HostId> hosts_cut_off_without(const Topology& topology, NodeId packet_switch) {
  const std::vector<bool> hosts = hosts_cut_off(topology, cables_of(topology, packet_switch));
  std::vector<HostId> cut_off;
  for (std::uint32_t host = 0; host < hosts.size(); ++host) {
    if (hosts[host]) cut_off.emplace_back(host);
  }
  return cut_off;
}

ReducedTopology without_switch(const Topology& topology, NodeId packet_switch) {
  std::vector<bool> is_out = cables_of(topology, packet_switch);
  if (!hosts_cut_off_without(topology, packet_switch).empty()) is_out = cables_to_leave_out(topology, std::move(is_out));
  ReducedTopology reduced;
  TopologyBuilder builder = nodes_of(topology);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    for (std::uint32_t direction = 0; direction < 2; ++direction)
      reduced.link.push_back(is_out[i] ? LinkId::none() : LinkId(kept++));
    if (is_out[i]) continue;
    add_cable_like(builder, topology, LinkId(i), 1);
  }
  reduced.topology = std::move(builder).build(nullptr, SourcePlace::named(topology.name()));
  return reduced;
}

}  // namespace weft
