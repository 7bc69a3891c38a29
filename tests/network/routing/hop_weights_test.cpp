// SPDX-License-Identifier: Apache-2.0
#include "network/routing/hop_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/fingerprint.hpp"
#include "core/values/random.hpp"
#include "network/routing/available_routes.hpp"
#include "network/routing/ecmp.hpp"
#include "network/routing/spray.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::hop_weights_test {
namespace {

const SourcePlace kTest = SourcePlace::named("test");

std::vector<LinkId> hops_at(const Topology& topology, NodeId at, NodeId destination) {
  std::vector<LinkId> hops;
  topology.routes().next_hops(topology, at, destination, hops);
  return hops;
}

/// In Gb/s.
std::vector<std::int64_t> weights_at(const Topology& topology, NodeId at, NodeId destination,
                                     const std::vector<double>& shares = {}) {
  const HopWeights weights(topology, topology.routes(), shares);
  std::vector<std::int64_t> found;
  weights.weigh(at, destination, hops_at(topology, at, destination), found);
  for (std::int64_t& weight : found) weight /= 1'000'000'000;
  return found;
}

/// Two leafs, 2 and 3, with hosts of 400 Gb/s, and two spines, 4 and 5: every leaf has 400 Gb/s to
/// the one and 100 to the other.
std::shared_ptr<const Topology> unequal_spines() {
  return network(2, 4, {{0, 2, 400}, {1, 3, 400}, {2, 4, 400}, {2, 5, 100}, {3, 4, 400}, {3, 5, 100}});
}

// 400 and 100 Gb/s: 4/5 and 1/5 of what is sprayed, and as much of it arrives by each.
TEST(HopWeights, SprayDividesByTheRatesOfUplinks) {
  const auto topology = unequal_spines();
  const LinkDelays delays(*topology, Duration::zero(), Forwarding::cut_through);
  SprayPaths paths(*topology, delays, 1, PathWeights::capacity);
  const SprayedPath& path = paths.path(NodeId(0), NodeId(1));
  ASSERT_EQ(path.links.size(), 6U);
  const std::vector<double> expected = {1, 0.8, 0.2, 0.8, 0.2, 1};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_DOUBLE_EQ(path.loads[i], expected[i]) << topology->link_name(path.links[i]);
}

// Parallel cables: 2 x 400 to one spine, 400 to the other, 1/3 each; where only 400 lead on from
// the first, its cables share those.
TEST(HopWeights, ParallelCablesAreNextHopsOfTheirOwn) {
  const auto topology =
      network(2, 4, {{0, 2, 400}, {1, 3, 400}, {2, 4, 400}, {2, 4, 400}, {2, 5, 400}, {3, 4, 400}, {3, 4, 400}, {3, 5, 400}});
  EXPECT_EQ(weights_at(*topology, NodeId(2), NodeId(1)), (std::vector<std::int64_t>{400, 400, 400}));
  const auto narrow = network(2, 4, {{0, 2, 400}, {1, 3, 400}, {2, 4, 400}, {2, 4, 400}, {2, 5, 400}, {3, 4, 400}, {3, 5, 400}});
  EXPECT_EQ(weights_at(*narrow, NodeId(2), NodeId(1)), (std::vector<std::int64_t>{200, 200, 400}));
}

// One hop further: both uplinks have 400 Gb/s, and 100 lead on from the second spine. Three stages
// further: 2 x 30 + 20 from the second leaf.
TEST(HopWeights, ABottleneckFurtherOnCounts) {
  const auto topology = network(2, 4, {{0, 2, 400}, {1, 3, 400}, {2, 4, 400}, {2, 5, 400}, {3, 4, 400}, {3, 5, 100}});
  EXPECT_EQ(weights_at(*topology, NodeId(2), NodeId(1)), (std::vector<std::int64_t>{400, 100}));
  EXPECT_EQ(weights_at(*topology, NodeId(3), NodeId(0)), (std::vector<std::int64_t>{400, 100}));

  // 2 - {3, 4}; 3 - {5, 6}, 4 - {7, 8, 9}; all of 5 to 9 to 10, where the destination is.
  const auto deep = network(2, 9,
                            {{0, 2, 400},
                             {1, 10, 400},
                             {2, 3, 400},
                             {2, 4, 400},
                             {3, 5, 400},
                             {3, 6, 400},
                             {4, 7, 400},
                             {4, 8, 400},
                             {4, 9, 400},
                             {5, 10, 100},
                             {6, 10, 200},
                             {7, 10, 30},
                             {8, 10, 30},
                             {9, 10, 20}});
  EXPECT_EQ(weights_at(*deep, NodeId(2), NodeId(1)), (std::vector<std::int64_t>{300, 80}));
  EXPECT_EQ(weights_at(*deep, NodeId(3), NodeId(1)), (std::vector<std::int64_t>{100, 200}));
  EXPECT_EQ(weights_at(*deep, NodeId(4), NodeId(1)), (std::vector<std::int64_t>{30, 30, 20}));
}

// The destination's own cable of 10 Gb/s is behind all ways, and others share it: weights are those
// of the ways between the leafs.
TEST(HopWeights, WhatAllWaysHaveInCommonCountsForNone) {
  const auto topology = network(2, 4, {{0, 2, 10}, {1, 3, 10}, {2, 4, 400}, {2, 5, 100}, {3, 4, 400}, {3, 5, 100}});
  EXPECT_EQ(weights_at(*topology, NodeId(2), NodeId(1)), (std::vector<std::int64_t>{400, 100}));
  // But for a host of two planes, each with two spines between its leafs, its cables are different
  // ways: 25 and 100 Gb/s. Hosts 0, 1; planes {2, 3 | 4, 5} and {6, 7 | 8, 9}.
  const auto planes = network(2, 8,
                              {{0, 2, 100},
                               {0, 6, 100},
                               {1, 3, 25},
                               {1, 7, 100},
                               {2, 4, 400},
                               {2, 5, 400},
                               {3, 4, 400},
                               {3, 5, 400},
                               {6, 8, 400},
                               {6, 9, 400},
                               {7, 8, 400},
                               {7, 9, 400}});
  EXPECT_EQ(weights_at(*planes, NodeId(0), NodeId(1)), (std::vector<std::int64_t>{25, 100}));
  EXPECT_EQ(weights_at(*planes, NodeId(2), NodeId(1)), (std::vector<std::int64_t>{400, 400}));
  EXPECT_EQ(HopWeights(*planes, planes->routes()).capacity(NodeId(0), NodeId(1)), Bandwidth::gbps(125));
  EXPECT_EQ(HopWeights(*planes, planes->routes()).capacity(NodeId(2), NodeId(1)), Bandwidth::gbps(25));
}

// A cable at a quarter of its rate; one that is out counts in full, for whoever waits at it.
TEST(HopWeights, AreOfWhatCablesCarryNow) {
  const auto topology = unequal_spines();
  std::vector<double> shares(topology->link_count(), 1);
  shares[4] = shares[5] = 0.125;
  shares[6] = shares[7] = 0;
  EXPECT_EQ(weights_at(*topology, NodeId(2), NodeId(1), shares), (std::vector<std::int64_t>{50, 100}));
}

// Expectation: of 10,000 tuples, 8,000 over the uplink of 400 Gb/s; binomial with standard
// deviation sqrt(10,000 x 0.8 x 0.2) = 40.
TEST(HopWeights, EcmpHashesByTheRatesOfUplinks) {
  const auto topology = unequal_spines();
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EcmpPaths paths(*topology, {.seed = seed, .weights = PathWeights::capacity}, 1);
    int over_fast = 0;
    for (std::uint32_t connection = 0; connection < 10'000; ++connection) {
      const auto path = paths.path(NodeId(0), NodeId(1), connection, 0);
      ASSERT_EQ(path.size(), 4U);
      over_fast += topology->link(path[1]).rate == Bandwidth::gbps(400) ? 1 : 0;
    }
    EXPECT_NEAR(over_fast, 8000, 5 * 40);
  }
}

