// SPDX-License-Identifier: Apache-2.0
// Packet topology: a topology as packets see it - hosts and packet switches, joined by cables from
// port to port.
//
// Where it sits: host/transport/packet_network makes its nodes and their ports by it, and asks it
// for the routes of queue pairs.
//
// Model: a host is one node, whose ports are the cables that leave it, wherever inside they begin;
// what lies between a GPU and a port (PCIe switches, NICs) delays and limits queue pairs but queues
// nothing; those of a GPU by one port share what leads to it. Nodes are numbered: hosts first, then
// packet switches. The ports of a node are numbered in order of their links.
// Threads: immutable; any thread may ask.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/packet/queue_pairs.hpp"
#include "network/routing/available_routes.hpp"
#include "network/routing/ecmp.hpp"

namespace weft {

class Topology;

class PacketTopology {
 public:
  struct Port {
    LinkId out;
    std::uint32_t peer_node = 0;
    std::uint32_t peer_port = 0;
  };

  /// Keeps a reference to the topology.
  PacketTopology(const Topology& topology, const PathRule& rule);

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(ports_begin_.size()) - 1; }
  std::uint32_t host_count() const { return host_count_; }
  bool is_host(std::uint32_t node) const { return node < host_count_; }
  /// The switch that a node is. Requires: node >= host_count().
  NodeId switch_of(std::uint32_t node) const { return switches_[node - host_count_]; }
  std::span<const Port> ports(std::uint32_t node) const {
    return std::span(ports_).subspan(ports_begin_[node], ports_begin_[node + 1] - ports_begin_[node]);
  }

  /// A way from endpoint to endpoint of another host.
  struct Route {
    QueuePairs::Ports ports{};  ///< of the nodes that a packet leaves
    std::vector<LinkId> links;  ///< between nodes
    Duration inside_hosts;      ///< propagation before the first of them and after the last
    /// The least there.
    Bandwidth inside_rate = Bandwidth::bps(std::numeric_limits<std::int64_t>::max());
    /// The least before the first of them.
    Bandwidth source_rate = Bandwidth::bps(std::numeric_limits<std::int64_t>::max());
  };
  /// The one of network/routing/ecmp. Throws InputError [relaying-host] where it leads through a
  /// third host, [long-path] where it has more hops than a route holds.
  Route route(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) const;
  /// While some links are avoided; none where no route is left, or only such as way() throws for.
  std::optional<Route> reroute(const AvailableRoutes& routes, NodeId source, NodeId destination, std::uint32_t connection,
                               std::uint32_t queue_pair) const;
  /// Appends the ports of a switch that lead to an endpoint over fewest links, and through no host;
  /// where all that are left lead through one, those of the topology's own routes. Appends as many
  /// weights, where next hops have some. Throws InputError [relaying-host] where one of these does.
  void ports_to(const AvailableRoutes& routes, std::uint32_t node, NodeId endpoint, std::vector<std::uint16_t>& ports,
                std::vector<std::int64_t>& weights) const;
  /// What all routes from a node to an endpoint can carry together while nothing is out. Requires:
  /// the rule has weights.
  Bandwidth capacity(NodeId from, NodeId endpoint) const { return own_.between(from, endpoint).weights->capacity(from, endpoint); }
  /// Of all routes from a switch to an endpoint while nothing is out: the least sum of what `cost`
  /// says of their links, and the link that ends all of them; none() if they end in several.
  struct LeastRoute {
    Duration cost;
    LinkId last = LinkId::none();
  };
  LeastRoute least_route(NodeId from, NodeId endpoint, const std::function<Duration(LinkId)>& cost) const;
  struct CableEnd {
    std::uint32_t node = 0;
    std::uint32_t port = 0;
  };
  bool is_cable(LinkId link) const;  ///< not inside a host
  /// Where a link begins. Requires: is_cable().
  CableEnd begin_of(LinkId link) const;

 private:
  struct Followed {
    Route route;
    /// A third host that it leads through, where it was followed no further.
    HostId relay = HostId::none();
    bool is_too_long = false;
  };
  Followed follow(const WeighedRoutes& routes, NodeId source, NodeId destination, std::uint32_t connection,
                  std::uint32_t queue_pair) const;
  /// Those that lead through no third host, of which one is returned if there are any.
  HostId add_ports(const WeighedRoutes& by, std::uint32_t node, NodeId endpoint, std::vector<std::uint16_t>& ports,
                   std::vector<std::int64_t>& weights) const;

  const Topology& topology_;
  PathRule rule_;
  AvailableRoutes own_;  ///< nothing is out
  std::uint32_t host_count_;
  std::vector<NodeId> switches_;
  std::vector<std::uint32_t> node_of_switch_;  ///< by NodeId
  std::vector<std::uint32_t> ports_begin_;     ///< CSR by node over ports_
  std::vector<Port> ports_;
  std::vector<std::uint16_t> port_of_link_;  ///< at the node that it leaves; `none` inside hosts
};

}  // namespace weft
