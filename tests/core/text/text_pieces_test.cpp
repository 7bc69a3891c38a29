// SPDX-License-Identifier: Apache-2.0
#include "core/text/text_pieces.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace weft::text_pieces_test {
namespace {

TEST(TextPieces, TrimmedLosesBlanksAtBothEndsAlone) {
  EXPECT_EQ(trimmed(" a b\t", " \t"), "a b");
  EXPECT_EQ(trimmed(" \t ", " \t"), "");
  EXPECT_EQ(trimmed("", " "), "");
  EXPECT_EQ(trimmed(", a,", " "), ", a,");
}

TEST(TextPieces, PartsEndAtTheNextMark) {
  std::string_view rest = "a;b:;";
  std::vector<std::string> parts;
  while (!rest.empty()) parts.emplace_back(next_part(rest, ";:"));
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "b", ""}));
  std::string_view whole = "no mark";
  EXPECT_EQ(next_part(whole, ";"), "no mark");
  EXPECT_TRUE(whole.empty());
}

}  // namespace
}  // namespace weft::text_pieces_test
