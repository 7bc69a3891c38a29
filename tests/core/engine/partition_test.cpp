// SPDX-License-Identifier: Apache-2.0
#include "core/engine/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::partition_test {
namespace {

std::vector<std::uint32_t> numbers(const Partition& partition) {
  std::vector<std::uint32_t> lps;
  for (const LpId lp : partition.lp_of_node) lps.push_back(lp.index());
  return lps;
}

// Two pods of three nodes with short links, a long link between them, and a lonely node:
//   1 - 3 - 5 ===== 0 - 2 - 4    6
std::vector<PartitionEdge> two_pods() {
  return {{1, 3, Duration::ns(50)},
          {3, 5, Duration::ns(100)},
          {5, 0, Duration::us(2)},
          {0, 2, Duration::ns(50)},
          {2, 4, Duration::ns(100)}};
}

TEST(Partition, ShortEdgesMerge) {
  const Partition pods = partition_by_delay(7, two_pods(), Duration::us(1));
  EXPECT_EQ(pods.lp_count, 3U);
  // Numbered by smallest node: {0,2,4} = 0, {1,3,5} = 1, {6} = 2.
  EXPECT_EQ(numbers(pods), (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1, 2}));
  EXPECT_EQ(pods.lookahead, Duration::us(2));
}

TEST(Partition, ZetaIsAStrictBound) {
  const Partition pairs = partition_by_delay(7, two_pods(), Duration::ns(100));
  EXPECT_EQ(numbers(pairs), (std::vector<std::uint32_t>{0, 1, 0, 1, 2, 3, 4}));
  EXPECT_EQ(pairs.lookahead, Duration::ns(100));
  const Partition each = partition_by_delay(7, two_pods(), Duration::ns(50));
  EXPECT_EQ(each.lp_count, 7U);
  EXPECT_EQ(each.lookahead, Duration::ns(50));
  const Partition all = partition_by_delay(7, two_pods(), Duration::us(3));
  EXPECT_EQ(all.lp_count, 2U);
  EXPECT_EQ(all.lookahead, Duration::max());
}

TEST(Partition, ZeroDelayAlwaysMerges) {
  const std::vector<PartitionEdge> edges = {{0, 1, Duration::zero()}, {1, 2, Duration::ns(1)}};
  const Partition partition = partition_by_delay(3, edges, Duration::zero());
  EXPECT_EQ(numbers(partition), (std::vector<std::uint32_t>{0, 0, 1}));
  const std::vector<LpId> torn = {LpId(0), LpId(1), LpId(1)};
  EXPECT_THROW(partition_explicitly(torn, edges), CheckFailure);
}

// Eight stars of a hub and four leaves, each leaf also tied to a core of its own number: merged to
// four, every part has two whole stars and its share of edges, and none is joined by what was not
// cut before.
TEST(Partition, MergedPartsAreNeighboursAndAlike) {
  std::vector<PartitionEdge> edges;
  for (std::uint32_t star = 0; star < 8; ++star) {
    for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
      edges.push_back({5 * star, 5 * star + 1 + leaf, Duration::us(1)});
      edges.push_back({5 * star + 1 + leaf, 40 + leaf, Duration::us(1)});
    }
  }
  const Partition each = partition_by_delay(44, edges, Duration::us(1));
  ASSERT_EQ(each.lp_count, 44U);
  const Partition merged = partition_merged(each, edges, 4);
  EXPECT_EQ(merged.lp_count, 4U);
  EXPECT_EQ(merged.lookahead, Duration::us(1));
  std::vector<std::uint32_t> ends(4, 0);
  for (const PartitionEdge& edge : edges) {
    ++ends[merged.lp_of_node[edge.from].index()];
    ++ends[merged.lp_of_node[edge.to].index()];
  }
  for (const std::uint32_t of_part : ends) EXPECT_NEAR(of_part, 32, 8);
  EXPECT_EQ(numbers(partition_merged(merged, edges, 4)), numbers(merged));
  // Zeta has joined what is closer: merging keeps it together.
  const Partition pods = partition_by_delay(7, two_pods(), Duration::us(1));
  EXPECT_EQ(partition_merged(pods, two_pods(), 1).lp_count, 1U);
}

