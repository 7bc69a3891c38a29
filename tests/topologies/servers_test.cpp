// SPDX-License-Identifier: Apache-2.0
// What is inside hosts: meshes without a switch, PCIe only, NICs as ports, hosts that differ; and
// dual-plane rails.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "topologies/builders/servers.hpp"
#include "topologies/topology_reader.hpp"
#include "topologies/topology_summary.hpp"
#include "topology_help.hpp"

namespace weft::servers_test {
namespace {

/// Rate of the cable between two nodes; zero if there is none.
Bandwidth rate_between(const Topology& topology, const std::string& a, const std::string& b) {
  for (const LinkId link : topology.out_links(node_named(topology, a))) {
    if (topology.node_name(topology.link(link).destination) == b) return topology.link(link).rate;
  }
  return Bandwidth::zero();
}

/// Names of the nodes on the first shortest path.
std::vector<std::string> path(const Topology& topology, const std::string& from, const std::string& to) {
  std::vector<std::string> names{from};
  NodeId at = node_named(topology, from);
  const NodeId end = node_named(topology, to);
  std::vector<LinkId> hops;
  while (at != end && names.size() < 100) {
    topology.routes().next_hops(topology, at, end, hops);
    at = topology.link(hops.at(0)).destination;
    names.push_back(topology.node_name(at));
  }
  return names;
}

TEST(LoneServer, AFullMeshSharesTheRateAmongItsCables) {
  // 8 GPUs: 28 cables; 3,584 Gb/s over 7 cables is 512 Gb/s each.
  const auto topology = build_named("lone_server", {{"inside", "full_mesh"}, {"nvlink_rate", "3584Gbps"}});
  EXPECT_EQ(topology->node_count(), 8U);
  EXPECT_EQ(topology->link_count(), 2U * 28);
  EXPECT_EQ(rate_between(*topology, "host0/gpu2", "host0/gpu7"), Bandwidth::gbps(512));
  EXPECT_EQ(summarize(*topology).diameter_links, 1U);
}

TEST(LoneServer, TheHybridCubeMeshIsThatOfTheDgx1) {
  const auto topology = build_named("lone_server", {{"inside", "hybrid_cube_mesh"}, {"nvlink_rate", "1200Gbps"}});
  // 8 GPUs and the PCIe switch; 16 pairs with NVLink, 8 PCIe cables.
  EXPECT_EQ(topology->node_count(), 9U);
  EXPECT_EQ(topology->link_count(), 2U * (16 + 8));
  // The matrix that nvidia-smi prints on that server, with its numbers, and what we call its GPUs.
  const std::array<std::array<int, 8>, 8> links = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                    {1, 0, 2, 1, 0, 2, 0, 0},
                                                    {1, 2, 0, 2, 0, 0, 1, 0},
                                                    {2, 1, 2, 0, 0, 0, 0, 1},
                                                    {2, 0, 0, 0, 0, 1, 1, 2},
                                                    {0, 2, 0, 0, 1, 0, 2, 1},
                                                    {0, 0, 1, 0, 1, 2, 0, 2},
                                                    {0, 0, 0, 1, 2, 1, 2, 0}}};
  const std::array<std::size_t, 8> theirs = {0, 3, 2, 1, 5, 6, 7, 4};
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) {
      const int width = links[theirs[a]][theirs[b]];
      EXPECT_EQ(rate_between(*topology, "host0/gpu" + std::to_string(a), "host0/gpu" + std::to_string(b)),
                Bandwidth::gbps(200 * width))
          << a << " " << b;
    }
    // Six links of 25 GB/s each; two to the next GPU in rank order, so that rings in rank order
    // stay on NVLink.
    EXPECT_EQ(links[theirs[a]][theirs[(a + 1) % 8]], 2);
  }
}

TEST(LoneServer, PairsWithoutNvlinkTakePcie) {
  const auto topology = build_named("lone_server", {{"inside", "hybrid_cube_mesh"}});
  EXPECT_EQ(path(*topology, "host0/gpu0", "host0/gpu1"), (std::vector<std::string>{"host0/gpu0", "host0/gpu1"}));
  EXPECT_EQ(path(*topology, "host0/gpu0", "host0/gpu5"), (std::vector<std::string>{"host0/gpu0", "host0/pcie0", "host0/gpu5"}));
  EXPECT_EQ(summarize(*topology).diameter_links, 2U);
}

