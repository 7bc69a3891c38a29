#include "network/packet_topology.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/diagnostics.hpp"
#include "network/ecmp.hpp"
#include "test_topologies.hpp"
#include "topologies/topology.hpp"

namespace weft {
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

// A way followed port by port ends at the destination's host, over the links that ECMP chooses; what it leaves out of them lies inside hosts.
TEST(PacketTopology, AWayIsThePathOfEcmpFromPortToPort) {
  for (const char* builder : {"fat_tree", "rail_optimized", "dragonfly", "dual_plane_rail"}) {
    const auto topology = built(builder, {});
    const PacketTopology nodes(*topology, {.seed = 5});
    const auto endpoints = topology->endpoints();
    for (std::uint32_t i = 1; i < 40; ++i) {
      const NodeId source = endpoints[i * 7 % endpoints.size()];
      const NodeId destination = endpoints[i * 31 % endpoints.size()];
      if (topology->node(source).host == topology->node(destination).host) continue;
      const PacketTopology::Way way = nodes.way(source, destination, i, i % 3);
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
    codes.insert(code_of([&] { nodes.way(cubes->endpoints().front(), to, 0, 0); }));
  }
  EXPECT_EQ(codes, (std::set<std::string>{"nothing", "relaying-host"}));
}

}  // namespace
}  // namespace weft
