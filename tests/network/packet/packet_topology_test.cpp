// SPDX-License-Identifier: Apache-2.0
#include "network/packet/packet_topology.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "network/routing/available_routes.hpp"
#include "network/routing/ecmp.hpp"
#include "tests/network/test_topologies.hpp"
#include "topologies/topology.hpp"

namespace weft::packet_topology_test {
namespace {

std::string code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.diagnostics().front().code;
  }
  return "nothing";
}

// Every port leads to a port that leads back; switches and hosts with cables are all there.
TEST(PacketTopology, CablesJoinPorts) {
  for (const char* builder : {"fat_tree", "rail_optimized", "dragonfly", "dual_plane_rail"}) {
    const auto topology = built(builder, {});
    const PacketTopology nodes(*topology, {.seed = 1});
    std::size_t ports = 0;
    for (std::uint32_t node = 0; node < nodes.node_count(); ++node) {
      for (std::uint32_t port = 0; port < nodes.ports(node).size(); ++port, ++ports) {
        const PacketTopology::Port& there = nodes.ports(node)[port];
        const PacketTopology::Port& back = nodes.ports(there.peer_node)[there.peer_port];
        EXPECT_EQ(back.peer_node, node);
        EXPECT_EQ(back.peer_port, port);
        EXPECT_EQ(back.out, topology->reverse(there.out));
      }
    }
    std::size_t between = 0;
    for (std::uint32_t i = 0; i < topology->link_count(); ++i) {
      const Link& link = topology->link(LinkId(i));
      const HostId host = topology->node(link.source).host;
      between += host.is_none() || host != topology->node(link.destination).host ? 1 : 0;
    }
    EXPECT_EQ(ports, between) << builder;
  }
}

// A way followed port by port ends at the destination's host, over the links that ECMP chooses;
// what it leaves out of them lies inside hosts.
TEST(PacketTopology, AWayIsThePathOfEcmpFromPortToPort) {
  for (const char* builder : {"fat_tree", "rail_optimized", "dragonfly", "dual_plane_rail"}) {
    const auto topology = built(builder, {});
    const PacketTopology nodes(*topology, {.seed = 5});
    const auto endpoints = topology->endpoints();
    for (std::uint32_t i = 1; i < 40; ++i) {
      const NodeId source = endpoints[i * 7 % endpoints.size()];
      const NodeId destination = endpoints[i * 31 % endpoints.size()];
      if (topology->node(source).host == topology->node(destination).host) continue;
      const PacketTopology::Route way = nodes.route(source, destination, i, i % 3);
      std::uint32_t at = topology->node(source).host.index();
      std::vector<LinkId> followed;
      for (std::size_t hop = 0; hop < way.links.size(); ++hop) {
        const PacketTopology::Port& port = nodes.ports(at)[way.ports[hop]];
        followed.push_back(port.out);
        at = port.peer_node;
      }
      EXPECT_EQ(followed, way.links);
      EXPECT_EQ(at, topology->node(destination).host.index());
      Duration inside;
      std::vector<LinkId> between;
      for (const LinkId link : ecmp_path(*topology, {.seed = 5}, source, destination, i, i % 3)) {
        const HostId host = topology->node(topology->link(link).source).host;
        if (!host.is_none() && host == topology->node(topology->link(link).destination).host) {
          inside += topology->link(link).propagation_delay;
        } else {
          between.push_back(link);
        }
      }
      EXPECT_EQ(between, way.links);
      EXPECT_EQ(inside, way.inside_hosts);
    }
  }
}

TEST(PacketTopology, HostsDoNotRelay) {
  const auto cubes = built("bcube", {});
  const PacketTopology nodes(*cubes, {.seed = 1});
  std::set<std::string> codes;
  for (const NodeId to : cubes->endpoints()) {
    if (cubes->node(to).host == cubes->node(cubes->endpoints().front()).host) continue;
    codes.insert(code_of([&] { nodes.route(cubes->endpoints().front(), to, 0, 0); }));
  }
  EXPECT_EQ(codes, (std::set<std::string>{"nothing", "relaying-host"}));
}

