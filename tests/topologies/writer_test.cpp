// SPDX-License-Identifier: Apache-2.0
// Writers: what was written is read again as the same graph; what cannot be written says why.
#include "topologies/topology_writer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "topologies/topology_summary.hpp"
#include "topology_help.hpp"

namespace weft::writer_test {
namespace {

/// Every node and link by name, independent of numbering.
std::set<std::string> description(const Topology& topology, bool with_classes) {
  std::set<std::string> lines;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    std::string line = "node " + topology.node_name(NodeId(i)) + " " + std::string(to_text(node.kind));
    line += " host " + (node.host.is_none() ? "-" : topology.node_name(topology.endpoints_of(node.host)[0]));
    if (with_classes) line += fmt::format(" level {} class {}", node.level, node.buffer_class);
    lines.insert(line);
  }
  std::map<std::string, int> parallel;
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    const std::string line = topology.link_name(LinkId(i)) + " " + to_text(link.rate) + " " + to_text(link.propagation_delay);
    lines.insert(fmt::format("link {} #{}", line, parallel[line]++));
  }
  return lines;
}

std::shared_ptr<const Topology> reread(const Topology& topology, const std::string& format) {
  return read_topology(SourceText("written", write_topology(topology, format, {})), format);
}

TEST(WeftWriter, RoundTripsEveryBuilder) {
  for (const auto& [builder, settings] : std::vector<std::pair<std::string, Settings>>{
           {"single_switch", {{"hosts", "3"}}},
           {"single_switch", {{"hosts", "2"}, {"gpus_per_host", "4"}, {"nics_per_host", "2"}}},
           {"fat_tree", {{"k", "4"}}},
           {"clos", {{"hosts", "8"}, {"leafs_per_pod", "4"}, {"aggs_per_pod", "2"}, {"spines", "4"}}},
           {"rail_optimized", {{"hosts", "4"}, {"spines", "2"}}},
           {"multi_site", {{"sites", "3"}, {"fabric_params", "hosts=2"}, {"wan_rtt", "33ms"}}}}) {
    const auto topology = build_named(builder, settings);
    const auto again = reread(*topology, "weft");
    EXPECT_EQ(description(*again, true), description(*topology, true)) << builder;
    EXPECT_EQ(again->name(), topology->name());
    // The second text is the first: nothing drifts.
    EXPECT_EQ(write_topology(*again, "weft", {}), write_topology(*topology, "weft", {})) << builder;
  }
}

TEST(WeftWriter, KeepsStrangeNamesAndParallelCables) {
  TopologyBuilder builder("a \"quoted\" \\ name\n");
  const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host, "h\t1 \"x\"");
  const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host, "größe");
  for (int i = 0; i < 3; ++i) builder.add_cable(a, b, Bandwidth::bps(1), Duration::ticks(1));
  const auto topology = std::move(builder).build(nullptr, {});
  const auto again = reread(*topology, "weft");
  EXPECT_EQ(description(*again, true), description(*topology, true));
  EXPECT_EQ(again->name(), topology->name());
}

TEST(HpccWriter, RoundTripsFabricsOfSingleEndpoints) {
  for (const auto& topology : {build_named("single_switch", {{"hosts", "5"}}), build_named("fat_tree", {{"k", "4"}})}) {
    const auto once = reread(*topology, "hpcc");
    const auto twice = reread(*once, "hpcc");
    EXPECT_EQ(once->endpoints().size(), topology->endpoints().size());
    EXPECT_EQ(once->link_count(), topology->link_count());
    EXPECT_EQ(description(*twice, true), description(*once, true));
    EXPECT_EQ(summarize(*once).diameter_links, summarize(*topology).diameter_links);
  }
}

TEST(SimaiWriter, FoldsANicPerGpuIntoItsCable) {
  const auto topology = build_named("rail_optimized", {{"hosts", "4"}, {"hosts_per_leaf_group", "2"}, {"spines", "2"}});
  const auto again = reread(*topology, "simai");
  EXPECT_EQ(again->host_count(), 4U);
  EXPECT_EQ(again->endpoints().size(), 32U);
  // 32 NICs are gone, and with each its inner cable.
  EXPECT_EQ(again->node_count() + 32, topology->node_count());
  EXPECT_EQ(again->link_count() + 64, topology->link_count());
  // PCIe 512 Gb/s and 100 ns, fibre 400 Gb/s and 10 m x 5 ns/m: least rate, sum of delays.
  std::vector<LinkId> hops;
  again->routes().next_hops(*again, NodeId(0), NodeId(31), hops);
  ASSERT_EQ(hops.size(), 1U);
  EXPECT_EQ(again->link(hops[0]).rate, Bandwidth::gbps(400));
  EXPECT_EQ(again->link(hops[0]).propagation_delay, Duration::ns(150));
}

TEST(SimaiWriter, WritesRatesInUnitsThatTheForeignSimulatorsKnow) {
  const auto topology = build_named("rail_optimized", {{"hosts", "1"}, {"spines", "1"}, {"nic_rate", "12345bps"}});
  const std::string text = write_topology(*topology, "simai", {});
  EXPECT_NE(text.find(" 3600Gbps 25ns 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 12345bps 150ns 0\n"), std::string::npos) << text;
}

TEST(SimaiWriter, RoundTripsThePublishedNetworks) {
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/../shared/data/workloads/topologies/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* file : {"Spectrum-X_32g_8gps_400Gbps_H100", "DCN+SingleToR_32g_8gps_400Gbps_H100",
                           "AlibabaHPN_32g_8gps_DualToR_DualPlane_200Gbps_H100"}) {
    const auto topology = load_topology(folder + file, "simai");
    EXPECT_EQ(description(*reread(*topology, "simai"), true), description(*topology, true)) << file;
    const auto ours = reread(*topology, "weft");
    EXPECT_EQ(description(*ours, true), description(*topology, true)) << file;
    EXPECT_EQ(description(*reread(*ours, "simai"), true), description(*topology, true)) << file;
  }
}

