// SPDX-License-Identifier: Apache-2.0
#include "network/flow/inside_host.hpp"

#include <gtest/gtest.h>

#include "tests/network/test_topologies.hpp"

namespace weft::inside_host_test {
namespace {

// The definition once more: does the shortest path that Routes gives stay among nodes of the host?
bool path_stays_inside(const Topology& topology, NodeId a, NodeId b) {
  std::vector<LinkId> hops;
  for (NodeId at = a; at != b;) {
    topology.routes().next_hops(topology, at, b, hops);
    at = topology.link(hops.front()).destination;
    if (topology.node(at).host != topology.node(a).host) return false;
  }
  return true;
}

void expect_agreement(const Topology& topology) {
  const InsideHost inside(topology);
  for (const NodeId a : topology.endpoints()) {
    for (const NodeId b : topology.endpoints()) {
      if (a == b) continue;
      EXPECT_EQ(inside.joins(a, b), path_stays_inside(topology, a, b)) << topology.node_name(a) << " " << topology.node_name(b);
    }
  }
}

TEST(InsideHost, AgreesWithRoutes) {
  expect_agreement(*built("rail_optimized", {{"hosts", "2"}}));
  expect_agreement(*built("single_switch", {{"hosts", "3"}}));
  expect_agreement(*built("single_switch", {{"hosts", "2"}, {"gpus_per_host", "4"}, {"nics_per_host", "2"}}));
}

// Three GPUs in a row: neighbours have a cable, the outer two must use the network since no traffic
// passes through an endpoint.
TEST(InsideHost, DoesNotPassThroughEndpoints) {
  TopologyBuilder builder("row");
  const HostId host = builder.add_host();
  const NodeId a = builder.add_endpoint(host, NodeKind::gpu);
  const NodeId b = builder.add_endpoint(host, NodeKind::gpu);
  const NodeId c = builder.add_endpoint(host, NodeKind::gpu);
  const NodeId leaf = builder.add_switch(1);
  builder.add_cable(a, b, Bandwidth::gbps(100), Duration::zero());
  builder.add_cable(b, c, Bandwidth::gbps(100), Duration::zero());
  for (const NodeId gpu : {a, b, c}) builder.add_cable(gpu, leaf, Bandwidth::gbps(100), Duration::zero());
  const auto topology = std::move(builder).build(nullptr, {"test", 0, 0, 1, ""});
  const InsideHost inside(*topology);
  EXPECT_TRUE(inside.joins(a, b));
  EXPECT_TRUE(inside.joins(c, b));
  EXPECT_FALSE(inside.joins(a, c));
  expect_agreement(*topology);
}

}  // namespace
}  // namespace weft::inside_host_test
