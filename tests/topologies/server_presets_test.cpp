// SPDX-License-Identifier: Apache-2.0
// Servers by name: a machine's numbers stand for what is not given, in every builder.
#include <gtest/gtest.h>

#include <array>

#include "topologies/builders/server.hpp"
#include "topologies/builders/server_presets.hpp"
#include "topologies/topology_summary.hpp"
#include "topology_help.hpp"

namespace weft::server_presets_test {
namespace {

Bandwidth rate_between(const Topology& topology, const std::string& a, const std::string& b) {
  for (const LinkId link : topology.out_links(node_named(topology, a))) {
    if (topology.node_name(topology.link(link).destination) == b) return topology.link(link).rate;
  }
  return Bandwidth::zero();
}

TEST(ServerPresets, AreTheChoicesOfTheParameter) {
  std::string choices = "custom";
  for (const ModuleInfo& server : server_presets()) choices += "|" + std::string(server.name);
  ASSERT_EQ(inside_params[0].name, "server");
  EXPECT_EQ(inside_params[0].choices, choices);
}

TEST(ServerPresets, AreMadeOfParametersOfAServerWithOrigins) {
  for (const ModuleInfo& server : server_presets()) {
    for (const NamedValue& value : server.values) {
      const bool is_of_server =
          std::any_of(server_params.begin(), server_params.end(), [&](const ParamSpec& spec) { return spec.name == value.name; });
      EXPECT_TRUE(is_of_server || value.name == "gpus_per_host" || value.name == "nics_per_host") << value.name;
      EXPECT_FALSE(value.origin.empty()) << server.name << " " << value.name;
    }
  }
}

TEST(ServerPresets, HaveTheRatesOfTheirDataSheets) {
  struct Expected {
    std::string server;
    std::int64_t nvlink_gbps;  ///< GB/s that data sheets say for both directions together, times 4
    std::int64_t pcie_gbps;    ///< GT/s x 16 lanes
    std::int64_t nic_gbps;
  };
  const std::array<Expected, 3> machines = {
      {{"hgx_h100", 900 * 4, 32 * 16, 400}, {"hgx_a100", 600 * 4, 16 * 16, 200}, {"hgx_b200", 1800 * 4, 32 * 16, 400}}};
  for (const Expected& machine : machines) {
    const auto topology = build_named("rail_optimized", {{"hosts", "2"}, {"spines", "2"}, {"server", machine.server}});
    EXPECT_EQ(summarize(*topology).gpus, 2U * 8);
    EXPECT_EQ(summarize(*topology).nics, 2U * 8);
    EXPECT_EQ(rate_between(*topology, "host0/gpu3", "host0/nvswitch0"), Bandwidth::gbps(machine.nvlink_gbps)) << machine.server;
    EXPECT_EQ(rate_between(*topology, "host0/gpu3", "host0/nic3"), Bandwidth::gbps(machine.pcie_gbps)) << machine.server;
    EXPECT_EQ(rate_between(*topology, "host0/nic3", "leaf3"), Bandwidth::gbps(machine.nic_gbps)) << machine.server;
  }
  // 64 GB/s each way between every two of 8 GPUs.
  const auto mi300x = build_named("lone_server", {{"server", "mi300x"}});
  EXPECT_EQ(mi300x->node_count(), 8U);
  EXPECT_EQ(rate_between(*mi300x, "host0/gpu2", "host0/gpu7"), Bandwidth::gbps(64 * 8));
  // A node is its GPU, with one port.
  const auto gh200 = build_named("single_switch", {{"hosts", "2"}, {"server", "gh200"}});
  EXPECT_EQ(gh200->node_count(), 2U + 1);
  EXPECT_EQ(rate_between(*gh200, "host1/gpu0", "leaf0"), Bandwidth::gbps(400));
}

TEST(ServerPresets, AreTheSameAsTheirNumbers) {
  const std::array<Instance, 7> fabrics = {{{"single_switch", {{"hosts", "4"}}},
                                            {"fat_tree", {{"k", "4"}}},
                                            {"clos", {{"hosts", "64"}}},
                                            {"rail_optimized", {{"hosts", "4"}}},
                                            {"torus", {{"dimensions", "2x3"}}},
                                            {"hyperx", {}},
                                            {"bcube", {{"n", "2"}}}}};
  for (const Instance& fabric : fabrics) {
    for (const ModuleInfo& server : server_presets()) {
      const ParamTable table = find_module(topology_builders(), fabric.builder, {}).info.params;
      const ParamSet params(fabric.builder, table);
      Settings by_name = fabric.settings;
      by_name.emplace_back("server", server.name);
      Settings by_numbers = fabric.settings;
      for (const NamedValue& value : server.values) {
        if (params.has(value.name)) by_numbers.emplace_back(value.name, value.value);
      }
      EXPECT_EQ(to_text(summarize(*build_named(fabric.builder, by_name))),
                to_text(summarize(*build_named(fabric.builder, by_numbers))))
          << fabric.builder << " of " << server.name;
    }
  }
}

TEST(ServerPresets, LeaveWhatIsGivenEvenAsItsDefault) {
  ASSERT_EQ(nic_rate_param[0].default_text, "400Gbps");
  const auto topology = build_named(
      "rail_optimized", {{"hosts", "2"}, {"spines", "2"}, {"nic_rate", "400Gbps"}, {"server", "hgx_a100"}, {"nics_per_host", "4"}});
  EXPECT_EQ(rate_between(*topology, "host0/nic1", "leaf1"), Bandwidth::gbps(400));
  EXPECT_EQ(summarize(*topology).nics, 2U * 4);
  EXPECT_EQ(rate_between(*topology, "host0/gpu1", "host0/nvswitch0"), Bandwidth::gbps(2400));
}

TEST(ServerPresets, PortsOfANicShareItsRate) {
  const Settings segment = {{"hosts", "2"}, {"hosts_per_segment", "2"}, {"aggs_per_plane", "2"}, {"server", "hgx_h100"}};
  const auto two_ports = build_named("dual_plane_rail", segment);
  EXPECT_EQ(rate_between(*two_ports, "host0/nic1", "leaf1"), Bandwidth::gbps(200));
  Settings one_port = segment;
  one_port.insert(one_port.end(), {{"tors", "1"}, {"planes", "1"}});
  EXPECT_EQ(rate_between(*build_named("dual_plane_rail", one_port), "host0/nic1", "leaf1"), Bandwidth::gbps(400));
}

TEST(ServerPresets, MayDifferFromHostToHostAndBeInsideSites) {
  const auto mixed = build_named("rail_optimized", {{"hosts", "4"},
                                                    {"hosts_per_leaf_group", "2"},
                                                    {"spines", "2"},
                                                    {"server", "hgx_h100"},
                                                    {"host_groups", "2: server=hgx_a100; 3: server=custom nvlink_rate=800Gbps"}});
  EXPECT_EQ(rate_between(*mixed, "host1/gpu0", "host1/nvswitch0"), Bandwidth::gbps(3600));
  EXPECT_EQ(rate_between(*mixed, "host2/gpu0", "host2/nvswitch0"), Bandwidth::gbps(2400));
  EXPECT_EQ(rate_between(*mixed, "host3/gpu0", "host3/nvswitch0"), Bandwidth::gbps(800));
  const auto sites =
      build_named("multi_site", {{"sites", "2"}, {"fabric", "single_switch"}, {"fabric_params", "hosts=2 server=hgx_b200"}});
  EXPECT_EQ(rate_between(*sites, "host3/gpu7", "host3/nvswitch0"), Bandwidth::gbps(7200));
}

TEST(ServerPresets, MisspeltOrImpossibleOnesAreErrors) {
  const std::string misspelt = errors_of([] { build_named("clos", {{"server", "hgx_h10"}}); });
  EXPECT_NE(misspelt.find("[bad-value]"), std::string::npos) << misspelt;
  EXPECT_NE(misspelt.find("did you mean \"hgx_h100\"?"), std::string::npos) << misspelt;
  // A lone server joins GPUs, and a GH200 node has one.
  const std::string alone = errors_of([] { build_named("lone_server", {{"server", "gh200"}}); });
  EXPECT_NE(alone.find("lone_server.gpus_per_host = 1 is below the minimum, which server = gh200 says [out-of-range]"),
            std::string::npos)
      << alone;
  EXPECT_EQ(codes_of([] {
              build_named("rail_optimized", {{"server", "hgx_h100"}, {"gpus_per_host", "4"}});
            }),
            std::vector<std::string>{"uneven-nics"});
}

}  // namespace
}  // namespace weft::server_presets_test
