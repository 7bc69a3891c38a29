// SPDX-License-Identifier: Apache-2.0
// Fabrics whose switches all have hosts, and BCube: counts, diameters and bisections from closed
// forms; impossible parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "topologies/topology_partition.hpp"
#include "topologies/topology_summary.hpp"
#include "topology_help.hpp"

namespace weft::direct_fabrics_test {
namespace {

/// Sum of the rates of cables between packet switches of which one satisfies `left` and the other
/// does not, one way.
double cut_bps(const Topology& topology, const std::function<bool(std::uint32_t)>& left) {
  const NodeId first = node_named(topology, "switch0");
  double sum = 0;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) {
    const Link& link = topology.link(LinkId(i));
    if (topology.node(link.source).kind != NodeKind::packet_switch) continue;
    if (topology.node(link.destination).kind != NodeKind::packet_switch) continue;
    const bool a = left(link.source.index() - first.index());
    const bool b = left(link.destination.index() - first.index());
    if (a != b) sum += static_cast<double>(link.rate.in_bps());
  }
  return sum;
}

std::size_t paths_out(const Topology& topology, const std::string& at, const std::string& to) {
  std::vector<LinkId> hops;
  topology.routes().next_hops(topology, node_named(topology, at), node_named(topology, to), hops);
  return hops.size();
}

TEST(Torus, CountsFollowFromTheSizes) {
  // 4 x 4 x 4 routers with a chip each; a cable per router and dimension, and one per chip.
  const auto topology = build_named("torus", {});
  const TopologySummary summary = summarize(*topology);
  EXPECT_EQ(summary.gpus, 64U);
  EXPECT_EQ(summary.switches, 64U);
  EXPECT_EQ(summary.cables, 64U + 3 * 64);
  EXPECT_EQ(summary.tiers.at(0).ports_min, 7U);
  EXPECT_EQ(summary.tiers.at(0).ports_max, 7U);
  // 4/2 in each of three dimensions, and the two cables of the chips.
  EXPECT_EQ(summary.diameter_links, 3U * 2 + 2);
  // Two planes of 4 x 4 cables of 400 Gb/s are cut between halves in one dimension: the cut itself
  // and the wraparound.
  EXPECT_DOUBLE_EQ(cut_bps(*topology, [](std::uint32_t router) { return router % 4 < 2; }), 2 * 16 * 400e9);
}

TEST(Torus, AMeshLacksTheWraparound) {
  const TopologySummary summary = summarize(*build_named("torus", {{"dimensions", "4x5"}, {"wraparound", "false"}}));
  // 3 cables in each of 5 rows, 4 in each of 4 columns.
  EXPECT_EQ(summary.cables, 20U + 3 * 5 + 4 * 4);
  EXPECT_EQ(summary.diameter_links, 3U + 4 + 2);
  EXPECT_EQ(summary.tiers.at(0).ports_min, 3U);  // a corner: two neighbours and its host
  EXPECT_EQ(summary.tiers.at(0).ports_max, 5U);
}

TEST(Torus, ASizeOfTwoHasOneCable) {
  // A 2 x 2 x 2 torus is the cube: 12 edges.
  EXPECT_EQ(summarize(*build_named("torus", {{"dimensions", "2x2x2"}})).cables, 8U + 12);
}

TEST(Torus, EveryMinimalDirectionIsANextHop) {
  const auto topology = build_named("torus", {{"dimensions", "4x4"}});
  // From (0,0): to (1,1) two dimensions; to (2,0) both ways round; to (2,2) both ways in both
  // dimensions.
  EXPECT_EQ(paths_out(*topology, "switch0", "host5/gpu0"), 2U);
  EXPECT_EQ(paths_out(*topology, "switch0", "host2/gpu0"), 2U);
  EXPECT_EQ(paths_out(*topology, "switch0", "host10/gpu0"), 4U);
  EXPECT_EQ(paths_out(*topology, "switch0", "host3/gpu0"), 1U);
}

TEST(Dragonfly, CountsFollowFromTheBalancedShape) {
  // Kim et al., figure 5: p = h = 2, a = 4 gives g = a*h + 1 = 9 groups, 36 routers of 7 ports, 72
  // hosts.
  for (const std::string arrangement : {"palmtree", "consecutive"}) {
    const TopologySummary summary = summarize(*build_named("dragonfly", {{"arrangement", arrangement}}));
    EXPECT_EQ(summary.switches, 36U);
    EXPECT_EQ(summary.gpus, 72U);
    // 72 hosts; 6 local cables in each group; one global cable for each of 9*8/2 pairs.
    EXPECT_EQ(summary.cables, 72U + 9 * 6 + 36);
    EXPECT_EQ(summary.tiers.at(0).ports_min, 7U);
    EXPECT_EQ(summary.tiers.at(0).ports_max, 7U);
    EXPECT_EQ(summary.diameter_links, 3U + 2);
  }
}

TEST(Dragonfly, EveryTwoGroupsHaveAsManyCablesAsFit) {
  // 4 routers of 2 global ports: 8 ports for 3 other groups are 2 rounds, 2 ports stay free.
  const auto topology = build_named("dragonfly", {{"groups", "4"}, {"hosts_per_router", "1"}});
  const std::uint32_t first = node_named(*topology, "switch0").index();
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> cables;
  std::map<std::uint32_t, int> ports;
  for (std::uint32_t i = 0; i < topology->link_count(); i += 2) {
    const Link& link = topology->link(LinkId(i));
    if (link.source.index() < first || link.destination.index() < first) continue;
    const std::uint32_t a = (link.source.index() - first) / 4;
    const std::uint32_t b = (link.destination.index() - first) / 4;
    if (a == b) continue;
    ++cables[std::minmax(a, b)];
    ++ports[link.source.index()];
    ++ports[link.destination.index()];
  }
  EXPECT_EQ(cables.size(), 6U);
  for (const auto& [pair, count] : cables) EXPECT_EQ(count, 2) << pair.first << "-" << pair.second;
  for (const auto& [router, count] : ports) EXPECT_LE(count, 2) << "router " << router - first;
}

TEST(Dragonfly, GlobalPortsGoWhereTheArrangementSays) {
  // Group 0, port 0 at router 0: palmtree leads to group 0 - 0 - 1 = 8 of 9; consecutive to group
  // 1.
  const auto first_global_group = [](const std::string& arrangement) {
    const auto topology = build_named("dragonfly", {{"arrangement", arrangement}});
    const std::uint32_t first = node_named(*topology, "switch0").index();
    std::set<std::uint32_t> groups;
    for (const LinkId link : topology->out_links(NodeId(first))) {
      const std::uint32_t to = topology->link(link).destination.index();
      if (to >= first + 4) groups.insert((to - first) / 4);
    }
    return groups;
  };
  // Router 0 owns ports 0 and 1.
  EXPECT_EQ(first_global_group("palmtree"), (std::set<std::uint32_t>{7, 8}));
  EXPECT_EQ(first_global_group("consecutive"), (std::set<std::uint32_t>{1, 2}));
}

TEST(Hyperx, CountsFollowFromTheSizes) {
  // 4 x 4 switches with 4 hosts: each has 3 + 3 cables to others, so 16 * 6 / 2 in all.
  const auto topology = build_named("hyperx", {});
  const TopologySummary summary = summarize(*topology);
  EXPECT_EQ(summary.gpus, 64U);
  EXPECT_EQ(summary.switches, 16U);
  EXPECT_EQ(summary.cables, 64U + 48);
  EXPECT_EQ(summary.tiers.at(0).ports_max, 10U);
  EXPECT_EQ(summary.diameter_links, 2U + 2);
  // Halves in one dimension: 2 x 2 cables cut in each of 4 lines, K S / 4 x 16 = 16 cables.
  EXPECT_DOUBLE_EQ(cut_bps(*topology, [](std::uint32_t at) { return at % 4 < 2; }), 16 * 400e9);
}

TEST(Hyperx, SizesOfTwoAreTheHypercube) {
  const TopologySummary summary = summarize(*build_named("hyperx", {{"dimensions", "2x2x2x2"}, {"hosts_per_switch", "1"}}));
  EXPECT_EQ(summary.cables, 16U + 32);  // 4 cables at each of 16 switches, counted twice
  EXPECT_EQ(summary.diameter_links, 4U + 2);
}

TEST(Hyperx, ParallelCablesMultiply) {
  const auto topology = build_named("hyperx", {{"dimensions", "4"}, {"cables", "3"}});
  EXPECT_EQ(summarize(*topology).cables, 16U + 3 * 6);
  EXPECT_EQ(paths_out(*topology, "switch0", "host15/gpu0"), 3U);
}

TEST(Bcube, CountsFollowFromNAndK) {
  // Guo et al., figure 1: BCube_1 of n = 4 has 16 servers of 2 ports and 2 levels of 4 switches.
  for (const auto& [n, k] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{4, 1}, {2, 3}, {3, 2}, {8, 0}}) {
    const auto topology = build_named("bcube", {{"n", std::to_string(n)}, {"k", std::to_string(k)}});
    const TopologySummary summary = summarize(*topology);
    std::uint32_t per_level = 1;
    for (std::uint32_t i = 0; i < k; ++i) per_level *= n;
    const std::uint32_t servers = per_level * n;
    EXPECT_EQ(summary.hosts, servers);
    EXPECT_EQ(summary.nics, servers);
    EXPECT_EQ(summary.switches, (k + 1) * per_level);
    // a GPU's cable to its NIC, and k+1 to switches
    EXPECT_EQ(summary.cables, servers + (k + 1) * servers);
    EXPECT_EQ(summary.tiers.at(0).ports_min, n);
    EXPECT_EQ(summary.tiers.at(0).ports_max, n);
    EXPECT_EQ(summary.diameter_links, 2 * (k + 1) + 2);  // k+1 digits, two cables each
  }
}