// Where all next hops carry the same, paths are those without weights, bit for bit.
TEST(HopWeights, ThatAreEqualChangeNothing) {
  for (const char* name : {"fat_tree", "rail_optimized", "dual_plane_rail", "dragonfly"}) {
    const auto topology = built(name, {});
    const LinkDelays delays(*topology, Duration::zero(), Forwarding::store_and_forward);
    EcmpPaths equal(*topology, {.seed = 3}, 1);
    EcmpPaths weighed(*topology, {.seed = 3, .weights = PathWeights::capacity}, 1);
    SprayPaths sprayed(*topology, delays, 1);
    SprayPaths sprayed_weighed(*topology, delays, 1, PathWeights::capacity);
    RandomStream random(7, 0, 0);
    const auto endpoints = topology->endpoints();
    for (std::uint32_t i = 0; i < 300; ++i) {
      const NodeId a = endpoints[random.below(endpoints.size())];
      const NodeId b = endpoints[random.below(endpoints.size())];
      if (a == b) continue;
      if (name != std::string("dragonfly")) {
        EXPECT_TRUE(std::ranges::equal(equal.path(a, b, i, 0), weighed.path(a, b, i, 0))) << name;
        EXPECT_EQ(sprayed.path(a, b).loads, sprayed_weighed.path(a, b).loads) << name;
      }
      EXPECT_EQ(sprayed.path(a, b).links, sprayed_weighed.path(a, b).links) << name;
    }
  }
}

