// SPDX-License-Identifier: Apache-2.0
#include "topologies/reduced_topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "topologies/connected_parts.hpp"
#include "topologies/cut_off.hpp"
#include "topology_help.hpp"

namespace weft::reduced_topology_test {
namespace {

/// Eight hosts, a leaf each, four pods of two leafs and two aggregation switches, two spines.
std::shared_ptr<const Topology> small_clos() {
  return build_named("clos", {{"hosts", "8"}, {"leafs_per_pod", "2"}, {"aggs_per_pod", "2"}, {"spines", "2"}});
}

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

TEST(ReducedTopology, ALeafCutsItsHostsOff) {
  const auto topology = small_clos();
  const ReducedTopology reduced = without_switch(*topology, node_called(*topology, "leaf2"));
  EXPECT_EQ(hosts_cut_off_without(*topology, node_called(*topology, "leaf2")), std::vector{HostId(2)});
  // Of the leaf's two cables to aggregation switches one stays.
  EXPECT_EQ(reduced.topology->link_count(), topology->link_count() - 2);
  EXPECT_EQ(std::ranges::count_if(reduced.link, &LinkId::is_none), 2);
}

TEST(ReducedTopology, NobodyElseGoesByASwitchThatCutsHostsOff) {
  const auto topology = build_named("fat_tree", {{"k", "4"}});
  const NodeId gone = node_called(*topology, "leaf2");
  const ReducedTopology reduced = without_switch(*topology, gone);
  const std::vector<HostId> cut_off = hosts_cut_off_without(*topology, gone);
  ASSERT_FALSE(cut_off.empty());
  for (std::uint32_t from = 0; from < topology->host_count(); ++from) {
    for (std::uint32_t to = 0; to < topology->host_count(); ++to) {
      const auto is_cut_off = [&](std::uint32_t host) { return std::ranges::find(cut_off, HostId(host)) != cut_off.end(); };
      if (from == to || is_cut_off(from) || is_cut_off(to)) continue;
      for (const LinkId link : links_between(*reduced.topology, reduced.topology->endpoints_of(HostId(from))[0],
                                             reduced.topology->endpoints_of(HostId(to))[0]))
        EXPECT_NE(reduced.topology->link(link).source, gone);
    }
  }
}

TEST(ReducedTopology, TheOnlySwitchLeavesNobody) {
  const auto topology = build_named("single_switch", {{"hosts", "4"}});
  EXPECT_EQ(hosts_cut_off_without(*topology, node_called(*topology, "leaf0")).size(), 4U);
}

TEST(ReducedTopology, NobodyHasThatName) { EXPECT_TRUE(node_called(*small_clos(), "leaf8").is_none()); }

// Everything else is as it was, and what does not go by way of the switch goes as it went.
TEST(ReducedTopology, OtherNodesAndCablesStay) {
  const auto topology = small_clos();
  for (const char* const name : {"agg0", "agg7", "spine1"}) {
    SCOPED_TRACE(name);
    const NodeId gone = node_called(*topology, name);
    ASSERT_FALSE(gone.is_none());
    const ReducedTopology reduced = without_switch(*topology, gone);
    ASSERT_TRUE(hosts_cut_off_without(*topology, gone).empty());
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

/// The cable's first direction.
LinkId cable(const Topology& topology, const char* a, const char* b) {
  for (const LinkId link : topology.out_links(node_called(topology, a))) {
    if (topology.link(link).destination == node_called(topology, b)) return std::min(link, topology.reverse(link));
  }
  throw std::runtime_error("no such cable");
}

TEST(ReducedTopology, CablesAreSlowOrOut) {
  const auto topology = small_clos();
  const std::vector<CableShare> cables = {{cable(*topology, "leaf0", "agg0"), 0.25}, {cable(*topology, "leaf1", "agg1"), 0}};
  const auto reduced = with_less(*topology, cables);
  EXPECT_EQ(reduced->node_count(), topology->node_count());
  EXPECT_EQ(reduced->link_count(), topology->link_count() - 2);
  EXPECT_EQ(reduced->link(cable(*reduced, "leaf0", "agg0")).rate, Bandwidth::gbps(100));
  EXPECT_EQ(reduced->link(cable(*reduced, "leaf0", "agg1")).rate, Bandwidth::gbps(400));
  EXPECT_THROW(cable(*reduced, "leaf1", "agg1"), std::runtime_error);
  // What went both ways goes one.
  const NodeId from = node_called(*topology, "leaf1");
  std::vector<LinkId> hops;
  reduced->routes().next_hops(*reduced, from, reduced->endpoints().back(), hops);
  ASSERT_EQ(hops.size(), 1U);
  EXPECT_EQ(reduced->node_name(reduced->link(hops.front()).destination), "agg0");
}

// A leaf without any cable upwards keeps one, for its host, which is out of service; nobody else's
// traffic takes it.
TEST(ReducedTopology, TheLastCableStays) {
  const auto topology = small_clos();
  std::vector<CableShare> cables = {{cable(*topology, "leaf0", "agg0"), 0}, {cable(*topology, "leaf0", "agg1"), 0}};
  EXPECT_EQ(with_less(*topology, cables)->link_count(), topology->link_count() - 2);
  EXPECT_EQ(with_less(*topology, {})->link_count(), topology->link_count());
}

// Whatever is out, endpoints reach each other; of hosts that are not cut off nothing comes back,
// where switches are one network.
TEST(ReducedTopology, EndpointsReachEachOtherWhateverIsOut) {
  const std::vector<Instance> instances{
      {"fat_tree", {{"k", "4"}}},
      {"clos",
       {{"hosts", "8"},
        {"gpus_per_host", "2"},
        {"nics_per_host", "2"},
        {"hosts_per_leaf", "2"},
        {"leafs_per_pod", "2"},
        {"aggs_per_pod", "2"},
        {"spines", "2"}}},
      {"rail_optimized", {}},
      {"dual_plane_rail",
       {{"hosts", "4"}, {"gpus_per_host", "2"}, {"nics_per_host", "2"}, {"hosts_per_segment", "2"}, {"aggs_per_plane", "2"}}},
      {"torus", {{"dimensions", "4x4"}}},
      {"bcube", {}}};
  std::mt19937 random(11);
  std::size_t left_out = 0;
  for (const Instance& instance : instances) {
    const auto topology = build_named(instance.builder, instance.settings);
    const bool has_planes = instance.builder == "dual_plane_rail" || instance.builder == "bcube";
    for (int run = 0; run < 60; ++run) {
      std::vector<CableShare> cables;
      std::vector<bool> is_out(topology->link_count(), false);
      const std::uint32_t every = 2 + random() % 20;
      for (std::uint32_t link = 0; link < topology->link_count(); link += 2) {
        const bool inside = !topology->node(topology->link(LinkId(link)).source).host.is_none() &&
                            !topology->node(topology->link(LinkId(link)).destination).host.is_none();
        if (inside || random() % every != 0) continue;
        cables.push_back({LinkId(link), 0});
        is_out[link] = is_out[link + 1] = true;
      }
      // Throws where endpoints do not.
      const auto reduced = with_less(*topology, cables);
      left_out += (topology->link_count() - reduced->link_count()) / 2;
      if (has_planes) continue;
      const std::vector<bool> cut_off = cut_off_endpoints(*topology, is_out, nics_relay(*topology));
      std::set<HostId> hosts;
      for (std::size_t place = 0; place < cut_off.size(); ++place) {
        if (cut_off[place]) hosts.insert(topology->node(topology->endpoints()[place]).host);
      }
      for (const CableShare& cable : cables) {
        for (const LinkId link : {cable.cable, topology->reverse(cable.cable)}) {
          const NodeId from = topology->link(link).source;
          const HostId host = topology->node(from).host;
          if (host.is_none() || hosts.contains(host)) continue;
          const NodeId to = topology->link(link).destination;
          for (const LinkId kept : reduced->out_links(from)) EXPECT_NE(reduced->link(kept).destination, to) << instance.builder;
        }
      }
    }
  }
  EXPECT_GT(left_out, 100U);
}

}  // namespace
}  // namespace weft::reduced_topology_test
