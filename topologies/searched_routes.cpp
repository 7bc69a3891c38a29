// SPDX-License-Identifier: Apache-2.0
#include "topologies/searched_routes.hpp"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/two_bit_color_map.hpp>
#include <boost/pending/queue.hpp>
#include <map>
#include <mutex>
#include <utility>

#include "core/check.hpp"
#include "topologies/connected_parts.hpp"

namespace weft {

namespace {

using Hops = std::uint16_t;
constexpr Hops unreachable = UINT16_MAX;

/// Links that may follow each other outside hosts: those that leave NICs, PCIe and packet switches,
/// and do not enter an NVSwitch.
using FabricGraph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property, boost::no_property, std::uint32_t>;

/// By LinkId; perhaps empty.
bool has(const std::vector<bool>& links, LinkId link) { return !links.empty() && links[link.index()]; }

FabricGraph fabric_graph(const Topology& topology, const std::vector<bool>& is_out) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    if (!forwards(topology.node(NodeId(node)).kind)) continue;
    for (const LinkId link : topology.out_links(NodeId(node))) {
      const NodeId to = topology.link(link).destination;
      if (topology.node(to).kind != NodeKind::nvswitch && !has(is_out, link)) edges.emplace_back(node, to.index());
    }
  }
  return {boost::edges_are_sorted, edges.begin(), edges.end(), static_cast<std::uint32_t>(topology.node_count())};
}

/// Does a way inside its host, over PCIe switches or none, lead from the NIC to the endpoint?
bool leads_inside(const Topology& topology, NodeId nic, NodeId endpoint) {
  std::vector<NodeId> nodes{nic};
  for (std::size_t next = 0; next < nodes.size(); ++next) {
    for (const LinkId link : topology.out_links(nodes[next])) {
      const NodeId to = topology.link(link).destination;
      if (to == endpoint) return true;
      if (topology.node(to).kind == NodeKind::pcie_switch && std::ranges::find(nodes, to) == nodes.end()) nodes.push_back(to);
    }
  }
  return false;
}

/// Traffic goes from a NIC to a PCIe switch only if its destination is in that host: hosts are no
/// way between NICs for others. Nor, where they do not relay, are NICs a way between switches: it
/// goes from a switch to a NIC only if that leads to its destination.
bool passes_through_host(const Topology& topology, NodeId from, NodeId to, NodeId destination, bool relay) {
  const Node& enters = topology.node(to);
  const NodeKind leaves = topology.node(from).kind;
  const bool is_there = enters.host == topology.node(destination).host;
  if (enters.kind == NodeKind::pcie_switch) return leaves == NodeKind::nic && !is_there;
  if (relay || enters.kind != NodeKind::nic || leaves != NodeKind::packet_switch) return false;
  return !is_there || !leads_inside(topology, to, destination);
}

/// Edges of the search, which runs against the traffic: from the destination outwards.
class AllowedEdges {
 public:
  AllowedEdges() = default;
  AllowedEdges(const Topology& topology, const FabricGraph& graph, NodeId destination, bool relay)
      : topology_(&topology), graph_(&graph), destination_(destination), relay_(relay) {}
  template <class Edge>
  bool operator()(Edge edge) const {
    const NodeId from(boost::target(edge, *graph_));
    return !passes_through_host(*topology_, from, NodeId(boost::source(edge, *graph_)), destination_, relay_);
  }

 private:
  const Topology* topology_ = nullptr;
  const FabricGraph* graph_ = nullptr;
  NodeId destination_ = NodeId::none();
  bool relay_ = true;
};

class HopCounter : public boost::default_bfs_visitor {
 public:
  explicit HopCounter(std::vector<Hops>& hops) : hops_(&hops) {}
  template <class Edge, class Graph>
  void tree_edge(Edge edge, const Graph& graph) const {
    const Hops next = static_cast<Hops>((*hops_)[boost::source(edge, graph)] + 1);
    WEFT_CHECK(next < unreachable, "a path has fewer than 65,535 links");
    (*hops_)[boost::target(edge, graph)] = next;
  }

 private:
  std::vector<Hops>* hops_;
};

/// Distances in links to an endpoint, per node, over NICs, PCIe switches and packet switches. Of
/// the endpoint itself it says nothing of use.
using HopTable = std::vector<Hops>;

/// Nodes next to an endpoint outside its host's NVSwitches, ascending.
std::vector<std::uint32_t> neighbours_outside(const Topology& topology, NodeId endpoint, const std::vector<bool>& is_out) {
  std::vector<std::uint32_t> neighbours;
  for (const LinkId link : topology.out_links(endpoint)) {
    const NodeId to = topology.link(link).destination;
    if (topology.node(to).kind != NodeKind::nvswitch && !has(is_out, link)) neighbours.push_back(to.index());
  }
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  return neighbours;
}

/// Distances to an endpoint inside its host, over switches of one kind or a direct cable.
class InsideDistances {
 public:
  InsideDistances(const Topology& topology, NodeId destination, NodeKind over) : reached_{{destination, Hops{0}}} {
    const HostId host = topology.node(destination).host;
    for (std::size_t next = 0; next < reached_.size(); ++next) {
      const auto [node, hops] = reached_[next];
      if (node != destination && topology.node(node).kind != over) continue;
      for (const LinkId link : topology.out_links(node)) {
        const NodeId to = topology.link(link).destination;
        if (topology.node(to).host == host && of(to) == unreachable) reached_.emplace_back(to, static_cast<Hops>(hops + 1));
      }
    }
  }
  Hops of(NodeId node) const {
    const auto at = std::find_if(reached_.begin(), reached_.end(), [node](const auto& entry) { return entry.first == node; });
    return at != reached_.end() ? at->second : unreachable;
  }