TEST(Bcube, ServersRelayThroughTheirNics) {
  const auto topology = build_named("bcube", {});
  // From server 00 to server 11 (number 5) either digit may be corrected first; the server between
  // is 01 (1) or 10 (4).
  std::vector<LinkId> hops;
  const NodeId to = node_named(*topology, "host5/gpu0");
  topology->routes().next_hops(*topology, node_named(*topology, "host0/nic0"), to, hops);
  ASSERT_EQ(hops.size(), 2U);
  std::set<std::string> relays;
  for (const LinkId hop : std::vector<LinkId>(hops)) {
    topology->routes().next_hops(*topology, topology->link(hop).destination, to, hops);
    ASSERT_EQ(hops.size(), 1U);
    relays.insert(topology->node_name(topology->link(hops[0]).destination));
  }
  EXPECT_EQ(relays, (std::set<std::string>{"host1/nic0", "host4/nic0"}));
}

TEST(DirectFabrics, PartitionsCutBetweenHosts) {
  // Each chip with its router, which no length of cable parts, or, above the 2 m cables of 10 ns,
  // all in one.
  const auto topology = build_named("torus", {{"dimensions", "4x4"}});
  EXPECT_EQ(summarize_partition(*topology, partition_topology(*topology, Duration::zero())).lps.size(), 16U);
  EXPECT_EQ(partition_topology(*topology, Duration::ns(20)).lp_count, 1U);
  // Groups of a dragonfly: 5 m = 25 ns inside, 50 m = 250 ns between.
  const auto groups = build_named("dragonfly", {});
  const PartitionSummary summary = summarize_partition(*groups, partition_topology(*groups, Duration::ns(100)));
  ASSERT_EQ(summary.lps.size(), 9U);
  EXPECT_EQ(summary.lookahead, Duration::ns(250));
  EXPECT_EQ(summary.cut_cables, 36U);
}

