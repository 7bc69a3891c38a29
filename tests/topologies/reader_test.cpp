// SPDX-License-Identifier: Apache-2.0
// Readers: what the files say is what the topology has; every kind of mistake is told with its
// place and a remedy.
#include "topologies/topology_reader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "core/text/diagnostics.hpp"
#include "topologies/topology_summary.hpp"
#include "topology_help.hpp"

namespace weft::reader_test {
namespace {

std::shared_ptr<const Topology> read(const std::string& format, const std::string& text) {
  return read_topology(SourceText("net", text), format);
}

std::vector<std::string> link_names(const Topology& topology) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < topology.link_count(); i += 2) names.push_back(topology.link_name(LinkId(i)));
  return names;
}

constexpr const char* two_hosts = R"(
name: "two hosts"
buffer_class { name: "shallow" size: "16MB" }
buffer_class { name: "deep" size: "64MB" }
host { gpu: ["a/g0", "a/g1"] nic: "a/nic" nvswitch: "a/nvs" }
host { port: "b" }
switch { name: "leaf" level: LEAF buffer_class: "deep" }
link { a: "a/g0" b: "a/nvs" rate: "3600Gbps" delay: "25ns" }
link { a: "a/g1" b: "a/nvs" rate: "3600Gbps" delay: "25ns" }
link { a: "a/g0" b: "a/nic" rate: "512Gbps" delay: "100ns" }
link { a: "a/g1" b: "a/nic" rate: "512Gbps" delay: "100ns" }
link { a: "a/nic" b: "leaf" rate: "400Gbps" fibre: "3m" }
link { a: "leaf" b: "b" rate: "100Gbps" delay: "0ns" cables: 2 }
)";

TEST(WeftReader, ReadsNodesLinksAndBuffers) {
  const auto topology = read("weft", two_hosts);
  EXPECT_EQ(topology->name(), "two hosts");
  EXPECT_EQ(topology->host_count(), 2U);
  ASSERT_EQ(topology->endpoints().size(), 3U);
  EXPECT_EQ(topology->node_name(topology->endpoints()[2]), "b");
  EXPECT_EQ(topology->node(topology->endpoints()[2]).kind, NodeKind::host);
  const Node& leaf = topology->node(node_named(*topology, "leaf"));
  EXPECT_EQ(leaf.level, 1);
  EXPECT_EQ(topology->buffer_classes()[leaf.buffer_class].size, Bytes::of(64'000'000));
  EXPECT_EQ(link_names(*topology), (std::vector<std::string>{"a/g0->a/nvs", "a/g1->a/nvs", "a/g0->a/nic", "a/g1->a/nic",
                                                             "a/nic->leaf", "leaf->b", "leaf->b"}));
  EXPECT_EQ(topology->link(LinkId(8)).propagation_delay, Duration::ns(15));  // 3 m x 5 ns/m
  std::vector<LinkId> hops;
  topology->routes().next_hops(*topology, node_named(*topology, "leaf"), node_named(*topology, "b"), hops);
  EXPECT_EQ(hops.size(), 2U);  // both parallel cables
}

TEST(WeftReader, ReadsABuilderWithParameters) {
  const auto topology = read("weft", "builder: \"fat_tree\"\nset { name: \"k\" value: \"4\" }\n");
  EXPECT_EQ(topology->name(), "fat_tree");
  EXPECT_EQ(topology->host_count(), 16U);
}

constexpr const char* small_hpcc =
    "6 2 5\n"
    "4 1\n"
    "0 1 100Gbps 1us 0\n"
    "2 1 100Gbps 1000ns 0\n"
    "3 4 25Gbps 0.001ms 0.000000\n"
    "5 4 25Gbps 0.001ms 0\n"
    "1 4 400Gbps 2us 0\n";

