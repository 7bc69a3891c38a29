// SPDX-License-Identifier: Apache-2.0
// Builders: counts, rates, delays and levels derived by hand; impossible parameters.
#include "topologies/builders.hpp"

#include <gtest/gtest.h>

#include "topologies/topology_summary.hpp"
#include "topology_help.hpp"

namespace weft::builders_test {
namespace {

const TopologySummary::Tier& tier(const TopologySummary& summary, std::uint32_t number) { return summary.tiers.at(number - 1); }

/// One-way delay and slowest rate of the first shortest path.
struct PathFigures {
  std::size_t links = 0;
  Duration delay;
  Bandwidth rate = Bandwidth::bps(INT64_MAX);
};

PathFigures first_path(const Topology& topology, const std::string& from, const std::string& to) {
  PathFigures path;
  NodeId at = node_named(topology, from);
  const NodeId destination = node_named(topology, to);
  std::vector<LinkId> hops;
  while (at != destination && path.links < 100) {
    topology.routes().next_hops(topology, at, destination, hops);
    const Link& link = topology.link(hops.at(0));
    ++path.links;
    path.delay += link.propagation_delay;
    path.rate = std::min(path.rate, link.rate);
    at = link.destination;
  }
  return path;
}

TEST(SingleSwitch, WithOneGpuPerHostIsEndpointsAroundASwitch) {
  const auto topology = build_named("single_switch", {{"hosts", "16"}, {"nic_rate", "100Gbps"}, {"fibre", "10m"}});
  // 16 GPUs and the switch, nothing else; one cable each.
  EXPECT_EQ(topology->node_count(), 17U);
  EXPECT_EQ(topology->link_count(), 32U);
  const PathFigures path = first_path(*topology, "host3/gpu0", "host9/gpu0");
  EXPECT_EQ(path.links, 2U);
  EXPECT_EQ(path.delay, Duration::ns(100));  // 2 x 10 m x 5 ns/m
  EXPECT_EQ(path.rate, Bandwidth::gbps(100));
}

TEST(SingleSwitch, WithSeveralGpusHasNvswitchAndSharedNic) {
  const auto topology =
      build_named("single_switch", {{"hosts", "2"}, {"gpus_per_host", "8"}, {"nics_per_host", "2"}, {"fibre", "2m"}});
  // Per host 8 GPUs, 2 NICs, 1 NVSwitch; 8 NVLink, 8 PCIe and 2 NIC cables.
  EXPECT_EQ(topology->node_count(), 2U * 11 + 1);
  EXPECT_EQ(topology->link_count(), 2U * 2 * 18);
  const PathFigures inside = first_path(*topology, "host0/gpu0", "host0/gpu7");
  EXPECT_EQ(inside.links, 2U);
  EXPECT_EQ(inside.delay, Duration::ns(50));  // 2 x 25 ns
  EXPECT_EQ(inside.rate, Bandwidth::gbps(3600));
  const PathFigures outside = first_path(*topology, "host0/gpu0", "host1/gpu7");
  EXPECT_EQ(outside.links, 4U);
  EXPECT_EQ(outside.delay, Duration::ns(220));  // 2 x 100 ns PCIe + 2 x 2 m x 5 ns/m
  EXPECT_EQ(outside.rate, Bandwidth::gbps(400));
}

TEST(FatTree, CountsFollowFromK) {
  for (const std::uint32_t k : {2U, 4U, 8U}) {
    const TopologySummary summary = summarize(*build_named("fat_tree", {{"k", std::to_string(k)}}));
    EXPECT_EQ(summary.hosts, k * k * k / 4);
    EXPECT_EQ(summary.switches, 5 * k * k / 4);      // k^2/2 + k^2/2 + k^2/4
    EXPECT_EQ(summary.cables, 3 * (k * k * k / 4));  // k^3/4 in each of three layers
    ASSERT_EQ(summary.tiers.size(), 3U);
    for (const auto& of : summary.tiers) {
      EXPECT_EQ(of.ports_min, k);
      EXPECT_EQ(of.ports_max, k);
    }
    EXPECT_DOUBLE_EQ(tier(summary, 1).rate_down_bps, tier(summary, 1).rate_up_bps);
    EXPECT_DOUBLE_EQ(tier(summary, 2).rate_down_bps, tier(summary, 2).rate_up_bps);
    EXPECT_EQ(summary.diameter_links, 6U);
  }
}

TEST(Clos, DefaultsAreThePapersCluster) {
  const auto topology = build_named("clos", {});
  const TopologySummary summary = summarize(*topology);
  EXPECT_EQ(summary.hosts, 4096U);
  EXPECT_EQ(summary.gpus, 32768U);
  ASSERT_EQ(summary.tiers.size(), 3U);
  EXPECT_EQ(tier(summary, 1).switches, 4096U);
  EXPECT_EQ(tier(summary, 2).switches, 1024U);
  EXPECT_EQ(tier(summary, 3).switches, 128U);
  // A leaf: 1 host down, 8 up. An aggregation switch: 32 down, 16 up. A spine: one cable to each of
  // 128 pods.
  EXPECT_EQ(tier(summary, 1).ports_max, 9U);
  EXPECT_EQ(tier(summary, 2).ports_max, 48U);
  EXPECT_EQ(tier(summary, 3).ports_max, 128U);
  // NVLink 32,768 + PCIe 32,768 + NIC 4,096 + leaf-agg 4,096 x 8 + agg-spine 1,024 x 16.
  EXPECT_EQ(summary.cables, 32768U + 32768U + 4096U + 32768U + 16384U);
  EXPECT_EQ(topology->node(node_named(*topology, "leaf4095")).level, 1);
  EXPECT_EQ(topology->node(node_named(*topology, "agg1023")).level, 2);
  EXPECT_EQ(topology->node(node_named(*topology, "spine127")).level, 3);
  const PathFigures path = first_path(*topology, "host0/gpu0", "host4095/gpu7");
  EXPECT_EQ(path.links, 8U);
  // PCIe 100 + 2 m + 30 m + 200 m of fibre at 5 ns/m, and back down: 2 x (100 + 10 + 150 + 1000)
  // ns.
  EXPECT_EQ(path.delay, Duration::ns(2520));
}

TEST(Clos, EightNicsPerHostShareTheLeaf) {
  const TopologySummary summary = summarize(*build_named(
      "clos", {{"hosts", "64"}, {"nics_per_host", "8"}, {"leafs_per_pod", "32"}, {"aggs_per_pod", "8"}, {"spines", "8"}}));
  EXPECT_EQ(summary.nics, 512U);
  EXPECT_EQ(tier(summary, 1).ports_max, 16U);  // 8 NICs of the leaf's host, 8 aggregation switches
}

TEST(Clos, OversubscriptionSetsHowManySwitchesAreAbove) {
  // A leaf has 4 hosts of 400 Gb/s, for which 2:1 takes 2 uplinks of 400 Gb/s. An aggregation
  // switch has 4 leafs, for which 4:1 takes a spine in its plane.
  const auto topology = build_named("clos", {{"hosts", "32"},
                                             {"hosts_per_leaf", "4"},
                                             {"leafs_per_pod", "4"},
                                             {"leaf_oversubscription", "2"},
                                             {"agg_oversubscription", "4"}});
  const TopologySummary summary = summarize(*topology);
  EXPECT_DOUBLE_EQ(tier(summary, 1).rate_down_bps / tier(summary, 1).rate_up_bps, 2.0);
  EXPECT_DOUBLE_EQ(tier(summary, 2).rate_down_bps / tier(summary, 2).rate_up_bps, 4.0);
  const PathFigures path = first_path(*topology, "host0/gpu0", "host31/gpu0");
  EXPECT_EQ(path.rate, Bandwidth::gbps(400));
  EXPECT_EQ(topology->node(node_named(*topology, "spine1")).level, 3);
  EXPECT_EQ(tier(summary, 3).switches, 2U);
}

TEST(Clos, PlanesKeepAggregationSwitchesApart) {
  // Aggregation switch a of every pod meets the spines of plane a only.
  const auto topology = build_named("clos", {{"hosts", "8"}, {"leafs_per_pod", "4"}, {"aggs_per_pod", "2"}, {"spines", "6"}});
  for (std::uint32_t agg = 0; agg < 4; ++agg) {
    std::vector<std::string> spines;
    for (const LinkId link : topology->out_links(node_named(*topology, "agg" + std::to_string(agg)))) {
      const NodeId to = topology->link(link).destination;
      if (topology->node(to).level == 3) spines.push_back(topology->node_name(to));
    }
    const std::vector<std::string> expected = agg % 2 == 0 ? std::vector<std::string>{"spine0", "spine1", "spine2"}
                                                           : std::vector<std::string>{"spine3", "spine4", "spine5"};
    EXPECT_EQ(spines, expected);
  }
}

TEST(RailOptimized, EqualRailsMeetAfterOneSwitch) {
  const auto topology = build_named("rail_optimized", {{"hosts", "4"}, {"hosts_per_leaf_group", "2"}, {"spines", "3"}});
  const TopologySummary summary = summarize(*topology);
  EXPECT_EQ(tier(summary, 1).switches, 16U);  // two groups of 8 rails
  EXPECT_EQ(tier(summary, 2).switches, 3U);
  EXPECT_EQ(summary.nics, 32U);
  EXPECT_EQ(first_path(*topology, "host0/gpu5", "host1/gpu5").links, 4U);  // gpu nic leaf nic gpu
  EXPECT_EQ(first_path(*topology, "host0/gpu5", "host1/gpu6").links, 6U);  // over a spine
  EXPECT_EQ(first_path(*topology, "host0/gpu5", "host2/gpu5").links, 6U);  // another group
  EXPECT_EQ(first_path(*topology, "host0/gpu5", "host0/gpu6").links, 2U);  // NVLink
}

TEST(RailOptimized, DefaultsHaveNoOversubscription) {
  const TopologySummary summary = summarize(*build_named("rail_optimized", {}));
  EXPECT_EQ(summary.gpus, 128U);
  EXPECT_DOUBLE_EQ(tier(summary, 1).rate_down_bps, tier(summary, 1).rate_up_bps);
}

TEST(RailOptimized, OversubscriptionTakesSpinesAwayAndLeavesCablesAsTheyAre) {
  // 8 hosts of 400 Gb/s a leaf; cables up are whole.
  const auto spines_of = [](std::vector<std::pair<std::string, std::string>> settings) {
    settings.insert(settings.end(), {{"hosts", "16"}, {"hosts_per_leaf_group", "8"}});
    const auto topology = build_named("rail_optimized", settings);
    EXPECT_EQ(first_path(*topology, "host0/gpu0", "host8/gpu0").rate, Bandwidth::gbps(400));
    return tier(summarize(*topology), 2).switches;
  };
  EXPECT_EQ(spines_of({}), 8U);
  EXPECT_EQ(spines_of({{"oversubscription", "2"}}), 4U);
  EXPECT_EQ(spines_of({{"oversubscription", "3"}}), 3U);
  EXPECT_EQ(spines_of({{"oversubscription", "8"}}), 1U);
  EXPECT_EQ(spines_of({{"oversubscription", "2"}, {"leaf_uplink_rate", "800Gbps"}}), 2U);
  // Cables up are as fast as those of the NICs: of an A100 server, 200 Gb/s.
  const auto slower = build_named("rail_optimized", {{"hosts", "16"}, {"hosts_per_leaf_group", "8"}, {"server", "hgx_a100"}});
  EXPECT_EQ(first_path(*slower, "host0/gpu0", "host8/gpu0").rate, Bandwidth::gbps(200));
  EXPECT_EQ(tier(summarize(*slower), 2).switches, 8U);
  // A group that is not full has as many hosts as there are.
  EXPECT_EQ(tier(summarize(*build_named("rail_optimized", {{"hosts", "8"}, {"oversubscription", "2"}})), 2).switches, 4U);
}

TEST(MultiSite, WanDelayIsHalfTheRoundTrip) {
  const auto topology = build_named("multi_site", {{"sites", "3"},
                                                   {"fabric", "single_switch"},
                                                   {"fabric_params", "hosts=2, fibre=0m"},
                                                   {"border_fibre", "0m"},
                                                   {"wan_rate", "10Gbps"},
                                                   {"wan_rtt", "50ms"},
                                                   {"pair_rtt", "2-0=90ms"},
                                                   {"pair_rate", "1-2=40Gbps"}});
  // host, switch, border, border, switch, host.
  const PathFigures path = first_path(*topology, "host0/gpu0", "host2/gpu0");
  EXPECT_EQ(path.links, 5U);
  EXPECT_EQ(path.delay, Duration::ms(25));
  EXPECT_EQ(path.rate, Bandwidth::gbps(10));
  EXPECT_EQ(first_path(*topology, "host0/gpu0", "host4/gpu0").delay, Duration::ms(45));
  EXPECT_EQ(first_path(*topology, "host2/gpu0", "host4/gpu0").rate, Bandwidth::gbps(40));
}

TEST(Builders, BufferClassesFollowTheTiers) {
  const auto topology =
      build_named("clos", {{"hosts", "32"}, {"leaf_buffer", "16MB"}, {"agg_buffer", "64MB"}, {"spine_buffer", "128MB"}});
  const auto buffer_of = [&](const std::string& name) {
    return topology->buffer_classes()[topology->node(node_named(*topology, name)).buffer_class].size;
  };
  EXPECT_EQ(buffer_of("leaf0"), Bytes::of(16'000'000));
  EXPECT_EQ(buffer_of("agg0"), Bytes::of(64'000'000));
  EXPECT_EQ(buffer_of("spine0"), Bytes::of(128'000'000));
}

TEST(Builders, TablesAreComplete) {
  for (const auto& module : topology_builders()) {
    EXPECT_EQ(module.info.kind, "topology");
    EXPECT_GT(module.info.summary.size(), 60U) << module.info.name;
    // Reading the defaults checks that each has its unit and kind.
    const ParamSet params(std::string(module.info.name), module.info.params);
    for (const ParamSpec& spec : params.table()) {
      EXPECT_FALSE(spec.meaning.empty()) << spec.name;
      EXPECT_FALSE(spec.origin.empty()) << spec.name;
    }
  }
}

struct Impossible {
  std::string builder;
  Settings settings;
  std::string code;
};

class ImpossibleParams : public testing::TestWithParam<Impossible> {};

TEST_P(ImpossibleParams, AreInputErrorsWithARemedy) {
  const auto build = [] { build_named(GetParam().builder, GetParam().settings); };
  EXPECT_EQ(codes_of(build), std::vector<std::string>{GetParam().code});
  EXPECT_NE(errors_of(build).find("help: "), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Builders, ImpossibleParams,
    testing::Values(
        Impossible{"fat_tree", {{"k", "5"}}, "odd-k"}, Impossible{"fat_tree", {{"k", "0"}}, "out-of-range"},
        Impossible{"single_switch", {{"gpus_per_host", "8"}, {"nics_per_host", "3"}}, "uneven-nics"},
        Impossible{"single_switch", {{"nics_per_host", "2"}}, "uneven-nics"}, Impossible{"clos", {{"spines", "100"}}, "bad-shape"},
        Impossible{"clos", {{"spines", "0"}}, "bad-shape"},
        Impossible{"clos", {{"hosts", "1000000"}, {"gpus_per_host", "1024"}}, "too-large"},
        Impossible{"clos", {{"leaf_oversubscription", "0.5"}, {"aggs_per_pod", "2"}}, "conflicting-params"},
        Impossible{"clos", {{"agg_oversubscription", "2"}, {"spines", "8"}}, "conflicting-params"},
        // A leaf has one NIC.
        Impossible{"clos", {{"leaf_oversubscription", "2"}}, "bad-shape"},
        Impossible{"rail_optimized", {{"oversubscription", "2"}, {"spines", "8"}}, "conflicting-params"},
        Impossible{"rail_optimized", {{"oversubscription", "17"}}, "bad-shape"},
        Impossible{"rail_optimized", {{"oversubscription", "0"}}, "out-of-range"},
        Impossible{"clos", {{"nic_rate", "0Gbps"}}, "out-of-range"}, Impossible{"clos", {{"nic_rate", "400"}}, "bad-value"},
        Impossible{"clos", {{"leaf_fibre", "30ns"}}, "bad-value"}, Impossible{"clos", {{"spine", "8"}}, "unknown-param"},
        Impossible{"rail_optimized",
                   {{"hosts", "1000000"}, {"gpus_per_host", "1024"}, {"nics_per_host", "1024"}, {"hosts_per_leaf_group", "1"}},
                   "too-large"},
        Impossible{"multi_site", {{"fabric", "torus"}}, "bad-value"},
        Impossible{"multi_site", {{"fabric_params", "hosts"}}, "bad-setting"},
        Impossible{"multi_site", {{"fabric_params", "hots=3"}}, "unknown-param"},
        Impossible{"multi_site", {{"pair_rtt", "0-2=5ms"}}, "bad-pair"},
        Impossible{"multi_site", {{"pair_rtt", "0-0=5ms"}}, "bad-pair"},
        Impossible{"multi_site", {{"pair_rtt", "01=5ms"}}, "bad-pair"},
        Impossible{"multi_site", {{"pair_rtt", "0-1=5ms 1-0=6ms"}}, "bad-pair"},
        Impossible{"multi_site", {{"pair_rtt", "0-1=5Gbps"}}, "bad-value"},
        Impossible{"multi_site", {{"pair_rate", "0-1=0Gbps"}}, "out-of-range"},
        Impossible{"multi_site", {{"pair_rtt", "0-1=1h"}}, "out-of-range"},
        Impossible{"multi_site", {{"pair_loss", "0-1=1"}}, "out-of-range"},
        Impossible{"multi_site", {{"pair_loss", "0-1=few"}}, "bad-value"},
        Impossible{"multi_site", {{"sites", "65"}}, "out-of-range"}, Impossible{"multi_site", {{"hub_hosts", "1"}}, "bad-setting"},
        Impossible{"multi_site", {{"wan_rate_down", "1Gbps"}}, "bad-setting"},
        Impossible{"multi_site", {{"site_rate", "0=1Gbps"}}, "bad-setting"},
        Impossible{"multi_site", {{"wan", "hub"}, {"pair_jitter", "0-1=1ms"}}, "bad-setting"},
        Impossible{"multi_site", {{"wan", "hub"}, {"site_rate", "2=1Gbps"}}, "bad-site"},
        Impossible{"multi_site", {{"wan", "hub"}, {"site_rate", "1=1Gbps 1=2Gbps"}}, "bad-site"},
        Impossible{"multi_site", {{"wan", "hub"}, {"site_rtt", "1=2ms/3ms"}}, "bad-value"},
        Impossible{"multi_site", {{"wan", "hub"}, {"site_rate", "1=1Gbps/"}}, "bad-value"},
        Impossible{"clos", {{"nic_rate", "2000Tbps"}}, "out-of-range"}));

TEST(Builders, UnknownNamesGetASuggestion) {
  const std::string text = errors_of([] { find_module(topology_builders(), "fattree", {}); });
  EXPECT_NE(text.find("did you mean \"fat_tree\"?"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::builders_test
