// SPDX-License-Identifier: Apache-2.0
#include "network/routing/spray.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::spray_test {
namespace {

LinkDelays propagation(const Topology& topology) { return {topology, Duration::zero(), Forwarding::cut_through}; }

TEST(SprayPaths, DivideEvenlyAtEveryNodeAndLoseNothing) {
  const auto topology = built("fat_tree", {{"k", "4"}});
  const LinkDelays delays = propagation(*topology);
  SprayPaths paths(*topology, delays, 1 << 8);
  const auto endpoints = topology->endpoints();
  for (const NodeId a : endpoints) {
    for (const NodeId b : endpoints) {
      if (a == b) continue;
      const SprayedPath& path = paths.path(a, b);
      std::map<NodeId, double> in = {{a, 1.0}};
      std::map<NodeId, std::vector<double>> out;
      for (std::size_t i = 0; i < path.links.size(); ++i) {
        in[topology->link(path.links[i]).destination] += path.loads[i];
        out[topology->link(path.links[i]).source].push_back(path.loads[i]);
      }
      EXPECT_DOUBLE_EQ(in.at(b), 1);
      EXPECT_FALSE(out.contains(b));
      for (const auto& [node, loads] : out) {
        for (const double load : loads) EXPECT_DOUBLE_EQ(load, in.at(node) / static_cast<double>(loads.size()));
      }
    }
  }
}

// k = 4: between pods a leaf has 2 aggregation switches above it and each of those 2 spines, so 2 +
// 4 links up, as many down, and the two cables of the hosts.
TEST(SprayPaths, CrossAllShortestPaths) {
  const auto topology = built("fat_tree", {{"k", "4"}});
  const LinkDelays delays = propagation(*topology);
  SprayPaths paths(*topology, delays, 1);
  const auto endpoints = topology->endpoints();
  EXPECT_EQ(paths.path(endpoints.front(), endpoints.back()).links.size(), 14U);
  EXPECT_EQ(paths.path(endpoints[0], endpoints[1]).links.size(), 2U);
}

TEST(SprayPaths, TakeAsLongAsTheSlowestPath) {
  // Two switches between the hosts; the way over the far one takes 3 + 4 us.
  TopologyBuilder builder("two ways");
  const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId near = builder.add_switch(1);
  const NodeId far = builder.add_switch(1);
  for (const auto& [from, to, us] :
       {std::tuple(a, near, 1), std::tuple(near, b, 1), std::tuple(a, far, 3), std::tuple(far, b, 4)}) {
    builder.add_cable(from, to, Bandwidth::gbps(100), Duration::us(us));
  }
  const auto topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  const LinkDelays delays = propagation(*topology);
  SprayPaths paths(*topology, delays, 1);
  EXPECT_EQ(paths.path(a, b).delay.fixed, Duration::us(7));
  EXPECT_EQ(paths.path(a, b).loads, (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
}

// A cable that carries a share of a message is as much faster: over two ways of 100 Gb/s the 100
// Gb/s behind the source are the slowest, 8 ticks a byte, and what two cables in a row take is 16.
TEST(SprayPaths, OverSeveralWaysTheFirstCableIsTheSlowest) {
  const auto topology = built("fat_tree", {{"k", "4"}});
  const LinkDelays delays(*topology, Duration::zero(), Forwarding::store_and_forward);
  SprayPaths paths(*topology, delays, 1);
  const auto endpoints = topology->endpoints();
  const PathDelay delay = paths.path(endpoints.front(), endpoints.back()).delay;
  const std::int64_t byte =
      8 * Duration::ticks_per_s * 65536 / topology->link(topology->out_links(endpoints.front())[0]).rate.in_bps();
  EXPECT_EQ(delay.slowest_byte, byte);
  EXPECT_EQ(delay.per_byte, 6 * byte);
}

}  // namespace
}  // namespace weft::spray_test
