// SPDX-License-Identifier: Apache-2.0
// Binary trees over 0..n-1: every member but the root hangs below exactly one other, odd members
// are leaves, and the height is that of a binary tree.
#include "host/collectives/binary_tree.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace weft::binary_tree_test {
namespace {

constexpr std::uint32_t kNone = TreeNeighbours::none;

TEST(BinaryTree, OfEightIsAsDrawnByHand) {
  //        0
  //        4
  //     2     6
  //    1 3   5 7
  EXPECT_EQ(in_binary_tree(0, 8).right, 4U);
  EXPECT_EQ(in_binary_tree(4, 8).parent, 0U);
  EXPECT_EQ(in_binary_tree(4, 8).left, 2U);
  EXPECT_EQ(in_binary_tree(4, 8).right, 6U);
  EXPECT_EQ(in_binary_tree(6, 8).left, 5U);
  EXPECT_EQ(in_binary_tree(7, 8).parent, 6U);
}

TEST(BinaryTree, IsATreeForEverySize) {
  for (std::uint32_t n = 1; n <= 300; ++n) {
    std::uint32_t edges = 0;
    for (std::uint32_t member = 0; member < n; ++member) {
      const TreeNeighbours own = in_binary_tree(member, n);
      EXPECT_EQ(own.parent == kNone, member == 0);
      for (const std::uint32_t child : {own.left, own.right}) {
        if (child == kNone) continue;
        ++edges;
        ASSERT_LT(child, n);
        EXPECT_EQ(in_binary_tree(child, n).parent, member) << n;
      }
      if (own.left != kNone) {
        EXPECT_LT(own.left, member);
      }
      if (own.right != kNone) {
        EXPECT_GT(own.right, member);
      }
      if (member % 2 == 1) {
        EXPECT_TRUE(own.left == kNone && own.right == kNone) << "odd members are leaves";
      }
      std::uint32_t depth = 0;
      for (std::uint32_t at = member; at != 0; at = in_binary_tree(at, n).parent) ++depth;
      EXPECT_LE(depth, std::bit_width(n)) << n;
    }
    EXPECT_EQ(edges, n - 1);
  }
}

}  // namespace
}  // namespace weft::binary_tree_test
