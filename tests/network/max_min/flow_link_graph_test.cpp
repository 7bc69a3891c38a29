// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/flow_link_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "core/check.hpp"

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
  for (const FlowLinkGraph::Member& member : graph.members(LinkId(1))) on_second.push_back(graph.load(member));
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

}  // namespace
}  // namespace weft::flow_link_graph_test