TEST(HpccReader, NodeIdsAreTheFilesNumbers) {
  const auto topology = read("hpcc", small_hpcc);
  ASSERT_EQ(topology->node_count(), 6U);
  for (std::uint32_t id = 0; id < 6; ++id) {
    EXPECT_EQ(topology->node_name(NodeId(id)), std::to_string(id));
    EXPECT_EQ(topology->node(NodeId(id)).kind, id == 1 || id == 4 ? NodeKind::packet_switch : NodeKind::host);
  }
  const auto endpoints = topology->endpoints();
  EXPECT_EQ(std::vector<NodeId>(endpoints.begin(), endpoints.end()),
            (std::vector<NodeId>{NodeId(0), NodeId(2), NodeId(3), NodeId(5)}));
  EXPECT_EQ(topology->host_count(), 4U);
  EXPECT_EQ(topology->link(LinkId(4)).rate, Bandwidth::gbps(25));
  EXPECT_EQ(topology->link(LinkId(4)).propagation_delay, Duration::us(1));
}

TEST(HpccReader, TakesWindowsLineEndsTabsAndBlankLines) {
  const auto topology = read("hpcc", "3 1 2\r\n\r\n2\r\n0\t2 1Gbps 1us 0\r\n1 2 1Gbps 1us 0\r\n\r\n");
  EXPECT_EQ(topology->endpoints().size(), 2U);
}

TEST(HpccReader, TwoHostsMayBeJoinedWithoutASwitch) {
  EXPECT_EQ(read("hpcc", "2 0 1\n\n0 1 100Gbps 1us 0\n")->endpoints().size(), 2U);
}

TEST(SimaiReader, GroupsGpusIntoHosts) {
  const auto topology = read("simai",
                             "7 2 2 1 8 H100\n"
                             "4 5 6\n"
                             "0 4 2880Gbps 0.000025ms 0\n"
                             "1 4 2880Gbps 0.000025ms 0\n"
                             "2 5 2880Gbps 0.000025ms 0\n"
                             "3 5 2880Gbps 0.000025ms 0\n"
                             "0 6 400Gbps 0.0005ms 0\n"
                             "1 6 400Gbps 0.0005ms 0\n"
                             "2 6 400Gbps 0.0005ms 0\n"
                             "3 6 400Gbps 0.0005ms 0\n");
  EXPECT_EQ(topology->host_count(), 2U);
  EXPECT_EQ(topology->node(NodeId(3)).host, HostId(1));
  EXPECT_EQ(topology->node(NodeId(5)).kind, NodeKind::nvswitch);
  EXPECT_EQ(topology->node(NodeId(5)).host, HostId(1));
  EXPECT_EQ(topology->link(LinkId(0)).propagation_delay, Duration::ns(25));
}

TEST(SimaiReader, ReadsTheThreePublishedNetworks) {
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/../shared/data/workloads/topologies/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  struct Expected {
    const char* file;
    std::uint32_t switches;
    std::uint32_t cables;
    std::uint32_t diameter;
    std::size_t uplinks;  ///< next hops of GPU 0 towards GPU 31
  };
  // Counts are the files' headers. GPU - leaf - spine - leaf - GPU is 4 links; in DCN+ one leaf
  // (node 36) takes all 32 GPUs. HPN GPUs have two ports, one on each of two planes.
  for (const Expected& expected :
       {Expected{"Spectrum-X_32g_8gps_400Gbps_H100", 72, 576, 4, 1}, Expected{"DCN+SingleToR_32g_8gps_400Gbps_H100", 9, 72, 2, 1},
        Expected{"AlibabaHPN_32g_8gps_DualToR_DualPlane_200Gbps_H100", 136, 1056, 4, 2}}) {
    const auto topology = load_topology(folder + expected.file, "simai");
    const TopologySummary summary = summarize(*topology);
    EXPECT_EQ(summary.hosts, 4U);
    EXPECT_EQ(summary.gpus, 32U);
    EXPECT_EQ(summary.nvswitches, 4U);
    EXPECT_EQ(summary.switches, expected.switches);
    EXPECT_EQ(summary.cables, expected.cables);
    EXPECT_EQ(summary.diameter_links, expected.diameter) << expected.file;
    std::vector<LinkId> hops;
    topology->routes().next_hops(*topology, NodeId(0), NodeId(31), hops);
    EXPECT_EQ(hops.size(), expected.uplinks) << expected.file;
    topology->routes().next_hops(*topology, NodeId(0), NodeId(7), hops);
    ASSERT_EQ(hops.size(), 1U);
    EXPECT_EQ(topology->node(topology->link(hops[0]).destination).kind, NodeKind::nvswitch);
  }
}

