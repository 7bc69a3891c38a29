// SPDX-License-Identifier: Apache-2.0
// PCIe switches: they serve their own host, inside and out to its NICs, and nobody else.
#include <gtest/gtest.h>

#include "topologies/topology_reader.hpp"
#include "topologies/topology_writer.hpp"
#include "topology_help.hpp"

namespace weft::pcie_test {
namespace {

/// Hosts a, b and c with two GPUs each on one PCIe switch with two NICs; NIC 0 of each on leaf 0,
/// NIC 1 of each on leaf 1. The leafs are joined over a far spine, or not at all.
std::string two_rails(bool with_spine) {
  std::string text;
  for (const char* name : {"a", "b", "c"}) {
    const std::string h = name;
    text += "host { gpu: [\"" + h + "0\", \"" + h + "1\"] nic: [\"" + h + "n0\", \"" + h + "n1\"] pcie_switch: \"" + h + "p\" }\n";
  }
  for (const char* name : {"leaf0", "leaf1", "far0", "far1", "spine"}) text += std::string("switch { name: \"") + name + "\" }\n";
  const auto link = [&](const std::string& a, const std::string& b) {
    text += "link { a: \"" + a + "\" b: \"" + b + "\" rate: \"1Gbps\" delay: \"1us\" }\n";
  };
  for (const char* name : {"a", "b", "c"}) {
    const std::string h = name;
    for (const char* i : {"0", "1"}) {
      link(h + i, h + "p");
      link(h + "n" + i, h + "p");
      link(h + "n" + i, std::string("leaf") + i);
    }
  }
  link("leaf0", "far0");
  link("leaf1", "far1");
  if (with_spine) {
    link("far0", "spine");
    link("far1", "spine");
  } else {
    link("far0", "spine");
  }
  return text;
}

std::shared_ptr<const Topology> read(const std::string& text) { return read_topology(SourceText("net", text), "weft"); }

std::vector<std::string> next(const Topology& topology, const std::string& at, const std::string& to) {
  std::vector<LinkId> hops;
  topology.routes().next_hops(topology, node_named(topology, at), node_named(topology, to), hops);
  std::vector<std::string> names;
  for (const LinkId hop : hops) names.push_back(topology.node_name(topology.link(hop).destination));
  return names;
}

using Names = std::vector<std::string>;

TEST(PcieSwitch, LeadsItsGpusOutAndIn) {
  const auto topology = read(two_rails(false));
  // Both rails are as short: gpu, switch, NIC, leaf, NIC, switch, gpu.
  EXPECT_EQ(next(*topology, "a0", "b1"), Names{"ap"});
  EXPECT_EQ(next(*topology, "ap", "b1"), (Names{"an0", "an1"}));
  EXPECT_EQ(next(*topology, "leaf0", "b1"), Names{"bn0"});
  EXPECT_EQ(next(*topology, "bn0", "b1"), Names{"bp"});
  EXPECT_EQ(next(*topology, "bp", "b1"), Names{"b1"});
  EXPECT_EQ(next(*topology, "a0", "a1"), Names{"ap"});
}

TEST(PcieSwitch, IsNoWayForOthers) {
  // A host on leaf 0 only and one on leaf 1 only: the way over host a's PCIe switch would be short,
  // but only the spine may be taken.
  const auto lone = [](const std::string& name, const std::string& leaf) {
    return "host { port: \"" + name + "\" }\nlink { a: \"" + name + "\" b: \"" + leaf + "\" rate: \"1Gbps\" delay: \"1us\" }\n";
  };
  const auto topology = read(two_rails(true) + lone("x", "leaf0") + lone("y", "leaf1"));
  EXPECT_EQ(next(*topology, "leaf0", "y"), Names{"far0"});
  EXPECT_EQ(next(*topology, "far0", "y"), Names{"spine"});
  EXPECT_EQ(next(*topology, "an0", "y"), Names{"leaf0"});
  EXPECT_EQ(next(*topology, "ap", "y"), Names{"an1"});  // its own GPUs take the nearer NIC
  // Without the spine there is no way, and that is told.
  EXPECT_EQ(codes_of([&] { read(two_rails(false) + lone("x", "leaf0") + lone("y", "leaf1")); }), Names{"disconnected"});
}

TEST(PcieSwitch, StaysInItsHost) {
  const std::string text = two_rails(true) + "link { a: \"ap\" b: \"leaf0\" rate: \"1Gbps\" delay: \"1us\" }";
  EXPECT_EQ(codes_of([&] { read(text); }), Names{"pcie-leaves-host"});
  EXPECT_EQ(codes_of([&] { read(two_rails(true) + "link { a: \"ap\" b: \"bp\" rate: \"1Gbps\" delay: \"1us\" }"); }),
            Names{"pcie-leaves-host"});
}

TEST(PcieSwitch, HasNoPlaceInForeignFormats) {
  const auto topology = read(two_rails(true));
  for (const char* format : {"hpcc", "simai"}) {
    EXPECT_EQ(codes_of([&] { write_topology(*topology, format, {}); }), Names{"not-expressible"}) << format;
  }
}

}  // namespace
}  // namespace weft::pcie_test
