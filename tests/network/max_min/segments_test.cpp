// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <map>
#include <vector>

#include "core/values/random.hpp"

namespace weft::segments_test {
namespace {

/// Numbers groups in order of their smallest link, so that two partitions of the same links can be
/// compared.
std::vector<std::uint32_t> canonical(const std::vector<std::uint32_t>& group) {
  std::map<std::uint32_t, std::uint32_t> number;
  std::vector<std::uint32_t> result;
  for (const std::uint32_t g : group) {
    result.push_back(g == UINT32_MAX ? g : number.try_emplace(g, static_cast<std::uint32_t>(number.size())).first->second);
  }
  return result;
}

std::vector<std::uint32_t> components_by_boost(const FlowLinkGraph& graph) {
  // Vertices: links, then flow slots.
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> bipartite(graph.link_count() + graph.slot_count());
  for (std::uint32_t f = 0; f < graph.slot_count(); ++f) {
    if (!graph.alive(FlowSlot(f))) continue;
    for (const auto& hop : graph.hops(FlowSlot(f))) boost::add_edge(hop.link.index(), graph.link_count() + f, bipartite);
  }
  std::vector<std::uint32_t> component(boost::num_vertices(bipartite));
  boost::connected_components(bipartite, component.data());
  component.resize(graph.link_count());
  for (std::uint32_t l = 0; l < graph.link_count(); ++l) {
    if (graph.members(LinkId(l)).empty()) component[l] = UINT32_MAX;
  }
  return canonical(component);
}

std::vector<std::uint32_t> segments_by_link(const Segments& segments, const FlowLinkGraph& graph) {
  std::vector<std::uint32_t> segment;
  for (std::uint32_t l = 0; l < graph.link_count(); ++l) {
    const bool idle = graph.members(LinkId(l)).empty();
    segment.push_back(idle ? UINT32_MAX : segments.segment_of(LinkId(l)).index());
  }
  return canonical(segment);
}

// Random flows of one to four links on 60 links come and go; after every batch the search agrees
// with Boost.Graph, segments are unions of components, and with a re-partition after every batch
// they are the components.
TEST(Segments, AgreeWithBoostConnectedComponents) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RandomStream random(11, seed, 1);
    constexpr std::uint32_t kLinks = 60;
    const std::uint32_t repartition_updates = seed % 2 == 0 ? 1 : 1 + seed % 7;
    FlowLinkGraph graph(std::vector<double>(kLinks, 1.0));
    Segments segments(kLinks, repartition_updates);
    std::vector<FlowSlot> flows;
    for (int batch = 0; batch < 40; ++batch) {
      for (std::uint64_t n = random.below(5); n > 0 && !flows.empty(); --n) {
        const std::size_t which = random.below(flows.size());
        segments.on_removed(graph, flows[which]);
        graph.remove(flows[which]);
        flows[which] = flows.back();
        flows.pop_back();
      }
      for (std::uint64_t n = random.below(6); n > 0; --n) {
        std::vector<LinkId> path;
        for (std::uint64_t hop = 0; hop <= random.below(4); ++hop)
          path.emplace_back(static_cast<std::uint32_t>(random.below(kLinks)));
        flows.push_back(graph.add({path}));
        segments.on_added(graph, flows.back());
      }
      const std::span<const SegmentId> changed = segments.take_changed(graph);
      for (const SegmentId segment : changed) {
        std::size_t incidences = 0;
        for (const LinkId link : segments.links(segment)) {
          ASSERT_EQ(segments.segment_of(link), segment);
          incidences += graph.members(link).size();
        }
        ASSERT_EQ(segments.incidences(segment), incidences);
        segments.on_worked(segment, 1'000'000);  // more than any search here costs
      }
      const std::vector<std::uint32_t> expected = components_by_boost(graph);
      ASSERT_EQ(canonical(components_by_search(graph)), expected);
      const std::vector<std::uint32_t> lazy = segments_by_link(segments, graph);
      if (repartition_updates == 1) {
        ASSERT_EQ(lazy, expected);
      } else {
        for (std::uint32_t a = 0; a < kLinks; ++a) {
          for (std::uint32_t b = 0; b < a; ++b) {
            if (expected[a] != UINT32_MAX && expected[a] == expected[b]) {
              ASSERT_EQ(lazy[a], lazy[b]);
            }
          }
        }
      }
    }
  }
}

TEST(Segments, SplitOnlyAfterTheGivenNumberOfBatchesWithDepartures) {
  FlowLinkGraph graph(std::vector<double>(2, 1.0));
  Segments segments(2, 3);
  const std::vector<LinkId> left = {LinkId(0)}, right = {LinkId(1)}, both = {LinkId(0), LinkId(1)};
  const auto add = [&](const std::vector<LinkId>& path) {
    const FlowSlot flow = graph.add({path});
    segments.on_added(graph, flow);
    return flow;
  };
  const auto remove = [&](FlowSlot flow) {
    segments.on_removed(graph, flow);
    graph.remove(flow);
  };
  const auto take_changed = [&](bool worked) {
    const std::span<const SegmentId> changed = segments.take_changed(graph);
    for (const SegmentId segment : changed)
      segments.on_worked(segment, worked ? Segments::looks_per_search * segments.incidences(segment) : 0);
    return changed.size();
  };
  add(left);
  add(right);
  EXPECT_EQ(take_changed(false), 2U);
  FlowSlot bridge = add(both);
  EXPECT_EQ(take_changed(false), 1U);
  EXPECT_EQ(segments.segment_count(), 1U);
  remove(bridge);
  EXPECT_EQ(take_changed(false), 1U) << "first batch with a departure: still merged";
  FlowSlot extra = add(left);
  remove(add(right));
  EXPECT_EQ(take_changed(false), 1U) << "second";
  remove(extra);
  EXPECT_EQ(take_changed(true), 1U) << "third, but nobody worked on it as much as a search costs";
  extra = add(left);
  remove(extra);
  EXPECT_EQ(take_changed(true), 2U) << "searched and split";
  EXPECT_EQ(segments.segment_count(), 2U);
}

TEST(Segments, VanishWithTheirLastFlow) {
  FlowLinkGraph graph(std::vector<double>(2, 1.0));
  Segments segments(2, 5);
  const std::vector<LinkId> both = {LinkId(0), LinkId(1)};
  const FlowSlot flow = graph.add({both});
  segments.on_added(graph, flow);
  segments.take_changed(graph);
  segments.on_removed(graph, flow);
  graph.remove(flow);
  EXPECT_TRUE(segments.take_changed(graph).empty());
  EXPECT_EQ(segments.segment_count(), 0U);
  EXPECT_TRUE(segments.segment_of(LinkId(0)).is_none());
}

}  // namespace
}  // namespace weft::segments_test