TEST(TopologyReader, PresetsAreRead) {
  struct Expected {
    const char* file;
    std::size_t hosts;
    std::size_t endpoints;
  };
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/topologies/presets/";
  std::size_t files = 0;
  for (const Expected& expected :
       {Expected{"paper_clos_32k", 4096, 32768}, Expected{"rail_128_h100", 16, 128}, Expected{"fat_tree_k8", 128, 128},
        Expected{"three_sites_wan", 24, 192}, Expected{"hpn_dual_plane", 128, 1024}, Expected{"dragonfly_72", 72, 72},
        Expected{"torus_64_tpu_v4", 64, 64}, Expected{"dgx1_v100", 1, 8}, Expected{"mi300x_8", 1, 8},
        Expected{"clos_9216", 1152, 9216}, Expected{"gb200_nvl72", 4, 288}, Expected{"mi355x_8", 1, 8},
        Expected{"internet_sites", 14, 112}}) {
    const auto topology = load_topology(folder + expected.file + ".textproto", "");
    EXPECT_EQ(topology->host_count(), expected.hosts) << expected.file;
    EXPECT_EQ(topology->endpoints().size(), expected.endpoints) << expected.file;
    ++files;
  }
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(static_cast<std::size_t>(std::distance(begin(entries), end(entries))), files);
}

TEST(TopologyReader, FormatsAreExplicit) {
  EXPECT_EQ(codes_of([] { read("hpc", small_hpcc); }), std::vector<std::string>{"unknown-format"});
  EXPECT_NE(errors_of([] { read("hpc", small_hpcc); }).find("did you mean \"hpcc\"?"), std::string::npos);
  EXPECT_EQ(codes_of([] { load_topology("no/such/file.textproto", ""); }), std::vector<std::string>{"no-file"});
  EXPECT_EQ(codes_of([] { load_topology(WEFT_SOURCE_DIR, "hpcc"); }), std::vector<std::string>{"is-directory"});
  const std::string text = errors_of([] { load_topology(std::string(WEFT_SOURCE_DIR) + "/CMakeLists.txt", ""); });
  EXPECT_NE(text.find("[unknown-format]"), std::string::npos) << text;
  EXPECT_NE(text.find("CMakeLists.txt:hpcc"), std::string::npos) << text;
  for (const TopologyFormat& format : topology_formats()) EXPECT_GT(format.summary.size(), 40U);
}

struct Faulty {
  const char* what;
  const char* format;
  std::string text;
  std::vector<std::string> codes;
};

void PrintTo(const Faulty& faulty, std::ostream* out) { *out << faulty.format << ": " << faulty.what; }

class FaultyFile : public testing::TestWithParam<Faulty> {};

