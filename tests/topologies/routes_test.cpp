// SPDX-License-Identifier: Apache-2.0
// Structural routes against searched ones on small instances of every builder, and searched ones
// against a naive oracle.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>

#include "core/check.hpp"
#include "topologies/searched_routes.hpp"
#include "topology_help.hpp"

namespace weft::routes_test {
namespace {

class BuiltRoutes : public testing::TestWithParam<Instance> {};

TEST_P(BuiltRoutes, EqualSearchedRoutesForAllPairs) {
  expect_searched_routes(*build_named(GetParam().builder, GetParam().settings));
}

INSTANTIATE_TEST_SUITE_P(
    Builders, BuiltRoutes,
    testing::Values(
        Instance{"single_switch", {{"hosts", "5"}}}, Instance{"single_switch", {{"hosts", "1"}}},
        Instance{"single_switch", {{"hosts", "3"}, {"gpus_per_host", "4"}}},
        Instance{"single_switch", {{"hosts", "3"}, {"gpus_per_host", "8"}, {"nics_per_host", "2"}}},
        Instance{"fat_tree", {{"k", "2"}}}, Instance{"fat_tree", {{"k", "4"}}},
        Instance{"fat_tree", {{"k", "4"}, {"gpus_per_host", "2"}}}, Instance{"fat_tree", {{"k", "6"}}},
        Instance{"clos", {{"hosts", "12"}, {"gpus_per_host", "2"}, {"leafs_per_pod", "4"}, {"aggs_per_pod", "2"}, {"spines", "4"}}},
        // The last leaf has one host of three, the last pod one leaf of two.
        Instance{"clos",
                 {{"hosts", "13"},
                  {"gpus_per_host", "4"},
                  {"nics_per_host", "4"},
                  {"hosts_per_leaf", "3"},
                  {"leafs_per_pod", "2"},
                  {"aggs_per_pod", "3"},
                  {"spines", "6"}}},
        Instance{"clos", {{"hosts", "8"}, {"gpus_per_host", "1"}, {"leafs_per_pod", "8"}, {"aggs_per_pod", "4"}, {"spines", "0"}}},
        Instance{"rail_optimized", {{"hosts", "6"}, {"hosts_per_leaf_group", "2"}, {"spines", "3"}}},
        // The last group has one host of four; two GPUs share a NIC.
        Instance{"rail_optimized",
                 {{"hosts", "5"}, {"gpus_per_host", "4"}, {"nics_per_host", "2"}, {"hosts_per_leaf_group", "4"}, {"spines", "2"}}},
        Instance{"multi_site", {{"sites", "3"}, {"fabric", "single_switch"}, {"fabric_params", "hosts=3"}}},
        Instance{"multi_site", {{"sites", "1"}, {"fabric", "single_switch"}, {"fabric_params", "hosts=3"}}},
        Instance{"multi_site",
                 {{"sites", "2"}, {"fabric", "fat_tree"}, {"fabric_params", "k=4 gpus_per_host=2"}, {"borders_per_site", "2"}}},
        Instance{"multi_site",
                 {{"sites", "4"},
                  {"fabric", "rail_optimized"},
                  {"fabric_params", "hosts=4, hosts_per_leaf_group=2, gpus_per_host=2, nics_per_host=2, spines=2"},
                  {"borders_per_site", "3"}}},
        Instance{"multi_site",
                 {{"sites", "2"},
                  {"fabric", "clos"},
                  {"fabric_params", "hosts=9 leafs_per_pod=3 aggs_per_pod=2 spines=4 gpus_per_host=2"}}}));

/// Distance in links from `from` to `to` over nodes that `may_pass` allows, by the plainest search
/// there is; 0 if there is no path.
template <class MayPass>
int naive_distance(const Topology& topology, NodeId from, NodeId to, MayPass may_pass) {
  std::vector<int> distance(topology.node_count(), 0);
  std::deque<NodeId> frontier{from};
  while (!frontier.empty()) {
    const NodeId at = frontier.front();
    frontier.pop_front();
    if (at != from && !may_pass(at)) continue;
    for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
      const Link& link = topology.link(LinkId(i));
      if (link.source != at || link.destination == from || distance[link.destination.index()] != 0) continue;
      distance[link.destination.index()] = distance[at.index()] + 1;
      if (link.destination == to) return distance[to.index()];
      frontier.push_back(link.destination);
    }
  }
  return 0;
}

std::vector<LinkId> naive_next_hops(const Topology& topology, NodeId at, NodeId destination) {
  const HostId host = topology.node(destination).host;
  const auto inside = [&](NodeId node) {
    return topology.node(node).kind == NodeKind::nvswitch && topology.node(node).host == host;
  };
  const auto outside = [&](NodeId node) { return forwards(topology.node(node).kind); };
  const bool same_host = topology.node(at).host == host;
  const int inside_distance = same_host ? naive_distance(topology, at, destination, inside) : 0;
  std::vector<LinkId> hops;
  for (const LinkId link : topology.out_links(at)) {
    const NodeId to = topology.link(link).destination;
    if (to == destination) {
      if (inside_distance == 1 || (inside_distance == 0 && topology.node(at).kind != NodeKind::nvswitch)) hops.push_back(link);
      continue;
    }
    if (inside_distance > 0) {
      if (inside_distance > 1 && inside(to) && naive_distance(topology, to, destination, inside) == inside_distance - 1)
        hops.push_back(link);
    } else if (topology.node(at).kind != NodeKind::nvswitch && outside(to)) {
      const int all = naive_distance(topology, at, destination, outside);
      if (all > 1 && naive_distance(topology, to, destination, outside) == all - 1) hops.push_back(link);
    }
  }
  return hops;
}

/// A connected graph of random hosts and switches with parallel cables.
std::shared_ptr<const Topology> random_topology(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  TopologyBuilder builder("random");
  std::vector<NodeId> switches;
  const std::uint32_t switch_count = 1 + below(6);
  for (std::uint32_t i = 0; i < switch_count; ++i) {
    switches.push_back(builder.add_switch(0));
    if (i > 0) builder.add_cable(switches[i], switches[below(i)], Bandwidth::gbps(1), Duration::ns(1));
  }
  for (std::uint32_t i = below(6); i > 0 && switch_count > 1; --i) {
    const std::uint32_t a = below(switch_count);
    const std::uint32_t b = (a + 1 + below(switch_count - 1)) % switch_count;
    builder.add_cable(switches[a], switches[b], Bandwidth::gbps(1), Duration::ns(1));
  }
  const std::uint32_t hosts = 1 + below(4);
  for (std::uint32_t h = 0; h < hosts; ++h) {
    const HostId host = builder.add_host();
    const std::uint32_t gpus = 1 + below(4);
    std::vector<NodeId> gpu_nodes;
    for (std::uint32_t g = 0; g < gpus; ++g) gpu_nodes.push_back(builder.add_endpoint(host, NodeKind::gpu));
    const NodeId nic = builder.add_inside(host, NodeKind::nic);
    builder.add_cable(nic, switches[below(switch_count)], Bandwidth::gbps(1), Duration::ns(1));
    const bool has_nvswitch = below(2) == 0;
    const NodeId nvswitch = has_nvswitch ? builder.add_inside(host, NodeKind::nvswitch) : NodeId::none();
    for (std::uint32_t g = 0; g < gpus; ++g) {
      if (below(2) == 0) {
        builder.add_cable(gpu_nodes[g], nic, Bandwidth::gbps(1), Duration::ns(1));
      } else {
        builder.add_cable(gpu_nodes[g], switches[below(switch_count)], Bandwidth::gbps(1), Duration::ns(1));
      }
      if (has_nvswitch && below(3) > 0) builder.add_cable(gpu_nodes[g], nvswitch, Bandwidth::gbps(1), Duration::ns(1));
      if (g > 0 && below(4) == 0) builder.add_cable(gpu_nodes[g], gpu_nodes[g - 1], Bandwidth::gbps(1), Duration::ns(1));
    }
  }
  return std::move(builder).build(nullptr, {});
}

TEST(SearchedRoutes, EqualTheNaiveOracleOnRandomGraphs) {
  std::vector<LinkId> hops;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const auto topology = random_topology(seed);
    for (const NodeId destination : topology->endpoints()) {
      for (std::uint32_t i = 0; i < topology->node_count(); ++i) {
        if (NodeId(i) == destination) continue;
        topology->routes().next_hops(*topology, NodeId(i), destination, hops);
        ASSERT_EQ(hops, naive_next_hops(*topology, NodeId(i), destination))
            << "seed " << seed << ": " << topology->node_name(NodeId(i)) << " to " << topology->node_name(destination);
      }
    }
  }
}

