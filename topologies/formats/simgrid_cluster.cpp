// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/simgrid_cluster.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "topologies/link_limits.hpp"

namespace weft {

namespace {

constexpr std::uint64_t endless = UINT64_MAX;

/// Product that stays at `endless` once it does not fit.
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? endless : product;
}

ClusterError too_large(const SimgridCluster& cluster) {
  return {"too-large", fmt::format("the cluster \"{}\" makes the platform too large", cluster.name),
          fmt::format("at most {} hosts and switches and {} cables are read", PlatformGraph::nodes_max, PlatformGraph::cables_max)};
}

bool fits(const PlatformGraph& graph, std::uint64_t nodes, std::uint64_t cables) {
  return nodes <= PlatformGraph::nodes_max - std::min<std::uint64_t>(graph.node_count(), PlatformGraph::nodes_max) &&
         cables <= PlatformGraph::cables_max - std::min<std::uint64_t>(graph.cable_count(), PlatformGraph::cables_max);
}

ClusterError wrong_host_count(const SimgridCluster& cluster, std::uint64_t expected) {
  return {"count-mismatch",
          fmt::format("the cluster \"{}\" has {} hosts, its shape holds {}", cluster.name, cluster.hosts.size(),
                      expected == endless ? "more than any" : fmt::format("{}", expected)),
          "let the radical list as many hosts as topo_parameters describe"};
}

/// A cable that every flow has for itself is as wide as that for all hosts at once.
Bandwidth width(const SimgridCluster& cluster, Bandwidth rate, bool shared) {
  if (shared) return rate;
  const std::int64_t most = std::max<std::int64_t>(link_rate_max.in_bps() / rate.in_bps(), 1);
  return rate * std::clamp<std::int64_t>(static_cast<std::int64_t>(cluster.hosts.size()), 1, most);
}

Bandwidth bundle(Bandwidth rate, std::uint32_t cables) {
  const std::int64_t most = std::max<std::int64_t>(link_rate_max.in_bps() / rate.in_bps(), 1);
  return rate * std::min<std::int64_t>(cables, most);
}

std::optional<ClusterError> add_flat(PlatformGraph& graph, const SimgridCluster& cluster) {
  const std::uint64_t hosts = cluster.hosts.size();
  if (!fits(graph, hosts + 2, hosts + 1)) return too_large(cluster);
  Bandwidth rate = width(cluster, cluster.rate, cluster.shared);
  Duration delay = cluster.delay;
  Duration behind;
  const bool has_exit = cluster.backbone && cluster.router_is_named;
  if (cluster.backbone) {
    if (cluster.backbone->shared) rate = std::min(rate, cluster.backbone->rate);
    behind = Duration::ticks(cluster.backbone->delay.in_ticks() / 2);
    delay += cluster.backbone->delay - behind;
  }
  const std::uint32_t hub = graph.add_switch(has_exit ? fmt::format("{}/backbone", cluster.name) : cluster.router, 1);
  for (const std::string& host : cluster.hosts) graph.join(graph.add_host(host), hub, rate, std::min(delay, link_delay_max));
  if (has_exit) {
    const std::uint32_t exit = graph.add_switch(cluster.router);
    graph.join(hub, exit, width(cluster, cluster.backbone->rate, cluster.backbone->shared), behind);
  }
  return std::nullopt;
}

std::optional<ClusterError> add_fat_tree(PlatformGraph& graph, const SimgridCluster& cluster) {
  const auto& parameters = cluster.parameters;
  const ClusterError bad = {"bad-topology", "these are no parameters of a fat tree",
                            "write \"levels;children,..;parents,..;cables,..\" with one number above zero per level, such as "
                            "\"2;4,4;1,2;1,2\""};
  if (parameters.size() != 4 || parameters[0].size() != 1) return bad;
  const std::size_t levels = parameters[0][0];
  constexpr std::size_t levels_max = 32;
  if (levels < 1 || levels > levels_max) return bad;
  for (std::size_t i = 1; i < 4; ++i) {
    if (parameters[i].size() != levels || std::count(parameters[i].begin(), parameters[i].end(), 0U) > 0) return bad;
  }
  const auto& children = parameters[1];
  const auto& parents = parameters[2];
  const auto& cables = parameters[3];
  // Digit d of a label runs to the number of parents below the node's level, of children from there
  // on.
  const auto digit_max = [&](std::size_t level, std::size_t digit) { return digit < level ? parents[digit] : children[digit]; };
  std::vector<std::uint64_t> nodes(levels + 1, 1);
  std::uint64_t all_nodes = 0;
  std::uint64_t all_cables = 0;
  for (std::size_t level = 0; level <= levels; ++level) {
    for (std::size_t digit = 0; digit < levels; ++digit) nodes[level] = times(nodes[level], digit_max(level, digit));
    if (nodes[level] > PlatformGraph::nodes_max) return level == 0 ? wrong_host_count(cluster, nodes[0]) : too_large(cluster);
    all_nodes += nodes[level];
    if (level < levels) {
      const std::uint64_t upwards = times(nodes[level], times(parents[level], cables[level]));
      if (upwards > PlatformGraph::cables_max) return too_large(cluster);
      all_cables += upwards;
    }
  }
  if (nodes[0] != cluster.hosts.size()) return wrong_host_count(cluster, nodes[0]);
  if (!fits(graph, all_nodes, all_cables)) return too_large(cluster);

  std::vector<std::uint32_t> below;
  for (const std::string& host : cluster.hosts) below.push_back(graph.add_host(host));
  for (std::size_t level = 0; level < levels; ++level) {
    constexpr std::uint8_t leaf = 1;
    constexpr std::uint8_t aggregation = 2;
    constexpr std::uint8_t spine = 3;
    const std::uint8_t kind = level == 0 ? leaf : level + 1 == levels ? spine : aggregation;
    std::vector<std::uint32_t> above;
    for (std::uint64_t i = 0; i < nodes[level + 1]; ++i) {
      above.push_back(graph.add_switch(fmt::format("{}/level{}/{}", cluster.name, level + 1, i), kind));
    }
    // Labels count their first digit fastest; those below digit `level` are alike on both levels.
    std::uint64_t stride = 1;
    for (std::size_t digit = 0; digit < level; ++digit) stride *= parents[digit];
    for (std::uint64_t i = 0; i < nodes[level]; ++i) {
      const std::uint64_t low = i % stride;
      const std::uint64_t high = i / stride / children[level];
      for (std::uint64_t parent = 0; parent < parents[level]; ++parent) {
        const std::uint64_t up = (high * parents[level] + parent) * stride + low;
        for (std::uint32_t cable = 0; cable < cables[level]; ++cable) {
          graph.join(below[i], above[up], width(cluster, cluster.rate, cluster.shared), cluster.delay);
        }
      }
    }
    below = std::move(above);
  }
  return std::nullopt;
}

std::optional<ClusterError> add_dragonfly(PlatformGraph& graph, const SimgridCluster& cluster) {
  const auto& parameters = cluster.parameters;
  const ClusterError bad = {"bad-topology", "these are no parameters of a dragonfly",
                            "write \"groups,cables;chassis,cables;blades,cables;nodes\" with numbers above zero, such as "
                            "\"3,4;3,2;3,1;2\""};
  if (parameters.size() != 4) return bad;
  for (std::size_t i = 0; i < 4; ++i) {
    if (parameters[i].size() != (i < 3 ? 2U : 1U) || std::count(parameters[i].begin(), parameters[i].end(), 0U) > 0) return bad;
  }
  const std::uint64_t groups = parameters[0][0];
  const std::uint64_t chassis = parameters[1][0];
  const std::uint64_t blades = parameters[2][0];
  const std::uint64_t hosts_per_router = parameters[3][0];
  const std::uint64_t group_routers = times(chassis, blades);
  const std::uint64_t routers = times(groups, group_routers);
  const std::uint64_t hosts = times(routers, hosts_per_router);
  if (hosts != cluster.hosts.size()) return wrong_host_count(cluster, hosts);
  if (groups > group_routers) {
    return ClusterError{"bad-topology",
                        fmt::format("a group has {} routers, too few for a cable to each of {} groups", group_routers, groups),
                        "router j of a group leads to group j: let groups be at most chassis x blades"};
  }
  // Pairs of blades per chassis, of chassis per blade and group, of groups. Every factor is at most
  // the number of hosts.
  const std::uint64_t cables = hosts + times(times(groups, chassis), times(blades, blades) / 2) +
                               times(times(groups, blades), times(chassis, chassis) / 2) + times(groups, groups) / 2;
  if (hosts > PlatformGraph::nodes_max || !fits(graph, hosts + routers, cables)) return too_large(cluster);

  const Bandwidth rate = width(cluster, cluster.rate, cluster.shared);
  std::vector<std::uint32_t> router;
  for (std::uint64_t i = 0; i < routers; ++i) {
    router.push_back(graph.add_switch(
        fmt::format("{}/group{}/chassis{}/blade{}", cluster.name, i / group_routers, i / blades % chassis, i % blades), 1));
  }
  for (std::uint64_t i = 0; i < hosts; ++i) {
    graph.join(graph.add_host(cluster.hosts[i]), router[i / hosts_per_router], rate, cluster.delay);
  }
  const auto at = [&](std::uint64_t group, std::uint64_t in_chassis, std::uint64_t blade) {
    return router[(group * chassis + in_chassis) * blades + blade];
  };
  for (std::uint64_t group = 0; group < groups; ++group) {
    for (std::uint64_t c = 0; c < chassis; ++c) {
      for (std::uint64_t a = 0; a < blades; ++a) {
        for (std::uint64_t b = a + 1; b < blades; ++b) {
          graph.join(at(group, c, a), at(group, c, b), bundle(rate, parameters[2][1]), cluster.delay);
        }
      }
    }
    for (std::uint64_t blade = 0; blade < blades; ++blade) {
      for (std::uint64_t a = 0; a < chassis; ++a) {
        for (std::uint64_t b = a + 1; b < chassis; ++b) {
          graph.join(at(group, a, blade), at(group, b, blade), bundle(rate, parameters[1][1]), cluster.delay);
        }
      }
    }
    for (std::uint64_t other = group + 1; other < groups; ++other) {
      graph.join(router[group * group_routers + other], router[other * group_routers + group], bundle(rate, parameters[0][1]),
                 cluster.delay);
    }
  }
  return std::nullopt;
}

std::optional<ClusterError> add_torus(PlatformGraph& graph, const SimgridCluster& cluster) {
  const ClusterError bad = {"bad-topology", "these are no parameters of a torus",
                            "write the sizes of its dimensions, such as \"4,4,2\""};
  if (cluster.parameters.size() != 1 || cluster.parameters[0].empty()) return bad;
  const std::vector<std::uint32_t>& sizes = cluster.parameters[0];
  if (std::count(sizes.begin(), sizes.end(), 0U) > 0) return bad;
  std::uint64_t hosts = 1;
  for (const std::uint32_t size : sizes) hosts = times(hosts, size);
  if (hosts != cluster.hosts.size()) return wrong_host_count(cluster, hosts);
  if (hosts > PlatformGraph::nodes_max || !fits(graph, 2 * hosts, times(hosts, sizes.size() + 1))) return too_large(cluster);

  const Bandwidth rate = width(cluster, cluster.rate, cluster.shared);
  std::vector<std::uint32_t> host;
  std::vector<std::uint32_t> router;
  for (const std::string& name : cluster.hosts) host.push_back(graph.add_host(name));
  for (const std::string& name : cluster.hosts) router.push_back(graph.add_switch(fmt::format("{}/router", name), 1));
  const auto links = static_cast<std::uint32_t>(std::min<std::size_t>(2 * sizes.size(), UINT32_MAX));
  for (std::uint64_t i = 0; i < hosts; ++i) graph.join(host[i], router[i], bundle(rate, links), Duration::zero());
  std::uint64_t stride = 1;
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t i = 0; i < hosts; ++i) {
      const std::uint64_t coordinate = i / stride % size;
      const bool last = coordinate + 1 == size;
      if (size == 1 || (size == 2 && last)) continue;
      const std::uint64_t next = last ? i - (size - 1) * stride : i + stride;
      graph.join(router[i], router[next], rate, cluster.delay);
    }
    stride *= size;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ClusterError> add_cluster(PlatformGraph& graph, const SimgridCluster& cluster) {
  switch (cluster.shape) {
    case SimgridCluster::Shape::flat:
      return add_flat(graph, cluster);
    case SimgridCluster::Shape::fat_tree:
      return add_fat_tree(graph, cluster);
    case SimgridCluster::Shape::dragonfly:
      return add_dragonfly(graph, cluster);
    case SimgridCluster::Shape::torus:
      return add_torus(graph, cluster);
  }
  return std::nullopt;
}

}  // namespace weft
