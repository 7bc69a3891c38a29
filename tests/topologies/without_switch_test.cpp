#include "topologies/without_switch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "topology_help.hpp"

namespace weft {
namespace {

/// Eight hosts, a leaf each, four pods of two leafs and two aggregation switches, two spines.
std::shared_ptr<const Topology> small_clos() {
  return build_named("clos", {{"hosts", "8"}, {"leafs_per_pod", "2"}, {"aggs_per_pod", "2"}, {"spines", "2"}});
}

TEST(WithoutSwitch, ALeafCutsItsHostsOff) {
  const auto topology = small_clos();
  const ReducedTopology reduced = without_switch(*topology, node_called(*topology, "leaf2"));
  EXPECT_EQ(reduced.cut_off, std::vector{HostId(2)});
  EXPECT_EQ(reduced.topology, nullptr);
}

TEST(WithoutSwitch, TheOnlySwitchLeavesOneHost) {
  const auto topology = build_named("single_switch", {{"hosts", "4"}});
  const ReducedTopology reduced = without_switch(*topology, node_called(*topology, "leaf0"));
  EXPECT_EQ(reduced.cut_off.size(), 3U);
}

TEST(WithoutSwitch, NobodyHasThatName) { EXPECT_TRUE(node_called(*small_clos(), "leaf8").is_none()); }

std::vector<LinkId> links_between(const Topology& topology, NodeId source, NodeId destination) {
  std::vector<LinkId> links;
  std::vector<NodeId> nodes = {source};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == destination) continue;
    std::vector<LinkId> next;
    topology.routes().next_hops(topology, nodes[i], destination, next);
    for (const LinkId link : next) {
      links.push_back(link);
      const NodeId reached = topology.link(link).destination;
      if (std::ranges::find(nodes, reached) == nodes.end()) nodes.push_back(reached);
    }
  }
  return links;
}

// Everything else is as it was, and what does not go by way of the switch goes as it went.
TEST(WithoutSwitch, OtherNodesAndCablesStay) {
  const auto topology = small_clos();
  for (const char* const name : {"agg0", "agg7", "spine1"}) {
    SCOPED_TRACE(name);
    const NodeId gone = node_called(*topology, name);
    ASSERT_FALSE(gone.is_none());
    const ReducedTopology reduced = without_switch(*topology, gone);
    ASSERT_TRUE(reduced.cut_off.empty());
    ASSERT_EQ(reduced.topology->node_count(), topology->node_count());
    ASSERT_EQ(reduced.link.size(), topology->link_count());
    EXPECT_EQ(reduced.topology->link_count(), topology->link_count() - 2 * topology->out_links(gone).size());
    for (std::uint32_t i = 0; i < topology->node_count(); ++i) {
      const NodeId node(i);
      EXPECT_EQ(reduced.topology->node_name(node), topology->node_name(node));
      EXPECT_EQ(reduced.topology->node(node).kind, topology->node(node).kind);
      EXPECT_EQ(reduced.topology->node(node).host, topology->node(node).host);
    }
    for (std::uint32_t i = 0; i < topology->link_count(); ++i) {
      const Link& link = topology->link(LinkId(i));
      ASSERT_EQ(reduced.link[i].is_none(), link.source == gone || link.destination == gone);
      if (reduced.link[i].is_none()) continue;
      const Link& kept = reduced.topology->link(reduced.link[i]);
      EXPECT_EQ(kept.source, link.source);
      EXPECT_EQ(kept.destination, link.destination);
      EXPECT_EQ(kept.rate, link.rate);
      EXPECT_EQ(kept.propagation_delay, link.propagation_delay);
    }
    // Links of all shortest paths between two endpoints, node after node.
    for (std::uint32_t from = 0; from < 8; ++from) {
      for (std::uint32_t to = 0; to < 8; ++to) {
        const NodeId source = topology->endpoints_of(HostId(from))[0];
        const NodeId destination = topology->endpoints_of(HostId(to))[1];
        std::vector<LinkId> before = links_between(*topology, source, destination);
        for (LinkId& link : before) link = reduced.link[link.index()];
        if (std::ranges::find(before, LinkId::none()) != before.end()) continue;
        EXPECT_EQ(links_between(*reduced.topology, source, destination), before) << from << " to " << to;
      }
    }
  }
}

}  // namespace
}  // namespace weft