TEST(TopologyWriter, SaysWhyAFormatCannotHoldATopology) {
  const auto error = [](const Topology& topology, const std::string& format) {
    return errors_of([&] { write_topology(topology, format, {}); });
  };
  const auto shared_nic = build_named("single_switch", {{"hosts", "2"}, {"gpus_per_host", "2"}});
  EXPECT_NE(error(*shared_nic, "hpcc").find("has 2 GPUs, and the format has no servers [not-expressible]"), std::string::npos);
  EXPECT_NE(error(*shared_nic, "simai").find("NIC \"host0/nic0\" serves 2 GPUs over 3 cables"), std::string::npos);

  const auto uneven = read_topology(SourceText("net", R"(
    host { gpu: ["a", "b"] } host { gpu: "c" } switch { name: "s" }
    link { a: "a" b: "s" rate: "1Gbps" delay: "1ns" } link { a: "b" b: "s" rate: "1Gbps" delay: "1ns" }
    link { a: "c" b: "s" rate: "1Gbps" delay: "1ns" })"),
                                    "weft");
  EXPECT_NE(error(*uneven, "simai").find("has 1 GPU, the first host has 2"), std::string::npos);

  const auto parallel = read_topology(SourceText("net", R"(
    host { port: "a" } host { port: "b" } link { a: "a" b: "b" rate: "1Gbps" delay: "1ns" cables: 2 })"),
                                      "weft");
  EXPECT_NE(error(*parallel, "hpcc").find("have parallel cables"), std::string::npos);

  TopologyBuilder builder("unlike");
  const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
  builder.add_cable(a, b, Bandwidth::gbps(1), Duration::ns(1));
  builder.add_cable(a, b, Bandwidth::gbps(2), Duration::ns(1));
  EXPECT_NE(error(*std::move(builder).build(nullptr, {}), "weft").find("differ in rate or delay"), std::string::npos);

  EXPECT_EQ(codes_of([&] { write_topology(*parallel, "simgrid", {}); }), std::vector<std::string>{"unknown-format"});
}

TEST(DotWriter, DrawsEveryCable) {
  const std::string dot = write_topology(*build_named("single_switch", {{"hosts", "2"}}), "dot", {});
  EXPECT_NE(dot.find("\"host1/gpu0\" -- \"leaf0\" [label=\"400Gbps\"];"), std::string::npos) << dot;
}

TEST(DotWriter, OverviewHasABoxPerKindOfHostAndSwitch) {
  // k = 4: 16 hosts, 8 leafs and 8 aggregation switches, 4 spines; every one is like the others of
  // its tier.
  const std::string dot = write_topology(*build_named("fat_tree", {{"k", "4"}}), "dot-overview", {});
  for (const char* label : {"16 hosts with 1 GPU", "8 switches of tier 1", "8 switches of tier 2", "4 switches of tier 3"}) {
    EXPECT_NE(dot.find(label), std::string::npos) << label << "\n" << dot;
  }
  EXPECT_NE(dot.find("[label=\"16 x 400Gbps\"]"), std::string::npos) << dot;
}

TEST(TopologyWriter, TellsWhatAFormatCannotHold) {
  const auto lost = [](const Topology& topology, const std::string& format) {
    std::string all;
    for (const std::string& sentence : lost_in_format(topology, format)) all += sentence + "\n";
    return all;
  };
  const auto rails = build_named("rail_optimized", {{"hosts", "2"}, {"spines", "1"}});
  EXPECT_EQ(lost(*rails, "weft"), "");
  EXPECT_EQ(lost(*rails, "dot"), "");
  // 2 hosts x 8 NICs; 8 leafs and a spine have levels.
  EXPECT_EQ(lost(*rails, "simai"),
            "16 NICs are folded into their cables: least rate, sum of delays\n"
            "nodes are numbered: endpoints and switches have no names in the format\n"
            "the level of 9 switches is not in the format\n"
            "buffer sizes of switches are not in the format\n"
            "the header names no type of GPU (NONE): topologies hold none\n");
  EXPECT_NE(lost(*build_named("single_switch", {{"hosts", "2"}}), "hpcc").find("GPUs became hosts with one port"),
            std::string::npos);
  EXPECT_EQ(lost(*read_topology(SourceText("net", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n"), "hpcc"), "hpcc"), "");
}

TEST(TopologySummary, TextOfASmallFabric) {
  EXPECT_EQ(to_text(summarize(*build_named("rail_optimized", {{"hosts", "2"}, {"spines", "4"}}))),
            "rail_optimized\n"
            "  hosts      2 with 8 GPUs each, 16 in all\n"
            "  inside     2 NVSwitches, 16 NICs\n"
            "  fabric     12 switches, 80 cables with those inside hosts\n"
            "  diameter   6 links\n"
            "  tier 1     8 switches of 6 ports, down 6.40 Tb/s, up 12.80 Tb/s, oversubscription 0.500\n"
            "  tier 2     4 switches of 8 ports, down 12.80 Tb/s\n"
            "  cables     16 x gpu - nic: 512Gbps, 100ns\n"
            "  cables     16 x gpu - nvswitch: 3.6Tbps, 25ns\n"
            "  cables     16 x nic - tier 1: 400Gbps, 50ns\n"
            "  cables     32 x tier 1 - tier 2: 400Gbps, 250ns\n");
}

}  // namespace
}  // namespace weft::writer_test
