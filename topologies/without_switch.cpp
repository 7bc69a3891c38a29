#include "topologies/without_switch.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/check.hpp"

namespace weft {

NodeId node_called(const Topology& topology, std::string_view name) {
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    if (topology.node_name(NodeId(node)) == name) return NodeId(node);
  }
  return NodeId::none();
}

namespace {

/// Numbers of connected parts, by node, when a node is taken away.
std::vector<std::uint32_t> parts_without(const Topology& topology, NodeId away) {
  constexpr std::uint32_t unseen = UINT32_MAX;
  std::vector<std::uint32_t> part(topology.node_count(), unseen);
  std::uint32_t parts = 0;
  std::vector<NodeId> open;
  for (std::uint32_t first = 0; first < topology.node_count(); ++first) {
    if (part[first] != unseen || NodeId(first) == away) continue;
    part[first] = parts;
    open.assign(1, NodeId(first));
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      for (const LinkId link : topology.out_links(node)) {
        const NodeId next = topology.link(link).destination;
        if (next == away || part[next.index()] != unseen) continue;
        part[next.index()] = parts;
        open.push_back(next);
      }
    }
    ++parts;
  }
  return part;
}

}  // namespace

ReducedTopology without_switch(const Topology& topology, NodeId packet_switch) {
  WEFT_CHECK(topology.node(packet_switch).kind == NodeKind::packet_switch, "a switch is taken away");
  const std::vector<std::uint32_t> part = parts_without(topology, packet_switch);
  std::vector<std::uint32_t> endpoints_of_part(topology.node_count(), 0);
  for (const NodeId endpoint : topology.endpoints()) ++endpoints_of_part[part[endpoint.index()]];
  const auto largest =
      static_cast<std::uint32_t>(std::max_element(endpoints_of_part.begin(), endpoints_of_part.end()) - endpoints_of_part.begin());
  ReducedTopology reduced;
  for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
    const auto is_cut_off = [&](NodeId endpoint) { return part[endpoint.index()] != largest; };
    if (std::ranges::any_of(topology.endpoints_of(HostId(host)), is_cut_off)) reduced.cut_off.emplace_back(host);
  }
  if (!reduced.cut_off.empty()) return reduced;

  TopologyBuilder builder(topology.name());
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
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    const bool is_gone = link.source == packet_switch || link.destination == packet_switch;
    for (std::uint32_t direction = 0; direction < 2; ++direction) reduced.link.push_back(is_gone ? LinkId::none() : LinkId(kept++));
    if (is_gone) continue;
    builder.add_cable(link.source, link.destination, link.rate, link.propagation_delay);
  }
  reduced.topology = std::move(builder).build(nullptr, SourcePlace::named(topology.name()));
  return reduced;
}

}  // namespace weft