TEST(LoneServer, WithoutNvlinkEverythingTakesPcie) {
  const auto topology = build_named("lone_server", {{"inside", "pcie"}, {"gpus_per_host", "4"}, {"pcie_rate", "256Gbps"}});
  EXPECT_EQ(topology->link_count(), 2U * 4);
  EXPECT_EQ(rate_between(*topology, "host0/gpu3", "host0/pcie0"), Bandwidth::gbps(256));
}

TEST(Server, ANicMayBeAPortOfItsGpu) {
  const auto topology = build_named(
      "rail_optimized", {{"hosts", "2"}, {"spines", "2"}, {"gpus_per_host", "4"}, {"nics_per_host", "4"}, {"nic_model", "port"}});
  EXPECT_EQ(summarize(*topology).nics, 0U);
  EXPECT_EQ(path(*topology, "host0/gpu2", "host1/gpu2"), (std::vector<std::string>{"host0/gpu2", "leaf2", "host1/gpu2"}));
}

TEST(Server, AnyNicOfTheHostMayBeUsed) {
  // 4 GPUs, 4 NICs and 1 hub in each host, and the PCIe switch unless the hub is one.
  for (const auto& [inside, nodes, switch_name] :
       {std::tuple("nvswitch", 10U, "host0/pcie0"), std::tuple("full_mesh", 9U, "host0/pcie0"),
        std::tuple("pcie", 9U, "host0/pcie0")}) {
    const auto topology = build_named("rail_optimized", {{"hosts", "2"},
                                                         {"spines", "2"},
                                                         {"gpus_per_host", "4"},
                                                         {"nics_per_host", "4"},
                                                         {"inside", inside},
                                                         {"nic_affinity", "any"}});
    SCOPED_TRACE(inside);
    EXPECT_EQ(topology->node_count(), 2 * nodes + 4 + 2);
    EXPECT_EQ(rate_between(*topology, "host0/gpu3", switch_name), Bandwidth::gbps(512));
    EXPECT_EQ(rate_between(*topology, "host0/nic1", switch_name), Bandwidth::gbps(512));
    // From the switch all four rails are equally short, also to a GPU of another number.
    std::vector<LinkId> hops;
    topology->routes().next_hops(*topology, node_named(*topology, switch_name), node_named(*topology, "host1/gpu2"), hops);
    EXPECT_EQ(hops.size(), 4U);
    EXPECT_EQ(path(*topology, "host0/gpu0", "host1/gpu2").size(), 7U) << "GPU, switch, NIC, leaf, NIC, switch, GPU";
    const std::size_t inside_nodes = std::string(inside) == "full_mesh" ? 2 : 3;
    EXPECT_EQ(path(*topology, "host0/gpu0", "host0/gpu1").size(), inside_nodes);
  }
  // With one NIC there is nothing to choose.
  const auto one = build_named("single_switch", {{"hosts", "2"}, {"gpus_per_host", "4"}, {"nic_affinity", "any"}});
  EXPECT_EQ(path(*one, "host0/gpu3", "host1/gpu0"),
            (std::vector<std::string>{"host0/gpu3", "host0/nic0", "leaf0", "host1/nic0", "host1/gpu0"}));
}

TEST(HostGroups, HostsDifferInOneFabric) {
  const auto topology = build_named("rail_optimized", {{"hosts", "6"},
                                                       {"hosts_per_leaf_group", "3"},
                                                       {"spines", "2"},
                                                       {"host_groups",
                                                        "1-2: gpus_per_host=4 nics_per_host=4, nic_rate=200Gbps; 5: "
                                                        "nvlink_rate=2400Gbps"}});
  std::vector<std::size_t> gpus;
  for (std::uint32_t host = 0; host < 6; ++host) gpus.push_back(topology->endpoints_of(HostId(host)).size());
  EXPECT_EQ(gpus, (std::vector<std::size_t>{8, 4, 4, 8, 8, 8}));
  EXPECT_EQ(rate_between(*topology, "host1/nic3", "leaf3"), Bandwidth::gbps(200));
  EXPECT_EQ(rate_between(*topology, "host3/nic3", "leaf11"), Bandwidth::gbps(400));
  EXPECT_EQ(rate_between(*topology, "host4/gpu0", "host4/nvswitch0"), Bandwidth::gbps(3600));
  EXPECT_EQ(rate_between(*topology, "host5/gpu0", "host5/nvswitch0"), Bandwidth::gbps(2400));
  // Leaf 3 joins three hosts and two spines; leaf 4 only the host with more than four NICs.
  EXPECT_EQ(topology->out_links(node_named(*topology, "leaf3")).size(), 3U + 2);
  EXPECT_EQ(topology->out_links(node_named(*topology, "leaf4")).size(), 1U + 2);
  // 8 + 2 x 4 GPUs in the first group, 24 in the second.
  EXPECT_EQ(summarize(*topology).gpus, 40U);
}

