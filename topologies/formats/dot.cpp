// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/dot.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "topologies/topology_summary.hpp"

namespace weft {

namespace {

/// A string of Graphviz: quotes are escaped, and backslashes, which would begin an escape of its
/// own.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

std::string head(const Topology& topology) {
  return fmt::format(
      "graph {} {{\n"
      "  rankdir=BT;\n"
      "  ranksep=1;\n"
      "  node [shape=box, fontname=\"Helvetica\"];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9];\n",
      quoted(topology.name()));
}

/// Names per tier as subgraphs of one rank.
std::string ranks(const std::map<std::uint32_t, std::vector<std::string>>& tiers) {
  std::string out;
  for (const auto& [tier, names] : tiers) {
    out += "  { rank=same;";
    for (const std::string& name : names) out += fmt::format(" {};", name);
    out += " }\n";
  }
  return out;
}

/// Gives every value of a list its place among the different ones.
template <class Value>
std::vector<std::uint32_t> numbered(const std::vector<Value>& values) {
  std::map<Value, std::uint32_t> numbers;
  for (const Value& value : values) numbers.emplace(value, 0);
  std::uint32_t next = 0;
  for (auto& [value, number] : numbers) number = next++;
  std::vector<std::uint32_t> result;
  for (const Value& value : values) result.push_back(numbers.at(value));
  return result;
}

/// Hosts and switches as units, dealt to classes of alike ones.
class Classes {
 public:
  explicit Classes(const Topology& topology) : topology_(topology), unit_(topology.node_count()) {
    const auto hosts = static_cast<std::uint32_t>(topology.host_count());
    std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>> first(hosts);
    const std::vector<std::uint32_t> tiers = tiers_of(topology);
    for (std::uint32_t host = 0; host < hosts; ++host) std::get<1>(first[host]) = topology.endpoints_of(HostId(host)).size();
    for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
      const Node& node = topology.node(NodeId(i));
      if (node.kind == NodeKind::packet_switch) {
        unit_[i] = static_cast<std::uint32_t>(first.size());
        first.emplace_back(tiers[i] == TopologySummary::no_tier ? 0 : tiers[i], 0, 0);
      } else {
        unit_[i] = node.host.index();
        ++std::get<2>(first[node.host.index()]);
      }
    }
    class_ = numbered(first);
    refine(first.size());
  }

  std::uint32_t of(NodeId node) const { return class_[unit_[node.index()]]; }
  std::size_t count() const { return *std::max_element(class_.begin(), class_.end()) + std::size_t{1}; }
  std::uint32_t of_unit(std::size_t unit) const { return class_[unit]; }
  std::size_t unit_count() const { return class_.size(); }
  bool joins_units(const Link& link) const { return unit_[link.source.index()] != unit_[link.destination.index()]; }

 private:
  void refine(std::size_t units) {
    while (true) {
      std::vector<std::vector<std::tuple<std::uint32_t, std::int64_t>>> seen(units);
      for (std::uint32_t i = 0; i < topology_.link_count(); ++i) {
        const Link& link = topology_.link(LinkId(i));
        if (joins_units(link)) seen[unit_[link.source.index()]].emplace_back(of(link.destination), link.rate.in_bps());
      }
      std::vector<std::pair<std::uint32_t, std::vector<std::tuple<std::uint32_t, std::int64_t>>>> keys(units);
      for (std::size_t unit = 0; unit < units; ++unit) {
        std::sort(seen[unit].begin(), seen[unit].end());
        keys[unit] = {class_[unit], std::move(seen[unit])};
      }
      const std::size_t before = count();
      class_ = numbered(keys);
      if (count() == before) return;
    }
  }

  const Topology& topology_;
  std::vector<std::uint32_t> unit_;   ///< per node
  std::vector<std::uint32_t> class_;  ///< per unit
};

std::string rates_text(Bandwidth rate, Bandwidth rate_back) {
  return rate == rate_back ? to_text(rate) : fmt::format("{}, back {}", to_text(rate), to_text(rate_back));
}

}  // namespace