TEST(SearchedRoutes, ASmallCacheGivesTheSameAnswersFromManyThreads) {
  const auto topology = build_named("fat_tree", {{"k", "4"}});
  const auto searched = searched_routes(*topology, 3);
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        std::vector<LinkId> hops;
        std::vector<LinkId> expected;
        for (std::size_t i = 0; i < 2000; ++i) {
          const NodeId from = topology->endpoints()[(i * 7 + t) % 16];
          const NodeId to = topology->endpoints()[(i * 5 + 3 * t) % 16];
          if (from == to) continue;
          searched->next_hops(*topology, from, to, hops);
          topology->routes().next_hops(*topology, from, to, expected);
          if (hops != expected) ++wrong[t];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(SearchedRoutes, DefaultCacheIsBounded) {
  // 64 MiB / (2 B x 50,000 nodes) = 671 tables.
  EXPECT_EQ(default_route_slots(50'000, 32'768), 671U);
  EXPECT_EQ(default_route_slots(46'208, 32'768), 725U);        // 726, made odd
  EXPECT_EQ(default_route_slots(100, 32), 32U);                // never more than tables
  EXPECT_EQ(default_route_slots(10'000'000, 1'000'000), 65U);  // never fewer than 65
}

TEST(Routes, DestinationMustBeAnEndpoint) {
  const auto topology = build_named("single_switch", {{"hosts", "2"}});
  const NodeId leaf = node_named(*topology, "leaf0");
  std::vector<LinkId> hops;
  EXPECT_THROW(topology->routes().next_hops(*topology, topology->endpoints()[0], leaf, hops), CheckFailure);
  EXPECT_THROW(searched_routes(*topology)->next_hops(*topology, topology->endpoints()[0], leaf, hops), CheckFailure);
}

TEST(Routes, InsideAHostTrafficTakesTheNvswitchEvenWhereASharedNicIsAsNear) {
  // gpu - nic - gpu has two links, as has gpu - nvswitch - gpu.
  const auto topology = build_named("single_switch", {{"hosts", "2"}, {"gpus_per_host", "2"}, {"nics_per_host", "1"}});
  std::vector<LinkId> hops;
  topology->routes().next_hops(*topology, node_named(*topology, "host0/gpu0"), node_named(*topology, "host0/gpu1"), hops);
  ASSERT_EQ(hops.size(), 1U);
  EXPECT_EQ(topology->link_name(hops[0]), "host0/gpu0->host0/nvswitch0");
}

TEST(Routes, EcmpFanOutOfTheFatTree) {
  // k = 4: a leaf sends to k/2 = 2 aggregation switches, each of them to k/2 = 2 spines; from there
  // the way down is unique.
  const auto topology = build_named("fat_tree", {{"k", "4"}});
  const NodeId far = topology->endpoints()[15];
  const auto count = [&](const std::string& at) {
    std::vector<LinkId> hops;
    topology->routes().next_hops(*topology, node_named(*topology, at), far, hops);
    return hops.size();
  };
  EXPECT_EQ(count("host0/gpu0"), 1U);
  EXPECT_EQ(count("leaf0"), 2U);
  EXPECT_EQ(count("agg0"), 2U);
  EXPECT_EQ(count("spine3"), 1U);
  EXPECT_EQ(count("agg7"), 1U);
  EXPECT_EQ(count("leaf7"), 1U);
}

}  // namespace
}  // namespace weft::routes_test
