#include "topologies/searched_routes.hpp"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/two_bit_color_map.hpp>
#include <boost/pending/queue.hpp>
#include <mutex>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

using Hops = std::uint16_t;
constexpr Hops unreachable = UINT16_MAX;

bool forwards(NodeKind kind) { return kind == NodeKind::nic || kind == NodeKind::packet_switch; }
bool is_endpoint(NodeKind kind) { return kind == NodeKind::gpu || kind == NodeKind::host; }

/// Links that may follow each other outside hosts: those that leave NICs and packet switches, and do not enter an NVSwitch.
using FabricGraph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property, boost::no_property, std::uint32_t>;

FabricGraph fabric_graph(const Topology& topology) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    if (!forwards(topology.node(NodeId(node)).kind)) continue;
    for (const LinkId link : topology.out_links(NodeId(node))) {
      const NodeId to = topology.link(link).destination;
      if (topology.node(to).kind != NodeKind::nvswitch) edges.emplace_back(node, to.index());
    }
  }
  return {boost::edges_are_sorted, edges.begin(), edges.end(), static_cast<std::uint32_t>(topology.node_count())};
}

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

/// Distances to one endpoint.
struct HopTable {
  std::vector<Hops> outside;                    ///< per node, over NICs and packet switches
  std::vector<std::pair<NodeId, Hops>> inside;  ///< nodes of the destination's host with a path over NVSwitches or a direct cable
  Hops inside_of(NodeId node) const {
    const auto at = std::lower_bound(inside.begin(), inside.end(), node, [](const auto& a, NodeId b) { return a.first < b; });
    return at != inside.end() && at->first == node ? at->second : unreachable;
  }
};

class SearchedRoutes final : public Routes {
 public:
  SearchedRoutes(const Topology& topology, std::size_t slots) : graph_(fabric_graph(topology)), slots_(slots) {
    endpoint_ordinal_.assign(topology.node_count(), 0);
    std::uint32_t ordinal = 0;
    for (const NodeId endpoint : topology.endpoints()) endpoint_ordinal_[endpoint.index()] = ordinal++;
  }

  void next_hops(const Topology& topology, NodeId at, NodeId destination, std::vector<LinkId>& out) const override {
    out.clear();
    const std::shared_ptr<const HopTable> table = table_to(topology, destination);
    const Hops inside = table->inside_of(at);
    if (inside != unreachable) {
      for (const LinkId link : topology.out_links(at)) {
        const NodeId to = topology.link(link).destination;
        const bool allowed = to == destination || topology.node(to).kind == NodeKind::nvswitch;
        if (allowed && table->inside_of(to) == inside - 1) out.push_back(link);
      }
      return;
    }
    const Hops outside = table->outside[at.index()];
    if (outside == unreachable) return;
    for (const LinkId link : topology.out_links(at)) {
      const NodeId to = topology.link(link).destination;
      const bool allowed = to == destination || forwards(topology.node(to).kind);
      if (allowed && table->outside[to.index()] == outside - 1) out.push_back(link);
    }
  }

 private:
  struct Slot {
    std::mutex mutex;
    NodeId destination = NodeId::none();
    std::shared_ptr<const HopTable> table;
  };

  std::shared_ptr<const HopTable> table_to(const Topology& topology, NodeId destination) const {
    Slot& slot = slots_[endpoint_ordinal_[destination.index()] % slots_.size()];
    const std::lock_guard lock(slot.mutex);
    if (slot.destination != destination) {
      slot.table = std::make_shared<const HopTable>(search(topology, destination));
      slot.destination = destination;
    }
    return slot.table;
  }

  HopTable search(const Topology& topology, NodeId destination) const {
    WEFT_CHECK(is_endpoint(topology.node(destination).kind), "routes lead to endpoints");
    HopTable table;
    table.outside.assign(topology.node_count(), unreachable);
    // The destination's own links are its first step back; beyond them only NICs and packet switches forward.
    std::vector<std::uint32_t> first;
    for (const LinkId link : topology.out_links(destination)) {
      const NodeId to = topology.link(link).destination;
      if (topology.node(to).kind != NodeKind::nvswitch) first.push_back(to.index());
    }
    std::sort(first.begin(), first.end());
    first.erase(std::unique(first.begin(), first.end()), first.end());
    for (const std::uint32_t node : first) table.outside[node] = 1;
    boost::two_bit_color_map<> colors(topology.node_count());
    put(colors, destination.index(), boost::two_bit_black);
    boost::queue<std::uint32_t> frontier;
    boost::breadth_first_visit(graph_, first.begin(), first.end(), frontier, HopCounter(table.outside), colors);
    table.outside[destination.index()] = 0;

    const HostId host = topology.node(destination).host;
    table.inside.emplace_back(destination, Hops{0});
    for (std::size_t next = 0; next < table.inside.size(); ++next) {
      const auto [node, hops] = table.inside[next];
      if (node != destination && topology.node(node).kind != NodeKind::nvswitch) continue;
      for (const LinkId link : topology.out_links(node)) {
        const NodeId to = topology.link(link).destination;
        const bool seen =
            std::any_of(table.inside.begin(), table.inside.end(), [to = to](const auto& entry) { return entry.first == to; });
        if (!seen && topology.node(to).host == host) table.inside.emplace_back(to, static_cast<Hops>(hops + 1));
      }
    }
    std::sort(table.inside.begin(), table.inside.end());
    return table;
  }

  FabricGraph graph_;
  std::vector<std::uint32_t> endpoint_ordinal_;
  mutable std::vector<Slot> slots_;
};

}  // namespace

std::size_t default_route_slots(std::size_t node_count, std::size_t endpoint_count) {
  constexpr std::size_t budget_bytes = std::size_t{64} << 20;
  constexpr std::size_t slots_min = 64;
  const std::size_t affordable = budget_bytes / (sizeof(Hops) * std::max<std::size_t>(node_count, 1));
  return std::max<std::size_t>(1, std::min(endpoint_count, std::max(affordable, slots_min)));
}

std::unique_ptr<const Routes> searched_routes(const Topology& topology, std::size_t slots) {
  if (slots == 0) slots = default_route_slots(topology.node_count(), topology.endpoints().size());
  return std::make_unique<SearchedRoutes>(topology, slots);
}

}  // namespace weft
