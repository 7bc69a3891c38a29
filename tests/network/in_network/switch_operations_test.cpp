// SPDX-License-Identifier: Apache-2.0
// Trees of switches and what operations put on their links, by hand.
#include "network/in_network/switch_operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "network/network_model.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::switch_operations_test {
namespace {

FlowSettings settings_with(std::initializer_list<std::pair<const char*, const char*>> parameters = {}) {
  ParamSet flow("flow", flow_params());
  for (const auto& [key, value] : parameters) flow.set(key, value, {"test", 0, 0, 1, ""});
  return FlowSettings(flow);
}

/// By link name.
std::map<std::string, double> loads_of(const Topology& topology, const SwitchOperation& operation) {
  std::map<std::string, double> loads;
  for (std::size_t i = 0; i < operation.links.size(); ++i) {
    EXPECT_TRUE(loads.emplace(topology.link_name(operation.links[i]), operation.loads[i]).second) << "every link once";
  }
  return loads;
}

std::map<std::string, double> loads_of(const Topology& topology, SwitchOperationKind kind, std::vector<NodeId> members,
                                       NodeId root = NodeId::none()) {
  SwitchOperations operations(topology, settings_with());
  const SwitchOperations::Added added = operations.add(kind, std::move(members), root, 0);
  EXPECT_EQ(added.objection, "");
  return loads_of(topology, operations.at(added.name));
}

std::vector<NodeId> all_endpoints(const Topology& topology) { return {topology.endpoints().begin(), topology.endpoints().end()}; }

// Two leafs with a host each, over spines of 400 and 100 Gb/s. Of 1,000 trees, 800 have their top
// at the first spine where paths are weighed, binomial with a standard deviation of sqrt(1000 x 0.8
// x 0.2) = 13; of as many with equal weights 500 +- 16.
TEST(SwitchOperations, TreesTakeSpinesByCapacityWhereAskedFor) {
  TopologyBuilder builder("two spines");
  std::vector<NodeId> hosts;
  for (int i = 0; i < 2; ++i) hosts.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
  std::vector<NodeId> switches;
  for (int i = 0; i < 4; ++i) switches.push_back(builder.add_switch(i < 2 ? 1 : 3));
  for (std::size_t i = 0; i < 2; ++i) {
    builder.add_cable(hosts[i], switches[i], Bandwidth::gbps(400), Duration::ns(5));
    builder.add_cable(switches[i], switches[2], Bandwidth::gbps(400), Duration::ns(5));
    builder.add_cable(switches[i], switches[3], Bandwidth::gbps(100), Duration::ns(5));
  }
  const auto topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  for (const auto& [weights, expected, deviation] : {std::tuple("capacity", 800, 13), std::tuple("equal", 500, 16)}) {
    SwitchOperations operations(*topology, settings_with({{"path_weights", weights}}));
    int over_first = 0;
    for (std::uint32_t connection = 0; connection < 1000; ++connection) {
      const SwitchOperation& tree =
          operations.at(operations.add(SwitchOperationKind::all_reduce, hosts, NodeId::none(), connection).name);
      const auto is_of_first = [&](LinkId link) { return topology->link(link).destination == switches[2]; };
      over_first += std::any_of(tree.links.begin(), tree.links.end(), is_of_first) ? 1 : 0;
    }
    EXPECT_NEAR(over_first, expected, 5 * deviation) << weights;
  }
}

// Two hosts behind a switch each, and a line between these. An operation of the hosts would cross
// it; one of two hosts at one of its ends would not.
std::string objection_to(const WideAreaLine& line, const WideAreaLine& back, const char* control, bool crosses_line) {
  TopologyBuilder builder("line");
  std::vector<NodeId> hosts;
  for (int i = 0; i < 3; ++i) hosts.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
  const NodeId here = builder.add_switch(1);
  const NodeId there = builder.add_switch(1);
  for (const auto& [host, at] : {std::pair(0, here), std::pair(1, here), std::pair(2, there)}) {
    builder.add_cable(hosts.at(static_cast<std::size_t>(host)), at, Bandwidth::gbps(10), Duration::us(1));
  }
  builder.set_wide_area(builder.add_cable(here, there, Bandwidth::gbps(1), Duration::ms(20)), line, back);
  const auto topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  FlowSettings settings = settings_with();
  ParamSet wan("wan", wan_params());
  wan.set("congestion_control", control, SourcePlace::named("test"));
  settings.wide_area = WideAreaSettings(wan, 1);
  SwitchOperations operations(*topology, settings);
  return operations.add(SwitchOperationKind::all_reduce, {hosts[0], hosts[crosses_line ? 2 : 1]}, NodeId::none(), 0).objection;
}

TEST(SwitchOperations, CrossNoLinesBetweenSitesThatAct) {
  const WideAreaLine lossy = {.loss = 0.01, .jitter = {}};
  const WideAreaLine late = {.loss = 0, .jitter = Duration::ms(1)};
  EXPECT_NE(objection_to(lossy, {}, "auto", true).find("speak no TCP"), std::string::npos);
  EXPECT_NE(objection_to({}, lossy, "auto", true), "") << "the result comes back over the line";
  EXPECT_NE(objection_to(late, {}, "none", true), "");
  EXPECT_NE(objection_to({}, {}, "cubic", true), "") << "4 MiB in 40 ms are the most";
  EXPECT_EQ(objection_to({}, {}, "auto", true), "") << "a leased wavelength";
  EXPECT_EQ(objection_to(lossy, lossy, "none", true), "");
  EXPECT_EQ(objection_to(lossy, lossy, "auto", false), "") << "it does not cross the line";
}

TEST(SwitchOperations, LoadTheCablesOfAnNvswitch) {
  const auto topology = built("single_switch", {{"hosts", "1"}, {"gpus_per_host", "4"}, {"nics_per_host", "4"}});
  const std::vector<NodeId> gpus = all_endpoints(*topology);
  ASSERT_EQ(gpus.size(), 4U);
  struct Expected {
    SwitchOperationKind kind;
    double up;
    double down;
  };
  // NVLS reads 1/4 of the sum and writes it to all: 1 + 1/4 each way for an all_reduce.
  for (const auto& [kind, up, down] : {Expected{SwitchOperationKind::all_reduce, 1.25, 1.25},
                                       {SwitchOperationKind::reduce_scatter, 1, 0.25},
                                       {SwitchOperationKind::all_gather, 0.25, 1}}) {
    const auto loads = loads_of(*topology, kind, gpus);
    EXPECT_EQ(loads.size(), 8U);
    for (const NodeId gpu : gpus) {
      const std::string name = topology->node_name(gpu);
      EXPECT_EQ(loads.at(name + "->host0/nvswitch0"), up) << name;
      EXPECT_EQ(loads.at("host0/nvswitch0->" + name), down) << name;
    }
  }
  const auto reduce = loads_of(*topology, SwitchOperationKind::reduce, gpus, gpus[2]);
  EXPECT_EQ(reduce.size(), 5U);
  EXPECT_EQ(reduce.at("host0/nvswitch0->host0/gpu2"), 1);
  const auto broadcast = loads_of(*topology, SwitchOperationKind::broadcast, gpus, gpus[2]);
  EXPECT_EQ(broadcast.size(), 4U);
  EXPECT_EQ(broadcast.at("host0/gpu2->host0/nvswitch0"), 1);
  EXPECT_FALSE(broadcast.contains("host0/nvswitch0->host0/gpu2"));
}

TEST(SwitchOperations, SpreadEvenlyOverNvswitchesThatReachAll) {
  TopologyBuilder builder("two NVSwitches and a half");
  const HostId host = builder.add_host();
  std::vector<NodeId> gpus;
  for (int i = 0; i < 3; ++i) gpus.push_back(builder.add_endpoint(host, NodeKind::gpu));
  for (int s = 0; s < 3; ++s) {
    const NodeId hub = builder.add_inside(host, NodeKind::nvswitch);
    // The second has two cables per GPU, the third does not reach the last GPU.
    for (int i = 0; i < (s == 2 ? 2 : 3); ++i) {
      for (int cable = 0; cable < (s == 1 ? 2 : 1); ++cable) {
        builder.add_cable(gpus[static_cast<std::size_t>(i)], hub, Bandwidth::gbps(100), Duration::ns(25 + s));
      }
    }
  }
  const auto topology = std::move(builder).build(nullptr, {});
  SwitchOperations operations(*topology, settings_with());
  const SwitchOperation& sum = operations.at(operations.add(SwitchOperationKind::reduce_scatter, gpus, NodeId::none(), 0).name);
  std::map<std::pair<std::string, bool>, double> to_switch;  // by switch and direction
  for (std::size_t i = 0; i < sum.links.size(); ++i) {
    const Link& link = topology->link(sum.links[i]);
    const bool up = topology->node(link.destination).kind == NodeKind::nvswitch;
    to_switch[{topology->node_name(up ? link.destination : link.source), up}] += sum.loads[i];
  }
  ASSERT_EQ(to_switch.size(), 4U) << "of two switches, up and down";
  for (const std::string hub : {"host0/nvswitch0", "host0/nvswitch1"}) {
    EXPECT_DOUBLE_EQ(to_switch.at({hub, true}), 1.5) << "three GPUs, half of their data each";
    EXPECT_DOUBLE_EQ(to_switch.at({hub, false}), 0.5);
  }
  EXPECT_EQ(sum.members[0].result_delay, Duration::ns(52)) << "by the longer of the ways";
}

/// 3 leaves with 2 hosts each below 2 aggregation switches.
std::shared_ptr<const Topology> two_levels() {
  return built("clos", {{"hosts", "6"},
                        {"gpus_per_host", "1"},
                        {"hosts_per_leaf", "2"},
                        {"leafs_per_pod", "3"},
                        {"aggs_per_pod", "2"},
                        {"spines", "0"}});
}

TEST(SwitchOperations, TakeOneCoreSwitchBetweenLeaves) {
  const auto topology = two_levels();
  const std::vector<NodeId> hosts = all_endpoints(*topology);
  ASSERT_EQ(hosts.size(), 6U);
  SwitchOperations operations(*topology, settings_with());
  // Five of six: the last leaf has one member.
  const std::vector<NodeId> members(hosts.begin(), hosts.begin() + 5);
  const auto name = operations.add(SwitchOperationKind::all_reduce, members, NodeId::none(), 0).name;
  const SwitchOperation& sum = operations.at(name);
  const std::string core = topology->node_name(sum.top);
  EXPECT_EQ(topology->node(sum.top).level, 2);
  const auto loads = loads_of(*topology, sum);
  EXPECT_EQ(loads.size(), 2U * (5 + 3)) << "cables of five hosts and three leaves";
  for (const auto& [link, load] : loads) EXPECT_EQ(load, 1) << link;
  // A leaf's cable carries what is asked of or given by the members below it.
  const auto scattered = loads_of(*topology, SwitchOperationKind::reduce_scatter, members);
  EXPECT_EQ(scattered.at("leaf0->" + core), 1);
  EXPECT_DOUBLE_EQ(scattered.at(core + "->leaf0"), 0.4);
  EXPECT_DOUBLE_EQ(scattered.at(core + "->leaf2"), 0.2);
  const auto gathered = loads_of(*topology, SwitchOperationKind::all_gather, members);
  EXPECT_DOUBLE_EQ(gathered.at("leaf0->" + core), 0.4);
  EXPECT_EQ(gathered.at(core + "->leaf0"), 1);
  const auto broadcast = loads_of(*topology, SwitchOperationKind::broadcast, members, members[4]);
  EXPECT_EQ(broadcast.size(), 2U + 2 + 4) << "up from the root, down to two leaves and four hosts";
  const auto reduced = loads_of(*topology, SwitchOperationKind::reduce, members, members[4]);
  EXPECT_EQ(reduced.size(), 5U + 3 + 2) << "up from all, down to the root";
  // Two members of one leaf go no further.
  EXPECT_EQ(loads_of(*topology, SwitchOperationKind::all_reduce, {hosts[0], hosts[1]}).size(), 4U);
}

TEST(SwitchOperations, HashGroupsAndConnectionsToDifferentCores) {
  const auto topology = two_levels();
  const std::vector<NodeId> hosts = all_endpoints(*topology);
  SwitchOperations operations(*topology, settings_with());
  std::set<NodeId> tops;
  for (std::uint32_t connection = 0; connection < 16; ++connection) {
    tops.insert(operations.at(operations.add(SwitchOperationKind::all_reduce, hosts, NodeId::none(), connection).name).top);
  }
  EXPECT_EQ(tops.size(), 2U);
  const auto add = [&](NodeId a, NodeId b) {
    return operations.add(SwitchOperationKind::all_reduce, {a, b}, NodeId::none(), 7).name;
  };
  EXPECT_EQ(add(hosts[0], hosts[5]), add(hosts[5], hosts[0])) << "the same operation has the same name";
  EXPECT_NE(add(hosts[0], hosts[5]), add(hosts[0], hosts[4]));
}

// A NIC passes the streams of two members on side by side: it neither adds up nor multiplies.
TEST(SwitchOperations, CountTheStreamsThatANicPassesOn) {
  TopologyBuilder builder("relay");
  std::vector<NodeId> members;
  for (int i = 0; i < 3; ++i) members.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
  const HostId relaying = builder.add_host();
  const NodeId idle = builder.add_endpoint(relaying, NodeKind::gpu);
  const NodeId nic = builder.add_inside(relaying, NodeKind::nic);
  const NodeId leaf = builder.add_switch(1);
  const auto join = [&](NodeId a, NodeId b) { builder.add_cable(a, b, Bandwidth::gbps(100), Duration::ns(10)); };
  join(idle, nic);
  join(members[0], leaf);
  join(nic, leaf);
  join(members[1], nic);
  join(members[2], nic);
  const auto topology = std::move(builder).build(nullptr, {});
  const auto sum = loads_of(*topology, SwitchOperationKind::all_reduce, members);
  EXPECT_EQ(sum.size(), 8U);
  EXPECT_EQ(sum.at("host3/nic0->leaf0"), 2);
  EXPECT_EQ(sum.at("leaf0->host3/nic0"), 2);
  EXPECT_EQ(sum.at("host0->leaf0"), 1);
  const auto broadcast = loads_of(*topology, SwitchOperationKind::broadcast, members, members[1]);
  EXPECT_EQ(broadcast.at("host3/nic0->leaf0"), 1);
  EXPECT_EQ(broadcast.at("leaf0->host3/nic0"), 1) << "down to the other one only";
}

// All shapes of groups on fabrics of three levels: a tree whose every leaf is a member, with one
// top.
TEST(SwitchOperations, AreTreesOnEveryFabric) {
  for (const auto& topology :
       {built("fat_tree", {{"k", "8"}}), built("rail_optimized", {{"hosts", "8"}, {"gpus_per_host", "4"}, {"nics_per_host", "4"}}),
        built("dragonfly", {})}) {
    SwitchOperations operations(*topology, settings_with());
    const auto hosts = static_cast<std::uint32_t>(topology->host_count());
    for (std::uint32_t stride = 1; stride < hosts; stride += 1 + hosts / 7) {
      std::vector<NodeId> members;
      for (std::uint32_t host = 0; host < hosts; host += stride) members.push_back(topology->endpoints_of(HostId(host)).front());
      const auto added = operations.add(SwitchOperationKind::all_reduce, members, NodeId::none(), stride);
      ASSERT_EQ(added.objection, "");
      const SwitchOperation& sum = operations.at(added.name);
      std::map<NodeId, int> degree;
      for (std::size_t i = 0; i < sum.links.size(); ++i) {
        EXPECT_EQ(sum.loads[i], 1);
        ++degree[topology->link(sum.links[i]).source];
      }
      // A connected graph with one cable less than nodes; both directions of each are there.
      EXPECT_EQ(sum.links.size(), 2 * (degree.size() - 1));
      for (const auto& [node, cables] : degree)
        EXPECT_EQ(cables == 1, is_endpoint(topology->node(node).kind)) << topology->node_name(node);
    }
  }
}

// A tree once went from one leaf to another through the NICs of its first member's host, where
// several leafs lead to it.
TEST(SwitchOperations, NeverPassOnThroughAHost) {
  const auto dual = built("dual_plane_rail", {{"hosts", "4"},
                                              {"gpus_per_host", "4"},
                                              {"nics_per_host", "4"},
                                              {"hosts_per_segment", "2"},
                                              {"aggs_per_plane", "4"},
                                              {"planes", "1"}});
  const auto any = built("rail_optimized", {{"hosts", "4"},
                                            {"gpus_per_host", "4"},
                                            {"nics_per_host", "4"},
                                            {"hosts_per_leaf_group", "2"},
                                            {"spines", "4"},
                                            {"nic_affinity", "any"}});
  std::uint32_t found = 0;
  for (const auto& topology : {dual, any}) {
    for (const char* seed : {"1", "2", "3", "4", "5"}) {
      for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
        SwitchOperations operations(*topology, settings_with({{"ecmp_seed", seed}}));
        std::vector<NodeId> rail;
        for (std::uint32_t host = 0; host < 4; ++host) rail.push_back(topology->endpoints()[host * 4 + gpu]);
        const auto added = operations.add(SwitchOperationKind::all_reduce, rail, NodeId::none(), gpu);
        if (!added.objection.empty()) continue;
        ++found;
        // What a NIC passes on for others would come on top of its own member's.
        const SwitchOperation& operation = operations.at(added.name);
        for (std::size_t i = 0; i < operation.links.size(); ++i) {
          EXPECT_LE(operation.loads[i], 1 + 1e-12) << topology->link_name(operation.links[i]) << ", seed " << seed;
        }
      }
    }
  }
  EXPECT_GE(found, 20U) << "most rails have a tree";
}