TEST(HostGroups, NumbersAgreeWithANaiveCount) {
  ServerShape small;
  small.gpus = small.nics = 4;
  ServerShape large;
  large.gpus = large.nics = 8;
  Servers servers(small, 20);
  servers.replace(12, 3, large);
  servers.replace(0, 1, large);
  servers.replace(19, 1, ServerShape{});
  servers.replace(15, 2, large);
  std::uint32_t node = 0;
  std::uint32_t nics = 0;
  std::uint32_t with_nic_5 = 0;
  for (std::uint32_t host = 0; host < 20; ++host) {
    const bool is_large = host == 0 || (host >= 12 && host < 17);
    EXPECT_EQ(servers.of(host).gpus, host == 19 ? 1U : is_large ? 8U : 4U) << host;
    EXPECT_EQ(servers.first_node(host), node);
    EXPECT_EQ(servers.nics_before(host), nics);
    EXPECT_EQ(servers.hosts_with_nic_before(host, 5), with_nic_5);
    for (std::uint32_t offset = 0; offset < servers.of(host).node_count(); ++offset) {
      EXPECT_EQ(servers.locate(node + offset).host, host);
      EXPECT_EQ(servers.locate(node + offset).offset, offset);
    }
    node += servers.of(host).node_count();
    nics += servers.of(host).nics;
    with_nic_5 += is_large ? 1 : 0;
  }
  EXPECT_EQ(servers.node_count(), node);
  EXPECT_EQ(servers.nics_before(20), nics);
  EXPECT_EQ(servers.nics_max(), 8U);
}

TEST(DualPlaneRail, TheTwoPortsOfANicStayInTheirPlanes) {
  const auto topology = build_named("dual_plane_rail", {{"hosts", "4"}, {"hosts_per_segment", "2"}, {"aggs_per_plane", "3"}});
  const TopologySummary summary = summarize(*topology);
  // Two segments of 8 rails x 2 ToRs; 2 planes x 3 aggregation switches.
  EXPECT_EQ(summary.tiers.at(0).switches, 32U);
  EXPECT_EQ(summary.tiers.at(1).switches, 6U);
  // 64 NVLink and PCIe, 32 NICs x 2 ports, 32 ToRs x 3.
  EXPECT_EQ(summary.cables, 64U + 64 + 96);
  // ToR 5 is of plane 0, ToR 8 + 5 of plane 1; aggregation switches 0 to 2 and 3 to 5.
  EXPECT_GT(rate_between(*topology, "leaf5", "agg2"), Bandwidth::zero());
  EXPECT_EQ(rate_between(*topology, "leaf5", "agg3"), Bandwidth::zero());
  EXPECT_GT(rate_between(*topology, "leaf13", "agg3"), Bandwidth::zero());
  EXPECT_EQ(rate_between(*topology, "leaf13", "agg2"), Bandwidth::zero());
  EXPECT_EQ(rate_between(*topology, "host1/nic5", "leaf5"), Bandwidth::gbps(200));
  EXPECT_EQ(rate_between(*topology, "host1/nic5", "leaf13"), Bandwidth::gbps(200));
}

TEST(DualPlaneRail, OnePlaneJoinsAllToRs) {
  const auto topology =
      build_named("dual_plane_rail", {{"hosts", "4"}, {"hosts_per_segment", "2"}, {"aggs_per_plane", "3"}, {"planes", "1"}});
  EXPECT_EQ(topology->out_links(node_named(*topology, "agg0")).size(), 32U);
}

