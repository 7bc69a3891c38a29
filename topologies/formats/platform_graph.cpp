// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/platform_graph.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

std::uint32_t PlatformGraph::add(const std::string& name, bool is_host, std::uint8_t level) {
  std::string unique = name;
  for (int copy = 2; !names_.insert(unique).second; ++copy) unique = fmt::format("{}/{}", name, copy);
  nodes_.push_back({std::move(unique), is_host, level});
  if (is_host) ++host_count_;
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::uint32_t PlatformGraph::join(std::uint32_t a, std::uint32_t b, Bandwidth rate, Duration delay) {
  WEFT_CHECK(a < nodes_.size() && b < nodes_.size() && a != b, "a cable joins two nodes of the graph");
  cables_.push_back({a, b, rate, delay});
  return static_cast<std::uint32_t>(cables_.size() - 1);
}

Bandwidth PlatformGraph::sum(Bandwidth a, Bandwidth b) {
  return Bandwidth::bps(std::min(a.in_bps() + b.in_bps(), link_rate_max.in_bps()));
}

PlatformGraph::Built PlatformGraph::build(const std::string& name, const std::vector<std::string>& assumptions,
                                          const SourcePlace& place) const {
  std::vector<std::uint32_t> cables_of(nodes_.size(), 0);
  std::vector<Bandwidth> rates(nodes_.size());
  for (const PlatformCable& cable : cables_) {
    for (const std::uint32_t end : {cable.a, cable.b}) {
      ++cables_of[end];
      rates[end] = sum(rates[end], cable.rate);
    }
  }
  Built built;
  TopologyBuilder builder(name);
  for (const Node& node : nodes_) {
    built.nodes.push_back(node.is_host ? builder.add_endpoint(builder.add_host(), NodeKind::host, node.name)
                                       : builder.add_switch(node.level, node.name));
  }
  std::vector<NodeId> cabled = built.nodes;
  std::set<std::string> names = names_;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].is_host || cables_of[i] < 2) continue;
    std::string router = fmt::format("{}/router", nodes_[i].name);
    for (int copy = 2; !names.insert(router).second; ++copy) router = fmt::format("{}/router{}", nodes_[i].name, copy);
    cabled[i] = builder.add_switch(0, router);
    builder.add_cable(built.nodes[i], cabled[i], rates[i], Duration::zero());
  }
  for (const PlatformCable& cable : cables_) {
    built.cables.push_back(builder.add_cable(cabled[cable.a], cabled[cable.b], cable.rate, cable.delay));
  }
  for (const std::string& assumption : assumptions) builder.add_assumption(assumption);
  built.topology = std::move(builder).build(nullptr, place);
  return built;
}

}  // namespace weft