TEST(Partition, AutomaticTakesTheLongestLookaheadWithEnoughParts) {
  EXPECT_EQ(partition_automatically(7, two_pods(), 1).lp_count, 2U);
  EXPECT_EQ(partition_automatically(7, two_pods(), 3).lookahead, Duration::us(2));
  EXPECT_EQ(partition_automatically(7, two_pods(), 4).lookahead, Duration::ns(100));
  EXPECT_EQ(partition_automatically(7, two_pods(), 6).lookahead, Duration::ns(50));
  // More than there can be: as many as there can be.
  EXPECT_EQ(partition_automatically(7, two_pods(), 100).lp_count, 7U);
}

TEST(Partition, ExplicitIsRenumberedBySmallestNode) {
  const std::vector<LpId> given = {LpId(90), LpId(5), LpId(90), LpId(7)};
  const Partition partition = partition_explicitly(given, {});
  EXPECT_EQ(numbers(partition), (std::vector<std::uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(partition.lp_count, 3U);
}

TEST(Partition, NoNodes) {
  EXPECT_EQ(partition_by_delay(0, {}, Duration::us(1)).lp_count, 0U);
  EXPECT_EQ(partition_automatically(0, {}, 4).lp_count, 0U);
}

// Against repeated relabelling until nothing changes; and automatic against trying every zeta.
TEST(Partition, FuzzAgainstNaiveOracle) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, 0, 0);
    const auto node_count = static_cast<std::uint32_t>(1 + random.below(20));
    std::vector<PartitionEdge> edges(random.below(30));
    for (PartitionEdge& edge : edges) {
      edge = {static_cast<std::uint32_t>(random.below(node_count)), static_cast<std::uint32_t>(random.below(node_count)),
              Duration::ns(static_cast<std::int64_t>(random.below(6)))};
    }
    const auto check = [&](Duration zeta) {
      std::vector<std::uint32_t> label(node_count);
      for (std::uint32_t i = 0; i < node_count; ++i) label[i] = i;
      for (bool changed = true; changed;) {
        changed = false;
        for (const PartitionEdge& edge : edges) {
          if (edge.min_delay >= zeta && edge.min_delay > Duration::zero()) continue;
          const std::uint32_t least = std::min(label[edge.from], label[edge.to]);
          changed = changed || label[edge.from] != least || label[edge.to] != least;
          label[edge.from] = label[edge.to] = least;
        }
      }
      Duration lookahead = Duration::max();
      for (const PartitionEdge& edge : edges) {
        if (label[edge.from] != label[edge.to]) lookahead = std::min(lookahead, edge.min_delay);
      }
      const Partition partition = partition_by_delay(node_count, edges, zeta);
      EXPECT_EQ(partition.lookahead, lookahead);
      for (std::uint32_t i = 0; i < node_count; ++i) {
        for (std::uint32_t j = 0; j < node_count; ++j) {
          EXPECT_EQ(partition.lp_of_node[i] == partition.lp_of_node[j], label[i] == label[j]);
        }
      }
      EXPECT_EQ(partition.lp_count, std::set<std::uint32_t>(label.begin(), label.end()).size());
      return partition;
    };
    const auto lps_min = static_cast<std::uint32_t>(1 + random.below(8));
    Partition best = check(Duration::zero());
    for (int zeta_ns = 1; zeta_ns <= 6; ++zeta_ns) {
      const Partition candidate = check(Duration::ns(zeta_ns));
      if (candidate.lp_count >= lps_min) best = candidate;
    }
    const Partition automatic = partition_automatically(node_count, edges, lps_min);
    EXPECT_EQ(automatic.lookahead, best.lookahead);
    EXPECT_EQ(numbers(automatic), numbers(best));
  }
}

TEST(ZetaTable, LooksUpByMeanJobSize) {
  const ZetaTable table({{8, Duration::ns(100)}, {64, Duration::us(1)}});
  EXPECT_EQ(table.zeta_for(1), Duration::ns(100));
  EXPECT_EQ(table.zeta_for(8), Duration::ns(100));
  EXPECT_EQ(table.zeta_for(8.5), Duration::us(1));
  EXPECT_EQ(table.zeta_for(1e6), Duration::us(1));
  EXPECT_EQ(ZetaTable::standard().zeta_for(4), Duration::ns(100));
  EXPECT_EQ(ZetaTable::standard().zeta_for(1e9), Duration::ns(2500));
  EXPECT_THROW(ZetaTable({}), CheckFailure);
  EXPECT_THROW(ZetaTable({{64, Duration::us(1)}, {8, Duration::us(1)}}), CheckFailure);
}

}  // namespace
}  // namespace weft::partition_test
