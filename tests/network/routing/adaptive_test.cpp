// SPDX-License-Identifier: Apache-2.0
#include "network/routing/adaptive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "network/flow/flow_model.hpp"
#include "network/routing/ecmp.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::adaptive_test {
namespace {

std::vector<LinkId> path_of(AdaptivePaths& paths, const FlowLinkGraph& flows, NodeId a, NodeId b, std::uint32_t connection = 0) {
  const auto path = paths.path(a, b, connection, 0, flows);
  return {path.begin(), path.end()};
}

/// Hosts at leafs and leafs at spines, every leaf with one cable to each spine.
struct TwoTiers {
  TwoTiers(std::size_t leafs, std::size_t hosts_per_leaf, const std::vector<Bandwidth>& spine_rates) {
    TopologyBuilder builder("two tiers");
    std::vector<NodeId> leaf, spine;
    for (std::size_t l = 0; l < leafs; ++l) leaf.push_back(builder.add_switch(1));
    for (std::size_t s = 0; s < spine_rates.size(); ++s) spine.push_back(builder.add_switch(2));
    for (std::size_t l = 0; l < leafs; ++l) {
      for (std::size_t h = 0; h < hosts_per_leaf; ++h) {
        host.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
        builder.add_cable(host.back(), leaf[l], Bandwidth::gbps(400), Duration::zero());
      }
      for (std::size_t s = 0; s < spine_rates.size(); ++s) builder.add_cable(leaf[l], spine[s], spine_rates[s], Duration::zero());
    }
    first_spine = spine.front();
    topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  }
  /// Which spine a path goes over, from 0.
  std::uint32_t spine_of(const std::vector<LinkId>& path) const {
    return topology->link(path[1]).destination.index() - first_spine.index();
  }

  std::shared_ptr<const Topology> topology;
  std::vector<NodeId> host;
  NodeId first_spine;
};

// Eight hosts of a leaf send to eight of another over eight spines: whatever the hashes say, each
// gets a spine of its own. Hashes alone give every flow its own in one case of 8^8 / 8! = 416.
TEST(AdaptivePaths, FlowsOfALeafTakeDifferentSpines) {
  const TwoTiers tiers(2, 8, std::vector<Bandwidth>(8, Bandwidth::gbps(100)));
  FlowLinkGraph flows(link_capacities_bps(*tiers.topology));
  AdaptivePaths paths(*tiers.topology, 1, AdaptiveView::own_links);
  EcmpPaths hashed(*tiers.topology, {.seed = 1}, 1);
  std::set<std::uint32_t> spines, hashed_spines;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::vector<LinkId> path = path_of(paths, flows, tiers.host[i], tiers.host[8 + i]);
    flows.add({path});
    spines.insert(tiers.spine_of(path));
    const auto other = hashed.path(tiers.host[i], tiers.host[8 + i], 0, 0);
    hashed_spines.insert(tiers.spine_of({other.begin(), other.end()}));
  }
  EXPECT_EQ(spines.size(), 8U);
  EXPECT_LT(hashed_spines.size(), 8U);
}

// In an empty network every next hop is as good as the others: the path is that of ECMP.
TEST(AdaptivePaths, TiesGoByTheHashOfEcmp) {
  const auto topology = built("fat_tree", {{"k", "8"}});
  const FlowLinkGraph flows(link_capacities_bps(*topology));
  EcmpPaths hashed(*topology, {.seed = 3}, 1);
  const auto ends = topology->endpoints();
  for (const AdaptiveView view : {AdaptiveView::own_links, AdaptiveView::whole_paths}) {
    AdaptivePaths paths(*topology, 3, view);
    for (std::uint32_t connection = 0; connection < 100; ++connection) {
      const auto expected = hashed.path(ends.front(), ends.back(), connection, 0);
      EXPECT_EQ(path_of(paths, flows, ends.front(), ends.back(), connection),
                std::vector<LinkId>(expected.begin(), expected.end()));
    }
  }
}

