// SPDX-License-Identifier: Apache-2.0
#include "topologies/topology.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/searched_routes.hpp"

namespace weft {

namespace {

std::string_view level_name(std::uint8_t level) {
  constexpr std::array<std::string_view, 4> names = {"switch", "leaf", "agg", "spine"};
  return level < names.size() ? names[level] : "switch";
}

/// Which nodes can forward to each other: NICs and packet switches outside, NVSwitches inside their
/// host, PCIe switches inside theirs.
class ForwardingIslands {
 public:
  explicit ForwardingIslands(const Topology& topology)
      : topology_(topology), rank_(topology.node_count(), 0), parent_(topology.node_count()), sets_(rank_.data(), parent_.data()) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
    for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
      const Link& link = topology.link(LinkId(i));
      const NodeKind a = topology.node(link.source).kind;
      const NodeKind b = topology.node(link.destination).kind;
      if (is_endpoint(a) || is_endpoint(b)) continue;
      if (class_of(a) == class_of(b)) sets_.union_set(link.source.index(), link.destination.index());
    }
    note_exits();
  }

  /// The islands an endpoint's cables reach, ascending.
  std::vector<std::uint32_t> reached_by(NodeId endpoint) {
    std::vector<std::uint32_t> islands;
    for (const LinkId link : topology_.out_links(endpoint)) {
      const NodeId to = topology_.link(link).destination;
      const NodeKind kind = topology_.node(to).kind;
      if (is_endpoint(kind)) continue;
      const std::uint32_t island = sets_.find_set(to.index());
      islands.push_back(island);
      if (kind != NodeKind::pcie_switch) continue;
      const auto exits = exits_.find(island);
      if (exits != exits_.end()) islands.insert(islands.end(), exits->second.begin(), exits->second.end());
    }
    std::sort(islands.begin(), islands.end());
    islands.erase(std::unique(islands.begin(), islands.end()), islands.end());
    return islands;
  }

 private:
  enum class Class : std::uint8_t { nvlink, pcie, fabric };
  static Class class_of(NodeKind kind) {
    if (kind == NodeKind::nvswitch) return Class::nvlink;
    return kind == NodeKind::pcie_switch ? Class::pcie : Class::fabric;
  }

  /// The PCIe switches of a host lead its own endpoints out to the NICs' islands; nobody else may
  /// cross them.
  void note_exits() {
    for (std::uint32_t i = 0; i < topology_.link_count(); ++i) {
      const Link& link = topology_.link(LinkId(i));
      if (topology_.node(link.source).kind != NodeKind::pcie_switch) continue;
      if (topology_.node(link.destination).kind != NodeKind::nic) continue;
      exits_[sets_.find_set(link.source.index())].insert(sets_.find_set(link.destination.index()));
    }
  }

  const Topology& topology_;
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> parent_;
  boost::disjoint_sets<std::uint32_t*, std::uint32_t*> sets_;
  /// Islands beyond an island of PCIe switches.
  std::map<std::uint32_t, std::set<std::uint32_t>> exits_;
};

bool share_one(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return true;
    *i < *j ? static_cast<void>(++i) : static_cast<void>(++j);
  }
  return false;
}

bool have_cable(const Topology& topology, NodeId a, NodeId b) {
  const auto links = topology.out_links(a);
  return std::any_of(links.begin(), links.end(), [&](LinkId link) { return topology.link(link).destination == b; });
}

/// Two endpoints without a path, if there are any. Two endpoints have one if a cable joins them or
/// an island reaches both.
///
/// Endpoints that reach the same islands are alike, so sets of islands are compared, not endpoints.
/// Where two sets have no island in common, only direct cables can help; the first pair without one
/// is the answer, so this ends early or has cables to show for it.
std::optional<std::pair<NodeId, NodeId>> find_unconnected(const Topology& topology) {
  ForwardingIslands islands(topology);
  const auto endpoints = topology.endpoints();
  std::vector<std::uint32_t> common = islands.reached_by(endpoints[0]);
  std::map<std::vector<std::uint32_t>, std::vector<NodeId>> alike;
  for (const NodeId endpoint : endpoints) {
    std::vector<std::uint32_t> reached = islands.reached_by(endpoint);
    std::vector<std::uint32_t> still;
    std::set_intersection(common.begin(), common.end(), reached.begin(), reached.end(), std::back_inserter(still));
    common = std::move(still);
    alike[std::move(reached)].push_back(endpoint);
  }
  if (!common.empty()) return std::nullopt;
  std::optional<std::pair<NodeId, NodeId>> found;
  for (auto a = alike.begin(); a != alike.end() && !found; ++a) {
    for (auto b = a; b != alike.end() && !found; ++b) {
      if (share_one(a->first, b->first)) continue;
      for (const NodeId from : a->second) {
        for (const NodeId to : b->second) {
          if (from == to || have_cable(topology, from, to)) continue;
          found.emplace(std::min(from, to), std::max(from, to));
          break;
        }
        if (found) break;
      }
    }
  }
  return found;
}

}  // namespace

