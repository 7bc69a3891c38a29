// SPDX-License-Identifier: Apache-2.0
#include "core/text/name_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::name_pattern_test {
namespace {

TEST(NamePattern, StarsAndQuestionMarksStandForLetters) {
  EXPECT_TRUE(matches_pattern("leaf3", "leaf3"));
  EXPECT_FALSE(matches_pattern("leaf3", "leaf31"));
  EXPECT_TRUE(matches_pattern("leaf*", "leaf"));
  EXPECT_TRUE(matches_pattern("*/spine?", "site1/spine4"));
  EXPECT_FALSE(matches_pattern("*/spine?", "site1/spine14"));
  EXPECT_TRUE(matches_pattern("leaf[02]", "leaf2"));
  EXPECT_FALSE(matches_pattern("", "leaf"));
}

// A matcher that tries every way would take more steps here than there are atoms.
TEST(NamePattern, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  EXPECT_FALSE(matches_pattern(pattern + "b", std::string(60, 'a')));
}

}  // namespace
}  // namespace weft::name_pattern_test
