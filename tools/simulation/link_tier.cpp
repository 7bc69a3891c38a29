// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/link_tier.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "topologies/topology.hpp"

namespace weft {

namespace {

std::string_view tier_of(const Node& node) {
  if (!node.host.is_none()) return "host";
  constexpr std::array<std::string_view, 4> names = {"switch", "leaf", "agg", "spine"};
  return names[node.level < names.size() ? node.level : 0];
}

}  // namespace

bool is_inside_host(const Topology& topology, LinkId link) {
  const HostId host = topology.node(topology.link(link).source).host;
  return !host.is_none() && host == topology.node(topology.link(link).destination).host;
}

std::string link_tier(const Topology& topology, LinkId link) {
  if (is_inside_host(topology, link)) return "host";
  return fmt::format("{}->{}", tier_of(topology.node(topology.link(link).source)),
                     tier_of(topology.node(topology.link(link).destination)));
}

}  // namespace weft
