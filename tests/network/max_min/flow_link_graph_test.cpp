// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/flow_link_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::flow_link_graph_test {
namespace {

const std::array<LinkId, 2> path = {LinkId(0), LinkId(1)};
const std::array<double, 2> ones = {1, 1};
const std::array<double, 2> halves = {1, 0.5};

// Who says that each load is 1 says what who says nothing means.
TEST(FlowLinkGraph, LoadsOfOneAreNone) {
  FlowLinkGraph graph({10, 20});
  const FlowSlot told = graph.add({.links = path, .loads = ones});
  const FlowSlot untold = graph.add({.links = path});
  EXPECT_TRUE(graph.weights_are_one());
  for (const FlowSlot flow : {told, untold}) {
    EXPECT_TRUE(graph.loads(flow).empty());
    EXPECT_TRUE(graph.has_loads(flow, ones));
    EXPECT_TRUE(graph.has_loads(flow, {}));
    EXPECT_FALSE(graph.has_loads(flow, halves));
  }
  // From the first with another load on, all have theirs.
  const FlowSlot other = graph.add({.links = path, .loads = halves});
  EXPECT_FALSE(graph.weights_are_one());
  EXPECT_TRUE(std::ranges::equal(graph.loads(other), halves));
  EXPECT_TRUE(graph.has_loads(other, halves));
  EXPECT_FALSE(graph.has_loads(other, {}));
  EXPECT_FALSE(graph.has_loads(other, ones));
  for (const FlowSlot flow : {told, untold, graph.add({.links = path, .loads = ones})}) {
    EXPECT_TRUE(std::ranges::equal(graph.loads(flow), ones));
    EXPECT_TRUE(graph.has_loads(flow, {}));
    EXPECT_TRUE(graph.has_loads(flow, ones));
  }
  std::vector<double> on_second;
  for (const FlowLinkGraph::Member member : graph.members(LinkId(1))) on_second.push_back(graph.load(member));
  EXPECT_EQ(on_second, (std::vector<double>{1, 1, 0.5, 1}));
}

TEST(FlowLinkGraph, LoadsAreAboveZeroAndOnePerLink) {
  FlowLinkGraph graph({10, 20});
  for (const double load : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    const std::array<double, 2> wrong = {1, load};
    EXPECT_THROW(graph.add({.links = path, .loads = wrong}), CheckFailure) << load;
  }
  EXPECT_THROW(graph.add({.links = path, .loads = std::span(ones).first(1)}), CheckFailure);
}

/// Invariants 2 and 3 of the graph, by looking at everything.
void expect_in_order(const FlowLinkGraph& graph) {
  std::vector<std::size_t> members(graph.link_count(), 0);
  for (std::uint32_t slot = 0; slot < graph.slot_count(); ++slot) {
    if (!graph.alive(FlowSlot(slot))) continue;
    const std::span<const FlowLinkGraph::Hop> hops = graph.hops(FlowSlot(slot));
    const std::span<const double> loads = graph.loads(FlowSlot(slot));
    for (std::size_t i = 0; i < hops.size(); ++i) {
      ++members[hops[i].link.index()];
      ASSERT_LT(hops[i].position, graph.members(hops[i].link).size());
      const FlowLinkGraph::Member member = graph.members(hops[i].link)[hops[i].position];
      ASSERT_EQ(member.flow, FlowSlot(slot));
      ASSERT_EQ(member.is_first, i == 0);
      ASSERT_EQ(graph.load(member), loads.empty() ? 1.0 : loads[i]);
    }
  }
  for (std::uint32_t link = 0; link < graph.link_count(); ++link) {
    ASSERT_EQ(graph.members(LinkId(link)).size(), members[link]);
  }
}

// Flows come and go over paths that cross some links several times, of a third of the graphs long
// ones; from some time on a few bring loads; then the graph is copied, and both go on.
TEST(FlowLinkGraph, KnowsWhoIsWhere) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    RandomStream random(4, seed, 0);
    constexpr std::uint32_t links = 6;
    FlowLinkGraph graph(std::vector<double>(links, 10));
    std::vector<FlowSlot> flows;
    const auto change = [&](FlowLinkGraph& of, bool with_loads) {
      if (flows.size() > 40 || (!flows.empty() && random.below(3) == 0)) {
        std::swap(flows[random.below(flows.size())], flows.back());
        of.remove(flows.back());
        flows.pop_back();
        return;
      }
      std::vector<LinkId> way;
      std::vector<double> loads;
      for (std::uint64_t hops = 1 + random.below(seed % 3 == 0 ? 40 : 8); hops > 0; --hops) {
        way.emplace_back(static_cast<std::uint32_t>(random.below(links)));
        if (with_loads) loads.push_back(0.25 * static_cast<double>(1 + random.below(8)));
      }
      flows.push_back(of.add({.links = way, .loads = loads}));
    };
    for (int step = 0; step < 200; ++step) {
      change(graph, step > 100 && random.below(4) == 0);
      expect_in_order(graph);
    }
    FlowLinkGraph copy(graph);
    for (int step = 0; step < 100; ++step) {
      change(copy, random.below(2) == 0);
      expect_in_order(copy);
    }
    expect_in_order(graph);
    for (const FlowSlot flow : flows) copy.remove(flow);
    copy.give_back();
    EXPECT_TRUE(copy.weights_are_one());
    flows.clear();
    for (int step = 0; step < 100; ++step) {
      change(copy, step > 50 && random.below(4) == 0);
      expect_in_order(copy);
    }
  }
}

// Slots that somebody else chose, in any order; loads come midway.
TEST(FlowLinkGraph, SlotsMayBeGiven) {
  FlowLinkGraph graph({10, 20});
  graph.add_as(FlowSlot(7), {.links = path});
  graph.add_as(FlowSlot(2), {.links = path});
  expect_in_order(graph);
  graph.add_as(FlowSlot(4), {.links = path, .loads = halves});
  expect_in_order(graph);
  graph.remove(FlowSlot(7));
  expect_in_order(graph);
  graph.add_as(FlowSlot(7), {.links = path, .loads = halves});
  expect_in_order(graph);
  EXPECT_FALSE(graph.alive(FlowSlot(3)));
  EXPECT_THROW(graph.add_as(FlowSlot(7), {.links = path}), CheckFailure);
}

}  // namespace
}  // namespace weft::flow_link_graph_test
