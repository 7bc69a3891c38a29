// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's network descriptions: building blocks per dimension become cables between the right
// NPUs.
#include "topologies/formats/astra_network.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "topologies/topology_reader.hpp"
#include "topology_help.hpp"

namespace weft::astra_network_test {
namespace {

std::shared_ptr<const Topology> read(const std::string& text) {
  return read_topology(SourceText("net.yml", text), "astrasim-network");
}

std::vector<std::string> codes(const std::string& text) {
  return codes_of([&] { read(text); });
}

Duration delay(const Topology& topology, int from, int to) {
  const NodeId end = node_named(topology, "npu" + std::to_string(to));
  Duration sum;
  std::vector<LinkId> hops;
  for (NodeId at = node_named(topology, "npu" + std::to_string(from)); at != end;) {
    topology.routes().next_hops(topology, at, end, hops);
    sum += topology.link(hops.at(0)).propagation_delay;
    at = topology.link(hops[0]).destination;
  }
  return sum;
}

TEST(AstraNetwork, SwitchCountsItsLatencyTwice) {
  const auto topology = read("topology: [ Switch ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n");
  EXPECT_EQ(topology->node_count(), 5U);
  EXPECT_EQ(delay(*topology, 0, 3), Duration::us(1));
  // 50 x 2^30 B/s x 8 bit.
  EXPECT_EQ(topology->link(LinkId(0)).rate, Bandwidth::bps(429'496'729'600));
  EXPECT_EQ(topology->node(NodeId(0)).kind, NodeKind::gpu);
  EXPECT_EQ(topology->host_count(), 4U);
}

TEST(AstraNetwork, RingTakesTheShorterWayAround) {
  const auto topology = read("topology: [ Ring ]\nnpus_count: [ 6 ]\nbandwidth: [ 10 ]\nlatency: [ 100 ]\n");
  for (int to = 1; to < 6; ++to) EXPECT_EQ(delay(*topology, 0, to), Duration::ns(100 * std::min(to, 6 - to))) << to;
  // Two NPUs are joined once.
  EXPECT_EQ(read("topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 10 ]\nlatency: [ 100 ]\n")->link_count() / 2, 2U + 1U);
}

TEST(AstraNetwork, FullyConnectedNeedsNoRouters) {
  const auto topology = read("topology: [ FullyConnected ]\nnpus_count: [ 5 ]\nbandwidth: [ 10 ]\nlatency: [ 0.01 ]\n");
  EXPECT_EQ(topology->node_count(), 5U);
  EXPECT_EQ(topology->link_count() / 2, 10U);  // 5 x 4 / 2
  EXPECT_EQ(delay(*topology, 1, 4), Duration::ticks(1));
}

// Steps in each dimension are independent, so the delay of any pair is the sum over dimensions.
TEST(AstraNetwork, DimensionsAddUp) {
  const auto topology = read(
      "topology: [ Ring, FullyConnected, Switch ]\nnpus_count: [ 4, 2, 3 ]\nbandwidth: [ 50, 25, 12.5 ]\nlatency: [ 100, 1000, "
      "10000 ]\n");
  ASSERT_EQ(topology->endpoints().size(), 24U);
  for (int a = 0; a < 24; ++a) {
    for (int b = 0; b < 24; ++b) {
      if (a == b) continue;
      const int around = std::abs(a % 4 - b % 4);
      const int ring = std::min(around, 4 - around);
      const int mesh = a / 4 % 2 != b / 4 % 2 ? 1 : 0;
      const int star = a / 8 != b / 8 ? 2 : 0;
      EXPECT_EQ(delay(*topology, a, b), Duration::ns(100 * ring + 1000 * mesh + 10000 * star)) << a << " " << b;
    }
  }
  EXPECT_EQ(topology->assumptions().size(), 4U);
}

TEST(AstraNetwork, EveryMistakeHasItsCode) {
  using Codes = std::vector<std::string>;
  const std::string rest = "bandwidth: [ 1 ]\nlatency: [ 1 ]\n";
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ 4 ]\n" + rest), Codes{});
  EXPECT_EQ(codes("topology: [ Ring\nnpus_count: [ 4 ]\n" + rest), Codes{"bad-yaml"});
  EXPECT_EQ(codes("just text"), Codes{"bad-yaml"});
  EXPECT_EQ(codes(""), Codes{"empty-file"});
  EXPECT_EQ(codes("topology: [ Ring ]\n" + rest), Codes{"missing-key"});
  EXPECT_EQ(codes("topology: [ ]\nnpus_count: [ ]\nbandwidth: [ ]\nlatency: [ ]\n"), Codes{"missing-key"});
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus: [ 4 ]\nnpus_count: [ 4 ]\n" + rest), Codes{"unknown-key"});
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ 4 ]\nnpus_count: [ 4 ]\n" + rest), Codes{"duplicate-key"});
  EXPECT_EQ(codes("topology: Ring\nnpus_count: [ 4 ]\n" + rest), Codes{"bad-value"});
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ 4, 2 ]\n" + rest), Codes{"length-mismatch"});
  EXPECT_EQ(codes("topology: [ Rings ]\nnpus_count: [ 4 ]\n" + rest), Codes{"unknown-block"});
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ many ]\n" + rest), Codes{"bad-value"});
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ 2.5 ]\n" + rest), Codes{"out-of-range"});
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ 0 ]\n" + rest), Codes{"out-of-range"});
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 0 ]\nlatency: [ -1 ]\n"),
            (Codes{"out-of-range", "out-of-range"}));
  EXPECT_EQ(codes("topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ .nan ]\nlatency: [ 1us ]\n"),
            (Codes{"bad-value", "bad-value"}));
  EXPECT_EQ(codes("topology: [ FullyConnected ]\nnpus_count: [ 200000 ]\n" + rest), Codes{"too-large"});
  EXPECT_EQ(codes("topology: [ Ring, Ring ]\nnpus_count: [ 200000, 200000 ]\nbandwidth: [ 1, 1 ]\nlatency: [ 1, 1 ]\n"),
            Codes{"too-large"});
}

}  // namespace
}  // namespace weft::astra_network_test