// --- Against other ways to find the same ---------------------------------------------------------

/// The model's words, taken literally: all ways, one by one, and what they have in common.
class Literal {
 public:
  Literal(const Topology& topology, NodeId destination) : topology_(topology), destination_(destination) {}

  /// Rounded down.
  std::int64_t weight(NodeId at, LinkId hop) const {
    const NodeId to = topology_.link(hop).destination;
    const double part = static_cast<double>(topology_.link(hop).rate.in_bps()) / static_cast<double>(rate(at, to));
    return static_cast<std::int64_t>(part * static_cast<double>(carried(at, to)) + 1e-3);
  }
  std::int64_t capacity(NodeId at, NodeId to) const {
    if (at == to) return std::numeric_limits<std::int64_t>::max();
    std::set<NodeId> next;
    for (const LinkId hop : hops_at(topology_, at, destination_)) next.insert(topology_.link(hop).destination);
    std::int64_t sum = 0;
    for (const NodeId node : next) sum += carried(at, node);
    return std::min(sum, capacity(meet(at), to));
  }

 private:
  std::int64_t rate(NodeId at, NodeId to) const {
    std::int64_t sum = 0;
    for (const LinkId hop : hops_at(topology_, at, destination_)) {
      if (topology_.link(hop).destination == to) sum += topology_.link(hop).rate.in_bps();
    }
    return sum;
  }
  std::int64_t carried(NodeId at, NodeId to) const { return std::min(rate(at, to), capacity(to, meet(at))); }
  /// The nodes that all ways from here pass, this one aside, the nearest first.
  std::vector<NodeId> common(NodeId at) const {
    if (at == destination_) return {};
    std::vector<NodeId> in_all;
    bool is_first = true;
    for (const LinkId hop : hops_at(topology_, at, destination_)) {
      const NodeId next = topology_.link(hop).destination;
      std::vector<NodeId> of_hop = common(next);
      of_hop.insert(of_hop.begin(), next);
      if (is_first) in_all = of_hop;
      std::erase_if(in_all, [&](NodeId node) { return std::ranges::find(of_hop, node) == of_hop.end(); });
      is_first = false;
    }
    return in_all;
  }
  NodeId meet(NodeId at) const { return common(at).front(); }

  const Topology& topology_;
  NodeId destination_;
};