std::string_view to_text(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "gpu";
    case NodeKind::host:
      return "host";
    case NodeKind::nvswitch:
      return "nvswitch";
    case NodeKind::nic:
      return "nic";
    case NodeKind::pcie_switch:
      return "pcie";
    case NodeKind::packet_switch:
      return "switch";
  }
  return "";
}

std::string Topology::node_name(NodeId id) const {
  if (!names_.empty() && !names_[id.index()].empty()) return names_[id.index()];
  const Node& at = node(id);
  const std::uint32_t number = ordinal_[id.index()];
  if (at.kind == NodeKind::packet_switch) return fmt::format("{}{}", level_name(at.level), number);
  if (at.kind == NodeKind::host && number == 0) return fmt::format("host{}", at.host.index());
  return fmt::format("host{}/{}{}", at.host.index(), at.kind == NodeKind::host ? "port" : to_text(at.kind), number);
}

std::string Topology::link_name(LinkId id) const {
  return fmt::format("{}->{}", node_name(link(id).source), node_name(link(id).destination));
}

const WideAreaLine* Topology::wide_area(LinkId id) const {
  if (wide_area_.empty()) return nullptr;
  const auto line = std::ranges::lower_bound(wide_area_, id, {}, &std::pair<LinkId, WideAreaLine>::first);
  return line != wide_area_.end() && line->first == id ? &line->second : nullptr;
}

std::span<const LinkId> Topology::out_links(NodeId id) const {
  return std::span(out_links_).subspan(out_begin_[id.index()], out_begin_[id.index() + 1] - out_begin_[id.index()]);
}

std::span<const NodeId> Topology::endpoints_of(HostId host) const {
  const std::uint32_t begin = host_endpoints_begin_[host.index()];
  return std::span(endpoints_).subspan(begin, host_endpoints_begin_[host.index() + 1] - begin);
}

TopologyBuilder::TopologyBuilder(std::string name) : topology_(new Topology) { topology_->name_ = std::move(name); }

HostId TopologyBuilder::add_host() { return HostId(host_count_++); }

NodeId TopologyBuilder::add_node(const Node& node, std::string name) {
  const auto index = static_cast<std::uint32_t>(topology_->nodes_.size());
  WEFT_CHECK(index < UINT32_MAX, "node ids fit 32 bits");
  topology_->nodes_.push_back(node);
  if (!name.empty()) {
    topology_->names_.resize(index);
    topology_->names_.push_back(std::move(name));
  }
  return NodeId(index);
}

NodeId TopologyBuilder::add_endpoint(HostId host, NodeKind kind, std::string name) {
  WEFT_CHECK(is_endpoint(kind), "an endpoint is a gpu or a host port");
  WEFT_CHECK(host.index() < host_count_, "the endpoint's host was added");
  return add_node({kind, 0, host, 0}, std::move(name));
}

NodeId TopologyBuilder::add_inside(HostId host, NodeKind kind, std::string name) {
  WEFT_CHECK(kind == NodeKind::nvswitch || kind == NodeKind::nic || kind == NodeKind::pcie_switch,
             "an inner node of a host is an nvswitch, a nic or a pcie switch");
  WEFT_CHECK(host.index() < host_count_, "the inner node's host was added");
  return add_node({kind, 0, host, 0}, std::move(name));
}

NodeId TopologyBuilder::add_switch(std::uint8_t level, std::string name, std::uint16_t buffer_class) {
  WEFT_CHECK(buffer_class == 0 || buffer_class < topology_->buffer_classes_.size(), "the switch's buffer class was added");
  return add_node({NodeKind::packet_switch, level, HostId::none(), buffer_class}, std::move(name));
}

std::uint16_t TopologyBuilder::add_buffer_class(BufferClass buffer_class) {
  WEFT_CHECK(topology_->buffer_classes_.size() < UINT16_MAX, "buffer classes fit 16 bits");
  topology_->buffer_classes_.push_back(std::move(buffer_class));
  return static_cast<std::uint16_t>(topology_->buffer_classes_.size() - 1);
}

LinkId TopologyBuilder::add_cable(NodeId a, NodeId b, Bandwidth there, Bandwidth back, Duration propagation_delay) {
  auto& nodes = topology_->nodes_;
  auto& links = topology_->links_;
  WEFT_CHECK(a.index() < nodes.size() && b.index() < nodes.size() && a != b, "a cable joins two nodes that were added");
  WEFT_CHECK(std::min(there, back) > Bandwidth::zero(), "a cable has a rate above zero");
  WEFT_CHECK(propagation_delay >= Duration::zero(), "a cable's delay is not negative");
  const Node& from = nodes[a.index()];
  const Node& to = nodes[b.index()];
  WEFT_CHECK((!stays_inside(from.kind) && !stays_inside(to.kind)) || from.host == to.host,
             "a cable of an nvswitch or a pcie switch stays inside its host");
  WEFT_CHECK(links.size() < UINT32_MAX - 2, "link ids fit 32 bits");
  links.push_back({a, b, there, propagation_delay});
  links.push_back({b, a, back, propagation_delay});
  return LinkId(static_cast<std::uint32_t>(links.size() - 2));
}

