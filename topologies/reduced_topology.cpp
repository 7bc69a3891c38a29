#include "topologies/reduced_topology.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
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

/// A topology without cables yet.
TopologyBuilder nodes_of(const Topology& topology) {
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
  return builder;
}

/// Sets of nodes that are joined to each other.
class Joined {
 public:
  explicit Joined(std::size_t nodes) : above_(nodes) { std::iota(above_.begin(), above_.end(), 0U); }
  /// Returns whether they were not.
  bool join(NodeId a, NodeId b) {
    const std::uint32_t top_a = top(a.index());
    const std::uint32_t top_b = top(b.index());
    above_[top_a] = top_b;
    return top_a != top_b;
  }

 private:
  std::uint32_t top(std::uint32_t node) {
    while (above_[node] != node) node = above_[node] = above_[above_[node]];
    return node;
  }
  std::vector<std::uint32_t> above_;
};

}  // namespace

std::shared_ptr<const Topology> with_less(const Topology& topology, std::span<const CableShare> cables) {
  std::map<LinkId, double> shares;
  for (const CableShare& cable : cables) shares[cable.cable] = cable.share;
  const auto share_of = [&](LinkId link) {
    const auto share = shares.find(link);
    return share == shares.end() ? 1.0 : share->second;
  };
  Joined joined(topology.node_count());
  std::set<LinkId> needed;
  for (const bool in_service : {true, false}) {
    for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
      const Link& link = topology.link(LinkId(i));
      if ((share_of(LinkId(i)) > 0) == in_service && joined.join(link.source, link.destination) && !in_service)
        needed.insert(LinkId(i));
    }
  }
  TopologyBuilder builder = nodes_of(topology);
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    const double share = share_of(LinkId(i));
    if (share == 0 && !needed.contains(LinkId(i))) continue;
    const bool is_slow = share > 0 && share < 1;
    const Bandwidth rate =
        is_slow ? Bandwidth::bps(std::max<std::int64_t>(1, std::llround(static_cast<double>(link.rate.in_bps()) * share)))
                : link.rate;
    builder.add_cable(link.source, link.destination, rate, link.propagation_delay);
  }
  return std::move(builder).build(nullptr, SourcePlace::named(topology.name()));
}

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

  TopologyBuilder builder = nodes_of(topology);
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