// Without one of its cables a host of a cube is reached through others only, which flows do and
// packets do not; a switch that sprays goes on as if nothing was out. Once it did not, as it took
// the ports that it knew for other destinations for ports to this one.
TEST(PacketTopology, NoWayAroundLeadsThroughHosts) {
  const auto cubes = built("bcube", {{"n", "4"}, {"k", "1"}});
  const PacketTopology nodes(*cubes, {.seed = 1});
  const NodeId from = cubes->endpoints()[0];
  const NodeId to = cubes->endpoints()[1];
  const PacketTopology::Route own = nodes.route(from, to, 0, 0);
  ASSERT_EQ(own.links.size(), 2U);
  std::vector<bool> avoided(cubes->link_count(), false);
  AvailableRoutes ways(*cubes);
  ways.avoid(avoided);
  EXPECT_EQ(nodes.reroute(ways, from, to, 0, 0)->links, own.links);
  avoided[own.links[1].index()] = avoided[cubes->reverse(own.links[1]).index()] = true;
  ways.avoid(avoided);
  EXPECT_TRUE(ways.connects(from, to));
  EXPECT_FALSE(nodes.reroute(ways, from, to, 0, 0));
  const NodeId passed = cubes->link(own.links[0]).destination;
  std::uint32_t node = nodes.host_count();
  while (nodes.switch_of(node) != passed) ++node;
  std::vector<std::uint16_t> ports = {77};
  std::vector<std::int64_t> weights;
  nodes.ports_to(ways, node, to, ports, weights);
  EXPECT_TRUE(weights.empty());
  EXPECT_EQ(ports, (std::vector<std::uint16_t>{77, own.ports[1]}));
}

// Leafs 2 and 3 over spines 4 and 5, whose cables have 400 and 100 Gb/s; after the first has gone
// down to 50, and after it is out.
TEST(PacketTopology, PortsHaveTheWeightsOfTheWaysOn) {
  TopologyBuilder builder("unequal");
  std::vector<NodeId> nodes;
  for (int i = 0; i < 2; ++i) nodes.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
  for (int i = 0; i < 4; ++i) nodes.push_back(builder.add_switch(1));
  for (const auto& [a, b, gbps] : {std::tuple(0, 2, 400), std::tuple(1, 3, 400), std::tuple(2, 4, 400), std::tuple(2, 5, 400),
                                   std::tuple(3, 4, 400), std::tuple(3, 5, 100)}) {
    builder.add_cable(nodes[static_cast<std::size_t>(a)], nodes[static_cast<std::size_t>(b)], Bandwidth::gbps(gbps),
                      Duration::ns(5));
  }
  const auto topology = std::move(builder).build(nullptr, SourcePlace::named("unequal"));
  const PacketTopology weighed(*topology, {.seed = 1, .weights = PathWeights::capacity});
  AvailableRoutes ways(*topology, PathWeights::capacity);
  std::vector<bool> avoided(topology->link_count(), false);
  std::vector<double> shares(topology->link_count(), 1);
  const auto weights_gbps = [&] {
    std::vector<std::uint16_t> ports;
    std::vector<std::int64_t> weights;
    weighed.ports_to(ways, weighed.host_count(), nodes[1], ports, weights);
    EXPECT_EQ(ports.size(), weights.size());
    for (std::int64_t& weight : weights) weight /= 1'000'000'000;
    return weights;
  };
  EXPECT_EQ(weights_gbps(), (std::vector<std::int64_t>{400, 100}));
  EXPECT_EQ(weighed.capacity(nodes[2], nodes[1]), Bandwidth::gbps(400)) << "of the host's cable, as the ways between have 500";
  shares[8] = shares[9] = 0.125;
  ways.avoid(avoided, shares);
  EXPECT_EQ(weights_gbps(), (std::vector<std::int64_t>{50, 100}));
  avoided[8] = avoided[9] = true;
  shares[8] = shares[9] = 0;
  ways.avoid(avoided, shares);
  EXPECT_EQ(weights_gbps().size(), 1U);
}

// Two hosts at neighbours of a ring of 16 switches, whose cable goes out: 17 hops the other way
// round.
TEST(PacketTopology, NoWayAroundIsLongerThanRoutesHold) {
  TopologyBuilder ring("ring");
  std::vector<NodeId> switches;
  for (int i = 0; i < 16; ++i) switches.push_back(ring.add_switch(0));
  std::vector<NodeId> ends;
  for (int i = 0; i < 2; ++i) {
    ends.push_back(ring.add_endpoint(ring.add_host(), NodeKind::host));
    ring.add_cable(ends.back(), switches[i], Bandwidth::gbps(100), Duration::ns(5));
  }
  for (int i = 0; i < 16; ++i) ring.add_cable(switches[i], switches[(i + 1) % 16], Bandwidth::gbps(100), Duration::ns(5));
  const auto topology = std::move(ring).build(nullptr, SourcePlace::named("ring"));
  const PacketTopology nodes(*topology, {.seed = 1});
  const PacketTopology::Route own = nodes.route(ends[0], ends[1], 0, 0);
  ASSERT_EQ(own.links.size(), 3U);
  std::vector<bool> avoided(topology->link_count(), false);
  avoided[own.links[1].index()] = avoided[topology->reverse(own.links[1]).index()] = true;
  AvailableRoutes ways(*topology);
  ways.avoid(avoided);
  EXPECT_TRUE(ways.connects(ends[0], ends[1]));
  EXPECT_FALSE(nodes.reroute(ways, ends[0], ends[1], 0, 0));
}

}  // namespace
}  // namespace weft::packet_topology_test