TEST(DualPlaneRail, EqualsTheDualPlaneTopologyOfSimai) {
  const std::string file =
      std::string(WEFT_SOURCE_DIR) + "/../shared/data/workloads/topologies/AlibabaHPN_32g_8gps_DualToR_DualPlane_200Gbps_H100";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  TopologySummary read = summarize(*load_topology(file, "simai"));
  // 500 ns per cable are 100 m of fibre.
  TopologySummary built = summarize(*build_named(
      "dual_plane_rail",
      {{"hosts", "4"}, {"nic_model", "port"}, {"nvlink_rate", "2880Gbps"}, {"host_fibre", "100m"}, {"leaf_fibre", "100m"}}));
  read.name = built.name;
  EXPECT_EQ(to_text(built), to_text(read));
}

struct Impossible {
  std::string builder;
  Settings settings;
  std::string code;
};

class ImpossibleServer : public testing::TestWithParam<Impossible> {};

TEST_P(ImpossibleServer, IsAnInputErrorWithARemedy) {
  const auto build = [] { build_named(GetParam().builder, GetParam().settings); };
  EXPECT_EQ(codes_of(build), std::vector<std::string>{GetParam().code});
  EXPECT_NE(errors_of(build).find("help: "), std::string::npos);
}

Impossible groups(const std::string& text, const std::string& code) {
  return {"rail_optimized", {{"hosts", "8"}, {"host_groups", text}}, code};
}

INSTANTIATE_TEST_SUITE_P(
    Builders, ImpossibleServer,
    testing::Values(Impossible{"lone_server", {{"inside", "hybrid_cube_mesh"}, {"gpus_per_host", "4"}}, "bad-inside"},
                    Impossible{"lone_server", {{"inside", "full_mesh"}, {"nvlink_rate", "6bps"}}, "bad-inside"},
                    Impossible{"lone_server", {{"gpus_per_host", "1"}}, "out-of-range"},
                    Impossible{"lone_server", {{"nic_rate", "1Gbps"}}, "unknown-param"},
                    Impossible{"single_switch", {{"gpus_per_host", "2"}, {"nic_model", "port"}}, "uneven-nics"},
                    Impossible{"rail_optimized", {{"nic_model", "port"}, {"nic_affinity", "any"}}, "bad-affinity"},
                    Impossible{"dual_plane_rail", {{"planes", "3"}}, "bad-shape"},
                    Impossible{"dual_plane_rail", {{"tors", "4"}}, "bad-shape"},
                    Impossible{"dual_plane_rail", {{"hosts", "2000"}}, "bad-shape"},
                    Impossible{"dual_plane_rail",
                               {{"hosts", "1000000"},
                                {"gpus_per_host", "1024"},
                                {"nics_per_host", "1024"},
                                {"hosts_per_segment", "1"},
                                {"cores_per_agg", "1000"},
                                {"aggs_per_plane", "10000"},
                                {"segments_per_pod", "1000"}},
                               "too-large"},
                    groups("gpus_per_host=4", "bad-group"), groups("0-8: gpus_per_host=4", "bad-group"),
                    groups("3-2: gpus_per_host=4", "bad-group"), groups("0-99999999999: gpus_per_host=4", "bad-group"),
                    groups("0-3", "bad-group"), groups("0-3:", "bad-group"), groups("0-3: gpus_per_host", "bad-group"),
                    groups("0-3: =4", "bad-group"), groups("0-3: gpus_per_host=4 nics_per_host=4; 3: nic_rate=1Gbps", "bad-group"),
                    groups("0-3: gpus=4", "unknown-param"), groups("0-3: hosts=4", "unknown-param"),
                    groups("0-3: host_groups=4", "unknown-param"), groups("0-3: gpus_per_host=4", "uneven-nics"),
                    groups("0-3: nic_rate=4", "bad-value"), groups("0-3: gpus_per_host=0", "out-of-range")));

TEST(HostGroups, AtMost256) {
  std::string text;
  for (int host = 0; host < 257; ++host) text += std::to_string(host) + ": nic_rate=200Gbps;";
  EXPECT_EQ(codes_of([&] {
              build_named("rail_optimized", {{"hosts", "257"}, {"host_groups", text}});
            }),
            std::vector<std::string>{"bad-group"});
}

}  // namespace
}  // namespace weft::servers_test
