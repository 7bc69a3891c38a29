#include "topologies/cut_off.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace weft {

namespace {

bool is_outside(NodeKind kind) { return kind == NodeKind::nic || kind == NodeKind::packet_switch; }

/// NICs and packet switches, with the part of the network that each belongs to.
class Parts {
 public:
  Parts(const Topology& topology, const std::vector<bool>& is_out) : above_(topology.node_count()) {
    std::iota(above_.begin(), above_.end(), 0U);
    for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
      const Link& link = topology.link(LinkId(i));
      if (is_out[i] || !is_outside(topology.node(link.source).kind) || !is_outside(topology.node(link.destination).kind)) continue;
      const std::uint32_t a = of(link.source);
      const std::uint32_t b = of(link.destination);
      above_[std::max(a, b)] = std::min(a, b);
    }
  }
  std::uint32_t of(NodeId node) {
    std::uint32_t top = node.index();
    while (above_[top] != top) top = above_[top] = above_[above_[top]];
    return top;
  }

 private:
  std::vector<std::uint32_t> above_;
};

/// NICs and switches that ways inside its host lead an endpoint to, cables that are out among them.
class Doors {
 public:
  explicit Doors(const Topology& topology) : topology_(topology), seen_(topology.node_count(), UINT32_MAX) {}

  struct Door {
    NodeId node;
    bool is_open = false;
  };
  /// Valid until the next call. A door may stand there twice.
  std::span<const Door> of(NodeId endpoint, const std::vector<bool>& is_out) {
    doors_.clear();
    open_.assign(1, endpoint);
    seen_[endpoint.index()] = endpoint.index();
    while (!open_.empty()) {
      const NodeId node = open_.back();
      open_.pop_back();
      for (const LinkId link : topology_.out_links(node)) {
        const NodeId next = topology_.link(link).destination;
        const NodeKind kind = topology_.node(next).kind;
        if (is_outside(kind)) doors_.push_back({next, !is_out[link.index()]});
        if (kind != NodeKind::pcie_switch || seen_[next.index()] == endpoint.index()) continue;
        seen_[next.index()] = endpoint.index();
        open_.push_back(next);
      }
    }
    return doors_;
  }

 private:
  const Topology& topology_;
  std::vector<std::uint32_t> seen_;  ///< by node: the endpoint whose search met it last
  std::vector<NodeId> open_;
  std::vector<Door> doors_;
};

}  // namespace

std::vector<bool> cut_off_endpoints(const Topology& topology, const std::vector<bool>& is_out) {
  Parts parts(topology, is_out);
  Doors doors(topology);
  const std::span<const NodeId> endpoints = topology.endpoints();
  std::vector<bool> cut_off(endpoints.size(), false);
  std::vector<std::uint32_t> size(topology.node_count(), 0);    // by part: its endpoints
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stands;  // place of an endpoint, and a part that it is at
  std::uint32_t all = 0;
  std::uint32_t largest = UINT32_MAX;
  std::vector<std::uint32_t> of_endpoint;
  for (std::uint32_t place = 0; place < endpoints.size(); ++place) {
    const std::span<const Doors::Door> found = doors.of(endpoints[place], is_out);
    if (found.empty()) continue;
    ++all;
    cut_off[place] = true;
    of_endpoint.clear();
    for (const Doors::Door& door : found) {
      if (door.is_open) of_endpoint.push_back(parts.of(door.node));
    }
    std::sort(of_endpoint.begin(), of_endpoint.end());
    of_endpoint.erase(std::unique(of_endpoint.begin(), of_endpoint.end()), of_endpoint.end());
    for (const std::uint32_t part : of_endpoint) {
      ++size[part];
      stands.emplace_back(place, part);
    }
  }
  // In order of endpoints, so that of equal ones the first stands.
  for (const auto& [place, part] : stands) {
    if (largest == UINT32_MAX || size[part] > size[largest]) largest = part;
  }
  for (const auto& [place, part] : stands) {
    if (part == largest || size[part] > all / 2) cut_off[place] = false;
  }
  return cut_off;
}

}  // namespace weft