TEST_P(FaultyFile, IsRefusedWithEveryError) {
  const Faulty& faulty = GetParam();
  const auto action = [&] { read(faulty.format, faulty.text); };
  EXPECT_EQ(codes_of(action), faulty.codes) << errors_of(action);
  // What breaks the grammar of protobuf text has no remedy beyond its place.
  if (faulty.codes != std::vector<std::string>{"syntax"}) {
    EXPECT_NE(errors_of(action).find("help: "), std::string::npos) << errors_of(action);
  }
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<Faulty> faulty_files() {
  const std::string hpcc = small_hpcc;
  const std::string weft = two_hosts;
  const std::string simai =
      "7 2 2 1 8 H100\n4 5 6\n"
      "0 4 2880Gbps 25ns 0\n1 4 2880Gbps 25ns 0\n2 5 2880Gbps 25ns 0\n3 5 2880Gbps 25ns 0\n"
      "0 6 400Gbps 500ns 0\n1 6 400Gbps 500ns 0\n2 6 400Gbps 500ns 0\n3 6 400Gbps 500ns 0\n";
  return {
      {"empty", "hpcc", "", {"empty-file"}},
      {"blank", "simai", " \n\n", {"empty-file"}},
      {"not UTF-8", "hpcc", "6 2 \xFF", {"not-utf8"}},
      {"another format", "hpcc", simai, {"bad-header"}},
      {"another format", "simai", hpcc, {"bad-header"}},
      {"another format", "weft", hpcc, {"syntax"}},
      {"cut off after the header", "hpcc", "6 2 5\n", {"count-mismatch", "count-mismatch"}},
      {"a link less than promised", "hpcc", with(hpcc, "1 4 400Gbps 2us 0\n", ""), {"count-mismatch"}},
      {"a link more than promised", "hpcc", hpcc + "0 4 1Gbps 1us 0\n", {"count-mismatch"}},
      {"more switches than nodes", "hpcc", with(hpcc, "6 2 5", "6 9 5"), {"count-mismatch"}},
      {"an id less than promised", "hpcc", with(hpcc, "4 1\n", "4\n"), {"count-mismatch"}},
      {"a switch id beyond the nodes", "hpcc", with(hpcc, "4 1\n", "4 6\n"), {"unknown-node"}},
      {"a switch listed twice", "hpcc", with(hpcc, "4 1\n", "4 4\n"), {"duplicate-switch"}},
      {"a count with a sign", "hpcc", with(hpcc, "6 2 5", "6 -2 5"), {"bad-number"}},
      {"a count beyond 32 bits", "hpcc", with(hpcc, "6 2 5", "99999999999999999999 2 5"), {"out-of-range"}},
      {"a count beyond reason", "hpcc", with(hpcc, "6 2 5", "4000000000 2 5"), {"out-of-range"}},
      {"a link to an unknown node", "hpcc", with(hpcc, "5 4 25Gbps", "7 4 25Gbps"), {"unknown-node"}},
      {"a node that is no number", "hpcc", with(hpcc, "5 4 25Gbps", "five 4 25Gbps"), {"bad-number"}},
      {"a link to itself", "hpcc", with(hpcc, "5 4 25Gbps", "5 5 25Gbps"), {"self-link"}},
      {"a link twice", "hpcc", with(hpcc, "1 4 400Gbps", "1 0 400Gbps"), {"duplicate-link"}},
      {"zero bandwidth", "hpcc", with(hpcc, "5 4 25Gbps", "5 4 0Gbps"), {"zero-bandwidth"}},
      {"negative bandwidth", "hpcc", with(hpcc, "5 4 25Gbps", "5 4 -25Gbps"), {"bad-value"}},
      {"bandwidth without unit", "hpcc", with(hpcc, "5 4 25Gbps", "5 4 25"), {"bad-value"}},
      {"bandwidth in bytes", "hpcc", with(hpcc, "5 4 25Gbps", "5 4 25GB"), {"bad-value"}},
      {"bandwidth that overflows", "hpcc", with(hpcc, "5 4 25Gbps", "5 4 99999999999Tbps"), {"bad-value"}},
      {"bandwidth beyond reason", "hpcc", with(hpcc, "5 4 25Gbps", "5 4 2000Tbps"), {"out-of-range"}},
      {"delay in bits per second", "hpcc", with(hpcc, "400Gbps 2us", "400Gbps 2Gbps"), {"bad-value"}},
      {"negative delay", "hpcc", with(hpcc, "400Gbps 2us", "400Gbps -2us"), {"bad-value"}},
      {"delay of a day", "hpcc", with(hpcc, "400Gbps 2us", "400Gbps 1d"), {"out-of-range"}},
      {"an error rate", "hpcc", with(hpcc, "0.000000", "0.01"), {"error-rate"}},
      {"an error rate that is no number", "hpcc", with(hpcc, "0.000000", "none"), {"bad-number"}},
      {"too few fields", "hpcc", with(hpcc, "400Gbps 2us 0", "400Gbps 2us"), {"too-few-fields"}},
      {"trailing text", "hpcc", with(hpcc, "400Gbps 2us 0", "400Gbps 2us 0 # trunk"), {"trailing-text"}},
      {"disconnected", "hpcc", with(hpcc, "1 4 400Gbps", "1 2 400Gbps"), {"duplicate-link"}},
      {"disconnected islands", "hpcc", "4 2 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n", {"disconnected"}},
      {"no hosts", "hpcc", "2 2 1\n0 1\n0 1 1Gbps 1us 0\n", {"no-endpoints"}},
      {"several errors at once",
       "hpcc",
       with(with(with(hpcc, "0 1 100Gbps", "0 9 100Gbps"), "2 1 100Gbps 1000ns", "2 1 0Gbps 1000"), "5 4 25Gbps 0.001ms 0", "5 4"),
       {"unknown-node", "zero-bandwidth", "bad-value", "too-few-fields"}},

      {"GPUs that do not fill servers", "simai", with(simai, "7 2 2 1", "7 3 2 1"), {"count-mismatch"}},
      {"no GPUs per server", "simai", with(simai, "7 2 2 1", "7 0 2 1"), {"count-mismatch"}},
      {"more switches than nodes", "simai", with(simai, "7 2 2 1", "7 2 4000000000 4000000000"), {"count-mismatch"}},
      {"a GPU listed as switch", "simai", with(simai, "4 5 6\n", "3 5 6\n"), {"bad-switch-id"}},
      {"an NVSwitch joined to a switch", "simai", with(simai, "0 4 2880Gbps", "6 4 2880Gbps"), {"nvswitch-leaves-host"}},
      {"an NVSwitch across servers", "simai", with(simai, "2 5 2880Gbps", "2 4 2880Gbps"), {"nvswitch-spans-hosts"}},
      {"an NVSwitch without GPUs", "simai", "4 2 1 1 2 A100\n2 3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n", {"nvswitch-without-gpus"}},
      {"NVSwitches of two servers joined", "simai", with(simai, "3 6 400Gbps", "4 5 400Gbps"), {"nvswitch-leaves-host"}},
      {"NVLink alone between servers", "simai", "4 1 2 0 2 A100\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n", {"disconnected"}},

      {"empty", "weft", "# nothing\n", {"empty-topology"}},
      {"an unknown field", "weft", with(weft, "fibre", "fiber"), {"unknown-field"}},
      {"an unknown level", "weft", with(weft, "level: LEAF", "level: LEEF"), {"unknown-value"}},
      {"a level by a number that is none", "weft", with(weft, "level: LEAF", "level: 9"), {"out-of-range"}},
      {"a link to an unknown node", "weft", with(weft, "b: \"leaf\"", "b: \"leef\""), {"unknown-node"}},
      {"an unknown buffer class", "weft", with(weft, "buffer_class: \"deep\"", "buffer_class: \"dep\""), {"unknown-buffer-class"}},
      {"two nodes of one name", "weft", with(weft, "port: \"b\"", "port: \"a/g0\""), {"duplicate-name", "unknown-node"}},
      {"two buffer classes of one name", "weft", with(weft, "\"shallow\"", "\"deep\""), {"duplicate-name"}},
      {"a buffer without size", "weft", with(weft, " size: \"16MB\"", ""), {"missing-field"}},
      {"an empty buffer", "weft", with(weft, "16MB", "0MB"), {"out-of-range"}},
      {"a buffer in seconds", "weft", with(weft, "16MB", "16ms"), {"bad-value"}},
      {"a host of nothing", "weft", weft + "host { nic: \"c\" }", {"host-without-endpoint"}},
      {"a host of GPUs and a port", "weft", with(weft, "port: \"b\"", "port: \"b\" gpu: \"c\""), {"host-kind", "unknown-node"}},
      {"an empty name",
       "weft",
       with(weft, "nic: \"a/nic\"", "nic: \"\""),
       {"missing-field", "unknown-node", "unknown-node", "unknown-node"}},
      {"a link without rate", "weft", with(weft, " rate: \"100Gbps\"", ""), {"missing-field"}},
      {"a link without delay", "weft", with(weft, " fibre: \"3m\"", ""), {"missing-field"}},
      {"a link without an end", "weft", with(weft, " b: \"b\"", ""), {"missing-field"}},
      {"a link with delay and fibre", "weft", with(weft, "fibre: \"3m\"", "fibre: \"3m\" delay: \"1ns\""), {"conflicting-fields"}},
      {"a fibre of negative length", "weft", with(weft, "\"3m\"", "\"-3m\""), {"bad-value"}},
      {"a fibre beyond reason", "weft", with(weft, "\"3m\"", "\"900000000km\""), {"out-of-range"}},
      {"a fibre in nanoseconds", "weft", with(weft, "\"3m\"", "\"3ns\""), {"bad-value"}},
      {"zero bandwidth", "weft", with(weft, "\"100Gbps\"", "\"0Gbps\""), {"zero-bandwidth"}},
      {"a million cables", "weft", with(weft, "cables: 2", "cables: 1000000"), {"out-of-range"}},
      {"a link to itself", "weft", with(weft, "b: \"leaf\"", "b: \"a/nic\""), {"self-link"}},
      {"a link twice", "weft", weft + "link { a: \"b\" b: \"leaf\" rate: \"1Gbps\" delay: \"1ns\" }", {"duplicate-link"}},
      {"an NVSwitch outside its host",
       "weft",
       weft + "link { a: \"b\" b: \"a/nvs\" rate: \"1Gbps\" delay: \"1ns\" }",
       {"nvswitch-leaves-host"}},
      {"disconnected",
       "weft",
       with(weft, "link { a: \"leaf\" b: \"b\" rate: \"100Gbps\" delay: \"0ns\" cables: 2 }", ""),
       {"disconnected"}},
      {"a builder and hosts",
       "weft",
       weft + "builder: \"clos\"",
       {"topology-source", "topology-source", "topology-source", "topology-source", "topology-source"}},
      {"settings without a builder", "weft", "set { name: \"k\" value: \"4\" }", {"topology-source"}},
      {"an unknown builder", "weft", "builder: \"fattree\"", {"unknown-module"}},
      {"an unknown parameter and a wrong unit",
       "weft",
       "builder: \"fat_tree\" set { name: \"K\" value: \"4\" } set { name: \"nic_rate\" value: \"4ns\" }",
       {"unknown-param", "bad-value"}},
      {"a parameter twice",
       "weft",
       "builder: \"fat_tree\" set { name: \"k\" value: \"4\" } set { name: \"k\" value: \"6\" }",
       {"duplicate-setting"}},
      {"a setting without name", "weft", "builder: \"fat_tree\" set { value: \"4\" }", {"missing-field"}},
      {"an impossible combination", "weft", "builder: \"fat_tree\" set { name: \"k\" value: \"5\" }", {"odd-k"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Readers, FaultyFile, testing::ValuesIn(faulty_files()),
                         [](const auto& test) { return test.param.format + std::to_string(test.index); });

TEST(Diagnostics, PointAtTheFieldOfARow) {
  EXPECT_EQ(errors_of([] { read("hpcc", with(small_hpcc, "5 4 25Gbps", "5 4 0Gbps")); }),
            "net:6:5: error: a link needs a rate above zero, not \"0Gbps\" [zero-bandwidth]\n"
            "    6 | 5 4 0Gbps 0.001ms 0\n"
            "      |     ^~~~~\n"
            "  help: leave a link out to take it away\n");
}

TEST(Diagnostics, PointAtTheValueOfATextprotoField) {
  EXPECT_EQ(errors_of([] { read("weft", with(two_hosts, "b: \"leaf\"", "b: \"leef\"")); }),
            "net:12:22: error: there is no node \"leef\" [unknown-node]\n"
            "   12 | link { a: \"a/nic\" b: \"leef\" rate: \"400Gbps\" fibre: \"3m\" }\n"
            "      |                      ^~~~~~\n"
            "  help: did you mean \"leaf\"? it is defined at line 7\n");
}

TEST(Readers, TakeRatesAsPeopleWriteThem) {
  const auto rate = [](const std::string& format, const std::string& text) { return read(format, text)->link(LinkId(0)).rate; };
  const std::string hosts = "host { port: \"a\" } host { port: \"b\" } link { a: \"a\" b: \"b\" delay: \"1us\" rate: ";
  for (const char* text : {"400 Gb/s", "400Gb/s", "50GB/s", "400Gbps"}) {
    EXPECT_EQ(rate("weft", hosts + "\"" + text + "\" }"), Bandwidth::gbps(400)) << text;
  }
  for (const char* text : {"400Gb/s", "50GB/s", "400Gbps"}) {  // blanks separate columns here
    EXPECT_EQ(rate("hpcc", std::string("3 1 2\n2\n0 2 ") + text + " 1us 0\n1 2 400Gbps 1us 0\n"), Bandwidth::gbps(400)) << text;
  }
}

TEST(Diagnostics, ParametersOfABuilderPointAtTheirValue) {
  EXPECT_EQ(errors_of([] { read("weft", "builder: \"fat_tree\"\nset { name: \"nic_rate\" value: \"4ns\" }\n"); }).substr(0, 11),
            "net:2:31: e");
}

/// A few bytes of `text` deleted, doubled, swapped for others of the file's own, or set at random.
std::string mutated(const std::string& text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return random() % n; };
  std::string out = text;
  for (std::size_t changes = 1 + below(3) / 2; changes > 0 && !out.empty(); --changes) {
    const std::size_t at = below(out.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(out.size() - at, 4));
    switch (below(4)) {
      case 0:
        out.erase(at, length);
        break;
      case 1:
        out.insert(at, out.substr(at, length));
        break;
      case 2:
        out.replace(at, length, text.substr(below(text.size()), length));
        break;
      default:
        out[at] = static_cast<char>(below(256));
        break;
    }
  }
  return out;
}

TEST(ReaderFuzz, MutatedFilesAreReadOrRefusedButNeverBreakAnInvariant) {
  const std::string simai =
      "7 2 2 1 8 H100\n4 5 6\n0 4 2880Gbps 25ns 0\n1 4 2880Gbps 25ns 0\n2 5 2880Gbps 25ns 0\n3 5 2880Gbps 25ns 0\n"
      "0 6 400Gbps 500ns 0\n1 6 400Gbps 500ns 0\n2 6 400Gbps 500ns 0\n3 6 400Gbps 500ns 0\n";
  const std::string built = "builder: \"clos\"\nset { name: \"hosts\" value: \"8\" }\nset { name: \"spines\" value: \"16\" }\n";
  std::mt19937 random(20260101);
  std::size_t read_well = 0;
  std::size_t refused = 0;
  for (const auto& [format, text] : std::vector<std::pair<std::string, std::string>>{
           {"weft", two_hosts}, {"weft", built}, {"hpcc", small_hpcc}, {"simai", simai}}) {
    for (int i = 0; i < 1000; ++i) {
      const std::string input = mutated(text, random);
      try {
        const auto topology = read(format, input);
        std::vector<LinkId> hops;
        const auto endpoints = topology->endpoints();
        if (endpoints.size() > 1) {
          topology->routes().next_hops(*topology, endpoints.front(), endpoints.back(), hops);
          EXPECT_FALSE(hops.empty()) << input;
        }
        ++read_well;
      } catch (const InputError& error) {
        EXPECT_FALSE(error.diagnostics().empty());
        ++refused;
      } catch (const std::exception& error) {
        FAIL() << error.what() << "\n" << input;
      }
    }
  }
  EXPECT_EQ(read_well, 299U);
  EXPECT_EQ(refused, 3701U);
}

}  // namespace
}  // namespace weft::reader_test