struct Impossible {
  std::string builder;
  Settings settings;
  std::string code;
};

class ImpossibleFabric : public testing::TestWithParam<Impossible> {};

TEST_P(ImpossibleFabric, IsAnInputErrorWithARemedy) {
  const auto build = [] { build_named(GetParam().builder, GetParam().settings); };
  EXPECT_EQ(codes_of(build), std::vector<std::string>{GetParam().code});
  EXPECT_NE(errors_of(build).find("help: "), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Builders, ImpossibleFabric,
    testing::Values(
        Impossible{"torus", {{"dimensions", ""}}, "bad-dimensions"}, Impossible{"torus", {{"dimensions", "4x"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "x4"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "4x0"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "4,4"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "-4x4"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "99999999999"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "1000x1000x2"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"}}, "bad-dimensions"},
        Impossible{"torus", {{"dimensions", "1000x1000"}, {"hosts_per_router", "1024"}}, "too-large"},
        Impossible{"torus", {{"dimensions", "1000x1000"}, {"gpus_per_host", "1024"}}, "too-large"},
        Impossible{"hyperx", {{"dimensions", "1000000"}}, "too-large"},
        Impossible{"hyperx", {{"dimensions", "4*4"}}, "bad-dimensions"}, Impossible{"hyperx", {{"cables", "0"}}, "out-of-range"},
        Impossible{"dragonfly", {{"groups", "10"}}, "bad-shape"},
        Impossible{"dragonfly", {{"routers_per_group", "10000"}, {"global_cables", "1024"}}, "too-large"},
        Impossible{"dragonfly", {{"arrangement", "random"}}, "bad-value"}, Impossible{"bcube", {{"n", "1"}}, "out-of-range"},
        Impossible{"bcube", {{"n", "1024"}, {"k", "15"}}, "too-large"},
        Impossible{"bcube", {{"nics_per_host", "2"}}, "unknown-param"}));

}  // namespace
}  // namespace weft::direct_fabrics_test