/// The largest flow over shortest ways, by Boost's Edmonds-Karp.
std::int64_t largest_flow(const Topology& topology, NodeId source, NodeId destination) {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Graph =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                            boost::property<boost::edge_capacity_t, std::int64_t,
                                            boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                                            boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
  Graph graph(topology.node_count());
  const auto capacity = boost::get(boost::edge_capacity, graph);
  const auto reverse = boost::get(boost::edge_reverse, graph);
  std::set<NodeId> seen = {source};
  std::vector<NodeId> todo = {source};
  while (!todo.empty()) {
    const NodeId at = todo.back();
    todo.pop_back();
    if (at == destination) continue;
    for (const LinkId hop : hops_at(topology, at, destination)) {
      const NodeId to = topology.link(hop).destination;
      const auto there = boost::add_edge(at.index(), to.index(), graph).first;
      const auto back = boost::add_edge(to.index(), at.index(), graph).first;
      capacity[there] = topology.link(hop).rate.in_bps();
      capacity[back] = 0;
      reverse[there] = back;
      reverse[back] = there;
      if (seen.insert(to).second) todo.push_back(to);
    }
  }
  return boost::edmonds_karp_max_flow(graph, source.index(), destination.index());
}

/// Leafs, spines and perhaps cores at random, joined in full but for some cables, hosts with one
/// port or several.
std::shared_ptr<const Topology> random_network(RandomStream& random) {
  const int hosts = 2 + static_cast<int>(random.below(4));
  const int leafs = 2 + static_cast<int>(random.below(2));
  const int spines = 1 + static_cast<int>(random.below(3));
  const int cores = static_cast<int>(random.below(3));
  std::vector<Cable> cables;
  const auto rate = [&] { return static_cast<std::int64_t>(1 + random.below(8)); };
  for (int host = 0; host < hosts; ++host) {
    const auto ports = 1 + random.below(2);
    for (std::uint64_t i = 0; i < ports; ++i)
      cables.push_back({host, hosts + static_cast<int>(random.below(static_cast<std::uint64_t>(leafs))), rate()});
  }
  // Some cables are missing or doubled; a chain of all switches leaves nobody alone.
  for (int leaf = 0; leaf < leafs; ++leaf) {
    for (int spine = 0; spine < spines; ++spine) {
      for (auto n = random.below(3); n > 0; --n) cables.push_back({hosts + leaf, hosts + leafs + spine, rate()});
    }
  }
  for (int core = 0; core < cores; ++core) {
    for (int spine = 0; spine < spines; ++spine) {
      if (random.below(3) > 0) cables.push_back({hosts + leafs + spines + core, hosts + leafs + spine, rate()});
    }
  }
  for (int i = 1; i < leafs + spines + cores; ++i) cables.push_back({hosts + i - 1, hosts + i, rate()});
  return network(hosts, leafs + spines + cores, cables);
}

