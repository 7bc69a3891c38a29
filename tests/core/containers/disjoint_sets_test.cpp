// SPDX-License-Identifier: Apache-2.0
#include "core/containers/disjoint_sets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/values/random.hpp"

namespace weft::disjoint_sets_test {
namespace {

TEST(DisjointSets, AreLedByTheirLeastMember) {
  DisjointSets sets(5);
  EXPECT_TRUE(sets.join(4, 3));
  EXPECT_TRUE(sets.join(1, 4));
  EXPECT_FALSE(sets.join(3, 1)) << "over 4";
  for (const std::uint32_t member : {1U, 3U, 4U}) EXPECT_EQ(sets.leader(member), 1U);
  EXPECT_EQ(sets.leader(0), 0U);
  EXPECT_EQ(sets.leader(2), 2U);
}

// Labels that are written anew at every join say the same.
TEST(DisjointSets, AgreeWithLabels) {
  RandomStream random(3, 0, 0);
  DisjointSets sets(60);
  std::vector<std::uint32_t> labels(60);
  for (std::uint32_t i = 0; i < labels.size(); ++i) labels[i] = i;
  for (int round = 0; round < 50; ++round) {
    const auto a = static_cast<std::uint32_t>(random.below(labels.size()));
    const auto b = static_cast<std::uint32_t>(random.below(labels.size()));
    const std::uint32_t from = std::max(labels[a], labels[b]);
    const std::uint32_t to = std::min(labels[a], labels[b]);
    EXPECT_EQ(sets.join(a, b), from != to);
    for (std::uint32_t& label : labels) label = label == from ? to : label;
    for (std::uint32_t i = 0; i < labels.size(); ++i) EXPECT_EQ(sets.leader(i), labels[i]);
  }
}

}  // namespace
}  // namespace weft::disjoint_sets_test