// Of three leafs, two send to the third: the spine that the first flow takes has a loaded way down,
// which the second leaf does not see from where it is. With its own links in view it goes by its
// hash and meets the first flow for some connections, with whole paths in view it never does.
TEST(AdaptivePaths, OnlyWholePathsShowWhatIsBehindASpine) {
  const TwoTiers tiers(3, 1, std::vector<Bandwidth>(2, Bandwidth::gbps(100)));
  for (const AdaptiveView view : {AdaptiveView::own_links, AdaptiveView::whole_paths}) {
    AdaptivePaths paths(*tiers.topology, 1, view);
    std::uint32_t met = 0;
    for (std::uint32_t connection = 0; connection < 20; ++connection) {
      FlowLinkGraph flows(link_capacities_bps(*tiers.topology));
      const std::vector<LinkId> first = path_of(paths, flows, tiers.host[0], tiers.host[2], 0);
      flows.add({first});
      met += tiers.spine_of(path_of(paths, flows, tiers.host[1], tiers.host[2], connection)) == tiers.spine_of(first) ? 1 : 0;
    }
    if (view == AdaptiveView::own_links) {
      EXPECT_GT(met, 0U);
    } else {
      EXPECT_EQ(met, 0U);
    }
  }
}

// Two leafs below one aggregation switch, which has two ways to the other side: the second flow, of
// the other leaf, takes the other way.
TEST(AdaptivePaths, AFlowAvoidsALinkThatAnotherLeafLoads) {
  TopologyBuilder builder("one aggregation switch");
  std::vector<NodeId> host, leaf;
  for (int i = 0; i < 3; ++i) {
    leaf.push_back(builder.add_switch(1));
    host.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
    builder.add_cable(host.back(), leaf.back(), Bandwidth::gbps(400), Duration::zero());
  }
  const NodeId near = builder.add_switch(2);
  const NodeId far = builder.add_switch(2);
  builder.add_cable(leaf[0], near, Bandwidth::gbps(400), Duration::zero());
  builder.add_cable(leaf[1], near, Bandwidth::gbps(400), Duration::zero());
  builder.add_cable(leaf[2], far, Bandwidth::gbps(400), Duration::zero());
  for (int i = 0; i < 2; ++i) {
    const NodeId spine = builder.add_switch(3);
    builder.add_cable(near, spine, Bandwidth::gbps(100), Duration::zero());
    builder.add_cable(spine, far, Bandwidth::gbps(100), Duration::zero());
  }
  const auto topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  for (std::uint32_t connection = 0; connection < 20; ++connection) {
    FlowLinkGraph flows(link_capacities_bps(*topology));
    AdaptivePaths paths(*topology, 1, AdaptiveView::own_links);
    const std::vector<LinkId> first = path_of(paths, flows, host[0], host[2], connection);
    const FlowSlot slot = flows.add({first});
    EXPECT_NE(path_of(paths, flows, host[1], host[2], connection)[2], first[2]) << connection;
    flows.remove(slot);
    EXPECT_EQ(path_of(paths, flows, host[0], host[2], connection), first) << "nothing is remembered";
  }
}

// One spine of 400 Gb/s and a degraded one of 100: a flow finds 1/100 there as long as it is empty
// and n/400 on the good one, if it is the n-th. So the first three take the good one, the fourth
// finds them alike, the fifth takes the one that the fourth did not. After that the degraded one is
// at 2/100, as much as the good one with eight.
TEST(AdaptivePaths, ADegradedLinkGetsFewerFlows) {
  const TwoTiers tiers(2, 8, {Bandwidth::gbps(400), Bandwidth::gbps(100)});
  for (std::uint32_t connection = 0; connection < 20; ++connection) {
    FlowLinkGraph flows(link_capacities_bps(*tiers.topology));
    AdaptivePaths paths(*tiers.topology, 1, AdaptiveView::own_links);
    std::vector<std::uint32_t> on_degraded = {0};
    for (std::size_t i = 0; i < 8; ++i) {
      const std::vector<LinkId> path = path_of(paths, flows, tiers.host[i], tiers.host[8 + i], connection);
      flows.add({path});
      on_degraded.push_back(on_degraded.back() + tiers.spine_of(path));
    }
    EXPECT_EQ(on_degraded[3], 0U);
    EXPECT_EQ(on_degraded[5], 1U);
    EXPECT_EQ(on_degraded[8], 1U);
  }
}

