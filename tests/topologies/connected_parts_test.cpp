// SPDX-License-Identifier: Apache-2.0
#include "topologies/connected_parts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "topologies/cut_off.hpp"
#include "topology_help.hpp"

namespace weft::connected_parts_test {
namespace {

/// Two planes, each with a leaf for every rail of two hosts, and one switch above.
std::shared_ptr<const Topology> two_planes() {
  return build_named(
      "dual_plane_rail",
      {{"hosts", "4"}, {"gpus_per_host", "2"}, {"nics_per_host", "2"}, {"hosts_per_segment", "2"}, {"aggs_per_plane", "1"}});
}

/// Cables of the NIC to its switches, the first plane's first.
std::vector<LinkId> ports(const Topology& topology, const std::string& nic) {
  std::vector<LinkId> result;
  for (const LinkId link : topology.out_links(node_named(topology, nic))) {
    if (topology.node(topology.link(link).destination).kind == NodeKind::packet_switch) result.push_back(link);
  }
  return result;
}

void take_out(const Topology& topology, LinkId link, std::vector<bool>& is_out) {
  is_out[link.index()] = is_out[topology.reverse(link).index()] = true;
}

TEST(ConnectedParts, NicsRelayWhereNothingElseDoes) {
  EXPECT_FALSE(has_one_port_nics(*two_planes()));
  EXPECT_FALSE(nics_relay(*two_planes()));
  EXPECT_TRUE(nics_relay(*build_named("bcube", {{"n", "4"}, {"k", "1"}})));
  EXPECT_TRUE(has_one_port_nics(*build_named("rail_optimized", {{"hosts", "8"}})));
  EXPECT_FALSE(nics_relay(*build_named("rail_optimized", {{"hosts", "8"}})));
  EXPECT_FALSE(nics_relay(*build_named("fat_tree", {{"k", "4"}})));
}

TEST(ConnectedParts, PlanesStayApart) {
  const auto topology = two_planes();
  const std::vector<bool> none_out(topology->link_count(), false);
  ConnectedParts apart(*topology, none_out, false);
  const auto of_first = apart.of(topology->endpoints().front());
  EXPECT_TRUE(of_first.has_way_out);
  EXPECT_EQ(of_first.parts.size(), 3U);  // its NIC and two planes
  ConnectedParts joined(*topology, none_out, true);
  EXPECT_EQ(joined.of(topology->endpoints().front()).parts.size(), 1U);
}

// The only way left between two hosts that have lost a port in another plane each would pass
// through the NICs of the others.
TEST(ConnectedParts, NoDetourPassesThroughOthersNics) {
  const auto topology = two_planes();
  std::vector<bool> is_out(topology->link_count(), false);
  take_out(*topology, ports(*topology, "host0/nic0").at(0), is_out);
  const NodeId source = node_named(*topology, "host0/gpu0");
  const NodeId destination = node_named(*topology, "host2/gpu0");
  std::vector<LinkId> hops;
  searched_routes(*topology, 0, is_out)->next_hops(*topology, source, destination, hops);
  EXPECT_EQ(hops.size(), 1U);
  take_out(*topology, ports(*topology, "host2/nic0").at(1), is_out);
  searched_routes(*topology, 0, is_out)->next_hops(*topology, source, destination, hops);
  EXPECT_TRUE(hops.empty());
}

// Of both planes: all of host 0's ports in one and all of its ports in the other, too.
TEST(ConnectedParts, WhoIsAtNoPlaneIsCutOff) {
  const auto topology = two_planes();
  std::vector<bool> is_out(topology->link_count(), false);
  const auto cut_off = [&] { return cut_off_endpoints(*topology, is_out, nics_relay(*topology)); };
  take_out(*topology, ports(*topology, "host0/nic0").at(0), is_out);
  EXPECT_EQ(cut_off(), std::vector<bool>(8, false));
  take_out(*topology, ports(*topology, "host0/nic0").at(1), is_out);
  std::vector<bool> first(8, false);
  first[0] = true;
  EXPECT_EQ(cut_off(), first);
}

// Host 1 reaches the switch of host 0's other port only by way of host 0.
TEST(ConnectedParts, DetoursOfHostsThatRelay) {
  const auto topology = build_named("bcube", {{"n", "2"}, {"k", "1"}});
  std::vector<bool> is_out(topology->link_count(), false);
  take_out(*topology, ports(*topology, "host0/nic0").at(0), is_out);
  std::vector<LinkId> hops;
  searched_routes(*topology, 0, is_out)->next_hops(*topology, topology->endpoints()[0], topology->endpoints()[1], hops);
  EXPECT_EQ(hops.size(), 1U);
  EXPECT_EQ(cut_off_endpoints(*topology, is_out, true), std::vector<bool>(4, false));
}

}  // namespace
}  // namespace weft::connected_parts_test