std::string write_dot(const Topology& topology) {
  std::string out = head(topology);
  const std::vector<std::uint32_t> tiers = tiers_of(topology);
  std::vector<std::string> hosts(topology.host_count());
  std::map<std::uint32_t, std::vector<std::string>> names;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    const std::string name = quoted(topology.node_name(NodeId(i)));
    if (node.kind == NodeKind::packet_switch) {
      out += fmt::format("  {} [shape=ellipse];\n", name);
      names[tiers[i]].push_back(name);
    } else {
      hosts[node.host.index()] += fmt::format("    {}{}", name, is_endpoint(node.kind) ? " [style=bold];\n" : ";\n");
    }
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    out += fmt::format("  subgraph cluster_{} {{\n    label=\"host {}\";\n{}  }}\n", i, i, hosts[i]);
  }
  out += ranks(names);
  // Cables alike are one edge; it leads upwards, so that Graphviz stacks the tiers.
  std::map<std::tuple<NodeId, NodeId, Bandwidth, Bandwidth>, std::uint32_t> counts;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const bool down = tiers[topology.link(LinkId(i)).source.index()] > tiers[topology.link(LinkId(i)).destination.index()];
    const Link& link = topology.link(down ? topology.reverse(LinkId(i)) : LinkId(i));
    const Link& back = topology.link(down ? LinkId(i) : topology.reverse(LinkId(i)));
    ++counts[{link.source, link.destination, link.rate, back.rate}];
  }
  for (const auto& [edge, count] : counts) {
    const auto& [from, to, rate, rate_back] = edge;
    out += fmt::format("  {} -- {} [label=\"{}{}\"];\n", quoted(topology.node_name(from)), quoted(topology.node_name(to)),
                       count > 1 ? fmt::format("{} x ", count) : "", rates_text(rate, rate_back));
  }
  return out + "}\n";
}

std::string write_dot_overview(const Topology& topology) {
  const Classes classes(topology);
  const std::vector<std::uint32_t> tiers = tiers_of(topology);
  struct Box {
    std::uint32_t members = 0;
    std::uint32_t tier = 0;
    std::size_t endpoints = 0;  ///< of one host
    NodeId first = NodeId::none();
  };
  std::vector<Box> boxes(classes.count());
  for (std::size_t unit = 0; unit < classes.unit_count(); ++unit) ++boxes[classes.of_unit(unit)].members;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    Box& box = boxes[classes.of(NodeId(i))];
    if (!box.first.is_none()) continue;
    box.first = NodeId(i);
    const Node& node = topology.node(NodeId(i));
    if (node.kind == NodeKind::packet_switch) {
      box.tier = tiers[i];
    } else {
      box.endpoints = topology.endpoints_of(node.host).size();
    }
  }
  std::string out = head(topology);
  std::map<std::uint32_t, std::vector<std::string>> names;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i];
    const bool is_switch = topology.node(box.first).kind == NodeKind::packet_switch;
    std::string label = is_switch ? counted(box.members, "switch", "switches") : counted(box.members, "host", "hosts");
    if (is_switch && box.tier != TopologySummary::no_tier) label += fmt::format(" of tier {}", box.tier);
    if (!is_switch) {
      const bool gpus = topology.node(box.first).kind != NodeKind::host;
      label += fmt::format(" with {}", counted(box.endpoints, gpus ? "GPU" : "port", gpus ? "GPUs" : "ports"));
    }
    const std::string name = fmt::format("box{}", i);
    out += fmt::format("  {} [label={}{}", name,
                       quoted(fmt::format("{}: {}{}", label, topology.node_name(box.first), box.members > 1 ? ", ..." : "")),
                       is_switch ? ", shape=ellipse];\n" : "];\n");
    names[is_switch ? box.tier : 0].push_back(name);
  }
  out += ranks(names);
  std::map<std::tuple<std::uint32_t, std::uint32_t, Bandwidth, Bandwidth>, std::uint64_t> counts;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    if (!classes.joins_units(link)) continue;
    std::uint32_t from = classes.of(link.source);
    std::uint32_t to = classes.of(link.destination);
    Bandwidth rate = link.rate;
    Bandwidth rate_back = topology.link(topology.reverse(LinkId(i))).rate;
    if (std::pair(boxes[from].tier, from) > std::pair(boxes[to].tier, to)) {
      std::swap(from, to);
      std::swap(rate, rate_back);
    }
    ++counts[{from, to, rate, rate_back}];
  }
  for (const auto& [edge, count] : counts) {
    const auto& [from, to, rate, rate_back] = edge;
    out += fmt::format("  box{} -- box{} [label=\"{} x {}\"];\n", from, to, count, rates_text(rate, rate_back));
  }
  return out + "}\n";
}

}  // namespace weft