 private:
  std::vector<std::pair<NodeId, Hops>> reached_;
};

class SearchedRoutes final : public Routes {
 public:
  SearchedRoutes(const Topology& topology, std::size_t slots, const std::vector<bool>& is_out)
      : is_out_(is_out),
        graph_(fabric_graph(topology, is_out)),
        // With all cables in service, no shortest way passes through the NICs of hosts that do not
        // relay.
        relay_(is_out.empty() || has_one_port_nics(topology) || nics_relay(topology)),
        tells_hosts_apart_(!relay_ || has_pcie(topology)) {
    table_of_.assign(topology.node_count(), no_table);
    std::map<std::vector<std::uint32_t>, std::uint32_t> tables;
    for (const NodeId endpoint : topology.endpoints()) {
      const auto number = static_cast<std::uint32_t>(tables.size());
      // Endpoints with the same neighbours share a table, unless ways into hosts tell them apart.
      std::vector<std::uint32_t> key = neighbours_outside(topology, endpoint, is_out_);
      if (tells_hosts_apart_) key.push_back(topology.node(endpoint).host.index());
      table_of_[endpoint.index()] = tables.try_emplace(std::move(key), number).first->second;
    }
    slots_ = std::vector<Slot>(slots > 0 ? slots : default_route_slots(topology.node_count(), tables.size()));
  }

  void next_hops(const Topology& topology, NodeId at, NodeId destination, std::vector<LinkId>& out) const override {
    out.clear();
    WEFT_CHECK(table_of_[destination.index()] != no_table, "routes lead to endpoints");
    if (topology.node(at).host == topology.node(destination).host) {
      for (const NodeKind over : {NodeKind::nvswitch, NodeKind::pcie_switch}) {
        const InsideDistances inside(topology, destination, over);
        const Hops here = inside.of(at);
        if (here == unreachable) continue;
        for (const LinkId link : topology.out_links(at)) {
          const NodeId to = topology.link(link).destination;
          const bool allowed = to == destination || topology.node(to).kind == over;
          if (allowed && inside.of(to) == here - 1) out.push_back(link);
        }
        return;
      }
    }
    const std::shared_ptr<const HopTable> table = table_to(topology, destination);
    const Hops here = (*table)[at.index()];
    if (here == unreachable) return;
    for (const LinkId link : topology.out_links(at)) {
      if (has(is_out_, link)) continue;
      const NodeId to = topology.link(link).destination;
      const bool nearer = to == destination ? here == 1 : forwards(topology.node(to).kind) && (*table)[to.index()] == here - 1;
      if (nearer && !passes_through_host(topology, at, to, destination, relay_)) out.push_back(link);
    }
  }

 private:
  static constexpr std::uint32_t no_table = UINT32_MAX;

  static bool has_pcie(const Topology& topology) {
    for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
      if (topology.node(NodeId(i)).kind == NodeKind::pcie_switch) return true;
    }
    return false;
  }

  struct Slot {
    std::mutex mutex;
    std::uint32_t number = no_table;
    std::shared_ptr<const HopTable> table;
  };

  std::shared_ptr<const HopTable> table_to(const Topology& topology, NodeId destination) const {
    const std::uint32_t number = table_of_[destination.index()];
    Slot& slot = slots_[number % slots_.size()];
    const std::lock_guard lock(slot.mutex);
    if (slot.number != number) {
      slot.table = std::make_shared<const HopTable>(search(topology, destination));
      slot.number = number;
    }
    return slot.table;
  }

  HopTable search(const Topology& topology, NodeId destination) const {
    HopTable hops(topology.node_count(), unreachable);
    const std::vector<std::uint32_t> neighbours = neighbours_outside(topology, destination, is_out_);
    for (const std::uint32_t node : neighbours) hops[node] = 1;
    boost::two_bit_color_map<> colors(topology.node_count());
    boost::queue<std::uint32_t> frontier;
    if (!tells_hosts_apart_) {
      boost::breadth_first_visit(graph_, neighbours.begin(), neighbours.end(), frontier, HopCounter(hops), colors);
      return hops;
    }
    const AllowedEdges allowed(topology, graph_, destination, relay_);
    const boost::filtered_graph<FabricGraph, AllowedEdges> graph(graph_, allowed);
    boost::breadth_first_visit(graph, neighbours.begin(), neighbours.end(), frontier, HopCounter(hops), colors);
    return hops;
  }

  std::vector<bool> is_out_;  ///< by LinkId; empty: none
  FabricGraph graph_;
  bool relay_;
  bool tells_hosts_apart_;
  std::vector<std::uint32_t> table_of_;  ///< per node; no_table where it is no endpoint
  mutable std::vector<Slot> slots_;
};

}  // namespace

std::size_t default_route_slots(std::size_t node_count, std::size_t table_count) {
  constexpr std::size_t budget_bytes = std::size_t{64} << 20;
  constexpr std::size_t slots_min = 65;
  const std::size_t affordable = std::max(budget_bytes / (sizeof(Hops) * std::max<std::size_t>(node_count, 1)), slots_min);
  if (table_count <= affordable) return std::max<std::size_t>(table_count, 1);
  // Destinations in even strides, such as one GPU per host, meet in fewer slots when these are even
  // in number.
  return affordable % 2 == 0 ? affordable - 1 : affordable;
}

std::unique_ptr<const Routes> searched_routes(const Topology& topology, std::size_t slots, const std::vector<bool>& is_out) {
  return std::make_unique<SearchedRoutes>(topology, slots, is_out);
}

}  // namespace weft