void TopologyBuilder::set_wide_area(LinkId cable, const WideAreaLine& there, const WideAreaLine& back) {
  WEFT_CHECK(cable.index() % 2 == 0 && cable.index() < topology_->links_.size(), "a wide-area line is a cable that was added");
  for (const WideAreaLine& line : {there, back}) {
    WEFT_CHECK(line.loss >= 0 && line.loss < 1, "a wide-area line loses a share of the packets");
    WEFT_CHECK(line.jitter >= Duration::zero(), "a jitter is not negative");
  }
  auto& lines = topology_->wide_area_;
  const auto after = std::ranges::lower_bound(lines, cable, {}, &std::pair<LinkId, WideAreaLine>::first);
  WEFT_CHECK(after == lines.end() || after->first != cable, "a cable is made a wide-area line once");
  lines.insert(after, {{cable, there}, {topology_->reverse(cable), back}});
}

std::shared_ptr<const Topology> TopologyBuilder::build(std::unique_ptr<const Routes> routes, const SourcePlace& place) && {
  Topology& t = *topology_;
  t.nodes_.shrink_to_fit();
  t.links_.shrink_to_fit();
  if (!t.names_.empty()) t.names_.resize(t.nodes_.size());

  // A node's links, and a host's endpoints, each by counting sort: ascending ids inside.
  t.out_begin_.assign(t.nodes_.size() + 1, 0);
  for (const Link& link : t.links_) ++t.out_begin_[link.source.index() + 1];
  std::partial_sum(t.out_begin_.begin(), t.out_begin_.end(), t.out_begin_.begin());
  t.out_links_.resize(t.links_.size());
  std::vector<std::uint32_t> next(t.out_begin_.begin(), t.out_begin_.end() - 1);
  for (std::uint32_t i = 0; i < t.links_.size(); ++i) t.out_links_[next[t.links_[i].source.index()]++] = LinkId(i);

  t.host_endpoints_begin_.assign(std::size_t{host_count_} + 1, 0);
  for (const Node& node : t.nodes_) {
    if (is_endpoint(node.kind)) ++t.host_endpoints_begin_[node.host.index() + 1];
  }
  for (std::size_t host = 1; host <= host_count_; ++host) {
    WEFT_CHECK(t.host_endpoints_begin_[host] > 0, "every host has an endpoint");
  }
  std::partial_sum(t.host_endpoints_begin_.begin(), t.host_endpoints_begin_.end(), t.host_endpoints_begin_.begin());
  t.endpoints_.resize(t.host_endpoints_begin_.back());
  next.assign(t.host_endpoints_begin_.begin(), t.host_endpoints_begin_.end() - 1);

  // Ordinals for made names: inside a host per kind, for switches per level.
  std::vector<std::array<std::uint32_t, 5>> inside(host_count_);
  std::array<std::uint32_t, UINT8_MAX + 1> switches{};
  t.ordinal_.resize(t.nodes_.size());
  for (std::uint32_t i = 0; i < t.nodes_.size(); ++i) {
    const Node& node = t.nodes_[i];
    if (is_endpoint(node.kind)) t.endpoints_[next[node.host.index()]++] = NodeId(i);
    // Levels beyond the named ones share the name "switch" with level 0, and so its numbers.
    t.ordinal_[i] = node.kind == NodeKind::packet_switch ? switches[level_name(node.level) == "switch" ? 0 : node.level]++
                                                         : inside[node.host.index()][static_cast<std::size_t>(node.kind)]++;
  }

  if (t.endpoints_.empty()) {
    fail("no-endpoints", fmt::format("the topology \"{}\" has no endpoint", t.name_), place,
         "add a host with at least one GPU or port; in files of numbered nodes, hosts are those that are no switches");
  }
  if (const auto pair = find_unconnected(t)) {
    fail("disconnected", fmt::format("there is no path from \"{}\" to \"{}\"", t.node_name(pair->first), t.node_name(pair->second)),
         place, "join them by links over NICs and packet switches; NVSwitches and PCIe switches only serve their own host");
  }
  t.routes_ = routes != nullptr ? std::move(routes) : searched_routes(t);
  return std::shared_ptr<const Topology>(topology_.release());
}

std::shared_ptr<const Topology> with_rates(const std::shared_ptr<const Topology>& topology,
                                           std::span<const std::pair<LinkId, Bandwidth>> rates) {
  auto changed = std::make_shared<Topology>(*topology);
  for (const auto& [link, rate] : rates) {
    WEFT_CHECK(rate > Bandwidth::bps(0), "a link has a rate");
    changed->links_[link.index()].rate = rate;
  }
  changed->routes_ = std::shared_ptr<const Routes>(topology, topology->routes_.get());
  return changed;
}

}  // namespace weft