TEST(SwitchOperations, SayWhatIsInTheWay) {
  const auto pcie = built("single_switch", {{"hosts", "2"}, {"gpus_per_host", "4"}, {"nics_per_host", "4"}, {"inside", "pcie"}});
  const auto gpus = pcie->endpoints_of(HostId(1));
  SwitchOperations operations(*pcie, settings_with());
  EXPECT_EQ(operations.add(SwitchOperationKind::all_reduce, {gpus[0], gpus[1]}, NodeId::none(), 0).objection,
            "host1 has no NVSwitch that host1/gpu0 and the others are all cabled to");
  const NodeId other = pcie->endpoints_of(HostId(0)).front();
  EXPECT_EQ(operations.add(SwitchOperationKind::all_reduce, {gpus[0], other}, NodeId::none(), 0).objection, "");
  SwitchOperations inside_only(*pcie, settings_with({{"reducing_switches", "nvswitches"}}));
  EXPECT_EQ(inside_only.add(SwitchOperationKind::all_reduce, {gpus[0], other}, NodeId::none(), 0).objection,
            "flow.reducing_switches says that packet switches cannot");
  SwitchOperations nowhere(*pcie, settings_with({{"reducing_switches", "none"}}));
  EXPECT_EQ(nowhere.add(SwitchOperationKind::all_reduce, {gpus[0], gpus[1]}, NodeId::none(), 0).objection,
            "flow.reducing_switches = none: no switch can");

  // A cable from host to host has no switch; and a host below two switches that others reach by the
  // one or the other is no leaf of a tree.
  TopologyBuilder builder("two ways");
  std::vector<NodeId> ports;
  for (int i = 0; i < 4; ++i) ports.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
  const NodeId left = builder.add_switch(1);
  const NodeId right = builder.add_switch(1);
  const auto join = [&](NodeId a, NodeId b) { builder.add_cable(a, b, Bandwidth::gbps(100), Duration::ns(10)); };
  join(ports[0], left);
  join(ports[0], right);
  join(ports[1], left);
  join(ports[2], right);
  join(left, right);
  join(ports[3], left);
  join(ports[3], ports[1]);
  const auto ways = std::move(builder).build(nullptr, {});
  SwitchOperations odd(*ways, settings_with());
  EXPECT_EQ(odd.add(SwitchOperationKind::all_reduce, {ports[1], ports[3]}, NodeId::none(), 0).objection,
            "no packet switch joins them");
  EXPECT_EQ(odd.add(SwitchOperationKind::all_reduce, {ports[0], ports[1], ports[2]}, NodeId::none(), 0).objection,
            "the shortest paths to host0 end in different switches");
}

}  // namespace
}  // namespace weft::switch_operations_test