// A link whose capacity is gone is taken only where there is no other.
TEST(AdaptivePaths, ALinkWithoutCapacityIsTheLastResort) {
  const TwoTiers tiers(2, 4, std::vector<Bandwidth>(2, Bandwidth::gbps(100)));
  FlowLinkGraph flows(link_capacities_bps(*tiers.topology));
  AdaptivePaths paths(*tiers.topology, 1, AdaptiveView::own_links);
  const auto link_to = [&](std::uint32_t spine) {
    const auto out = tiers.topology->out_links(tiers.topology->link(tiers.topology->out_links(tiers.host[0])[0]).destination);
    return *std::find_if(out.begin(), out.end(), [&](LinkId link) {
      return tiers.topology->link(link).destination.index() == tiers.first_spine.index() + spine;
    });
  };
  flows.set_capacity(link_to(0), 0);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<LinkId> path = path_of(paths, flows, tiers.host[i], tiers.host[4 + i]);
    flows.add({path});
    EXPECT_EQ(tiers.spine_of(path), 1U);
  }
  flows.set_capacity(link_to(1), 0);
  EXPECT_EQ(path_of(paths, flows, tiers.host[0], tiers.host[4]).size(), 4U);
}

struct Collisions {
  double worst = 0;  ///< flows on the link with the most, over permutations
  bool shortest = true;
};

/// Permutations of the hosts of a k = 8 fat tree, in which a shortest path has 2, 4 or 6 links.
template <class PathOf>
Collisions of_permutations(const Topology& topology, std::uint32_t permutations, const PathOf& path_of_flow) {
  Collisions collisions;
  EcmpPaths hashed(topology, {.seed = 1}, 1);
  const auto ends = topology.endpoints();
  for (std::uint32_t seed = 0; seed < permutations; ++seed) {
    RandomStream random(9, seed, 1);
    std::vector<std::size_t> to(ends.size());
    std::iota(to.begin(), to.end(), std::size_t{0});
    for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
    FlowLinkGraph flows(link_capacities_bps(topology));
    std::size_t worst = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] == i) continue;
      const std::vector<LinkId> path = path_of_flow(flows, ends[i], ends[to[i]], seed);
      collisions.shortest &= path.size() == hashed.path(ends[i], ends[to[i]], 0, 0).size();
      flows.add({path});
      for (const LinkId link : path) worst = std::max(worst, flows.members(link).size());
    }
    collisions.worst += static_cast<double>(worst) / permutations;
  }
  return collisions;
}

TEST(AdaptivePaths, CollideLessThanHashedOnesInPermutations) {
  const auto topology = built("fat_tree", {{"k", "8"}});
  const auto collisions_of = [&](AdaptiveView view) {
    AdaptivePaths paths(*topology, 1, view);
    return of_permutations(*topology, 50, [&](const FlowLinkGraph& flows, NodeId a, NodeId b, std::uint32_t seed) {
      return path_of(paths, flows, a, b, seed);
    });
  };
  EcmpPaths hashed(*topology, {.seed = 1}, 1);
  const Collisions by_hash = of_permutations(*topology, 50, [&](const FlowLinkGraph&, NodeId a, NodeId b, std::uint32_t seed) {
    const auto path = hashed.path(a, b, seed, 0);
    return std::vector<LinkId>(path.begin(), path.end());
  });
  const Collisions local = collisions_of(AdaptiveView::own_links);
  const Collisions global = collisions_of(AdaptiveView::whole_paths);
  EXPECT_TRUE(local.shortest);
  EXPECT_TRUE(global.shortest);
  EXPECT_LT(local.worst, by_hash.worst);
  EXPECT_LT(global.worst, local.worst);
  RecordProperty("worst_flows_per_link_ecmp", std::to_string(by_hash.worst));
  RecordProperty("worst_flows_per_link_adaptive", std::to_string(local.worst));
  RecordProperty("worst_flows_per_link_adaptive_global", std::to_string(global.worst));
}

}  // namespace
}  // namespace weft::adaptive_test