TEST(HopWeights, AreThoseOfTheModelOnRandomNetworks) {
  RandomStream random(11, 0, 0);
  int nodes_with_choices = 0;
  int equal_to_largest_flow = 0;
  int compared = 0;
  for (int run = 0; run < (WEFT_SANITIZED ? 60 : 300); ++run) {
    const auto topology = random_network(random);
    const HopWeights weights(*topology, topology->routes());
    // Twice, so that what is kept is asked for as well.
    for (int round = 0; round < 2; ++round) {
      for (const NodeId destination : topology->endpoints()) {
        const Literal literal(*topology, destination);
        for (std::uint32_t node = 0; node < topology->node_count(); ++node) {
          const NodeId at(node);
          if (at == destination) continue;
          const std::vector<LinkId> hops = hops_at(*topology, at, destination);
          if (hops.empty()) continue;
          std::vector<std::int64_t> found;
          weights.weigh(at, destination, hops, found);
          ASSERT_EQ(found.size(), hops.size());
          if (hops.size() == 1) continue;
          ++nodes_with_choices;
          for (std::size_t i = 0; i < hops.size(); ++i) ASSERT_EQ(found[i], literal.weight(at, hops[i])) << "run " << run;
          const std::int64_t capacity = weights.capacity(at, destination).in_bps();
          ASSERT_EQ(capacity, literal.capacity(at, destination));
          const std::int64_t largest = largest_flow(*topology, at, destination);
          ASSERT_GE(capacity, largest);
          ++compared;
          equal_to_largest_flow += capacity == largest ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(nodes_with_choices, WEFT_SANITIZED ? 1000 : 5000);
  EXPECT_GT(equal_to_largest_flow, compared / 2);
}

// In a fat tree ways divide and meet again, so that what they carry together is the largest flow,
// whatever each cable does.
TEST(HopWeights, CapacityIsTheLargestFlowOfAFatTree) {
  const auto regular = built("fat_tree", {{"k", "4"}});
  RandomStream random(5, 0, 0);
  for (int run = 0; run < 20; ++run) {
    TopologyBuilder builder("fat tree");
    for (std::uint32_t i = 0; i < regular->node_count(); ++i) {
      const Node& node = regular->node(NodeId(i));
      const NodeId added = node.host.is_none() ? builder.add_switch(node.level)
                                               : (node.kind == NodeKind::nic ? builder.add_inside(node.host, node.kind)
                                                                             : builder.add_endpoint(builder.add_host(), node.kind));
      ASSERT_EQ(added, NodeId(i));
    }
    for (std::uint32_t i = 0; i < regular->link_count(); i += 2) {
      const Link& link = regular->link(LinkId(i));
      builder.add_cable(link.source, link.destination, Bandwidth::gbps(static_cast<std::int64_t>(1 + random.below(400))),
                        Duration::ns(5));
    }
    const auto topology = std::move(builder).build(nullptr, kTest);
    const HopWeights weights(*topology, topology->routes());
    const auto endpoints = topology->endpoints();
    for (const NodeId from : endpoints) {
      for (const NodeId to : endpoints) {
        if (from == to) continue;
        EXPECT_EQ(weights.capacity(from, to).in_bps(), largest_flow(*topology, from, to));
      }
    }
  }
}

TEST(HopWeights, OfDetoursAreOfTheWaysThatAreLeft) {
  // Leafs 2, 3 and spines 4, 5, 6, of 100, 200 and 400 Gb/s.
  const auto topology =
      network(2, 5, {{0, 2, 400}, {1, 3, 400}, {2, 4, 100}, {2, 5, 200}, {2, 6, 400}, {3, 4, 100}, {3, 5, 200}, {3, 6, 400}});
  AvailableRoutes ways(*topology, PathWeights::capacity);
  std::vector<bool> avoided(topology->link_count(), false);
  std::vector<double> shares(topology->link_count(), 1);
  avoided[8] = avoided[9] = true;
  shares[8] = shares[9] = 0;
  shares[6] = shares[7] = 0.25;
  ways.avoid(avoided, shares);
  const WeighedRoutes by = ways.between(NodeId(0), NodeId(1));
  std::vector<LinkId> hops;
  by.routes.next_hops(*topology, NodeId(2), NodeId(1), hops);
  ASSERT_EQ(hops.size(), 2U);
  std::vector<std::int64_t> weights;
  by.weights->weigh(NodeId(2), NodeId(1), hops, weights);
  EXPECT_EQ(weights, (std::vector<std::int64_t>{100'000'000'000, 50'000'000'000}));
  EXPECT_EQ(AvailableRoutes(*topology).between(NodeId(0), NodeId(1)).weights, nullptr);
}

TEST(ChoiceByWeight, CutsTheNumbersWhereTheSumOfWeightsDoes) {
  constexpr std::uint64_t most = UINT64_MAX;
  const std::vector<std::int64_t> weights = {4, 1};
  EXPECT_EQ(choice_by_weight(0, weights), 0U);
  // floor(m x 5 / 2^64) is 4 from 4/5 of 2^64 on.
  EXPECT_EQ(choice_by_weight(most / 5 * 4, weights), 0U);
  EXPECT_EQ(choice_by_weight(most / 5 * 4 + 1, weights), 1U);
  EXPECT_EQ(choice_by_weight(most, weights), 1U);
  // Sums beyond 64 bits.
  const std::vector<std::int64_t> huge(5, std::numeric_limits<std::int64_t>::max());
  RandomStream random(1, 0, 0);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t mixed = random.below(UINT64_MAX);
    EXPECT_EQ(choice_by_weight(mixed, huge), spread(mixed, 5));
    EXPECT_EQ(choice_by_weight(mixed, std::vector<std::int64_t>(7, 400)), spread(mixed, 7));
  }
  EXPECT_EQ(choice_by_weight(most, huge), 4U);
}

}  // namespace
}  // namespace weft::hop_weights_test
