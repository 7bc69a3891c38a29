// SPDX-License-Identifier: Apache-2.0
// Golden texts of diagnostics.
#include "core/text/diagnostics.hpp"

#include <gtest/gtest.h>

#include "core/check.hpp"

namespace weft::diagnostics_test {
namespace {

SourcePlace place_at(int line, int column, int length, std::string_view line_text) {
  SourcePlace place;
  place.file = "cluster.textproto";
  place.line = line;
  place.column = column;
  place.length = length;
  place.show(line_text);
  return place;
}

TEST(Diagnostic, FullText) {
  const Diagnostic diagnostic{Severity::error, "unknown-op", "op \"ar_7\" depends on unknown op \"bwd_06\"",
                              place_at(41, 11, 8, "    deps: \"bwd_06\""), "did you mean \"bwd_6\"? it is defined at line 33"};
  EXPECT_EQ(diagnostic.to_text(),
            "cluster.textproto:41:11: error: op \"ar_7\" depends on unknown op \"bwd_06\" [unknown-op]\n"
            "   41 |     deps: \"bwd_06\"\n"
            "      |           ^~~~~~~~\n"
            "  help: did you mean \"bwd_6\"? it is defined at line 33\n");
}

TEST(Diagnostic, WholeFileAndWholeLine) {
  Diagnostic diagnostic{Severity::warning, "odd", "something is odd", place_at(0, 0, 1, ""), ""};
  EXPECT_EQ(diagnostic.to_text(), "cluster.textproto: warning: something is odd [odd]\n");
  diagnostic.place = place_at(3, 0, 1, "abc");
  EXPECT_EQ(diagnostic.to_text(), "cluster.textproto:3: warning: something is odd [odd]\n    3 | abc\n");
}

TEST(Diagnostic, CaretPastTheEndOfTheLine) {
  const Diagnostic diagnostic{Severity::error, "short", "the line ends too early", place_at(7, 4, 5, "a b"), ""};
  EXPECT_EQ(diagnostic.to_text(),
            "cluster.textproto:7:4: error: the line ends too early [short]\n"
            "    7 | a b\n"
            "      |    ^\n");
}

TEST(Diagnostic, TabsAndBytesThatDoNotPrint) {
  const Diagnostic diagnostic{Severity::error, "bytes", "bad byte \x01", place_at(1, 3, 1, "\t\xff!\x1b[31m"), ""};
  EXPECT_EQ(diagnostic.to_text(),
            "cluster.textproto:1:3: error: bad byte \\x01 [bytes]\n"
            "    1 |  \\xff!\\x1b[31m\n"
            "      |      ^\n");
}

// Columns count bytes, but the caret stands below the character: letters with several bytes take
// one place on the screen.
TEST(Diagnostic, CaretStandsBelowTheCharacterAfterUtf8) {
  const Diagnostic diagnostic{Severity::error, "x", "m", place_at(1, 8, 3, "\"\xc3\xa4\xc3\xb6\" : bad"), ""};
  EXPECT_EQ(diagnostic.to_text(),
            "cluster.textproto:1:8: error: m [x]\n"
            "    1 | \"\xc3\xa4\xc3\xb6\" : bad\n"
            "      |      ^~~\n");
}

TEST(Diagnostic, AVeryLongLineIsShownAsAWindow) {
  const std::string line = std::string(1000, 'a') + "HERE" + std::string(1000, 'b');
  const Diagnostic diagnostic{Severity::error, "x", "m", place_at(2, 1001, 4, line), ""};
  EXPECT_EQ(diagnostic.to_text(), "cluster.textproto:2:1001: error: m [x]\n    2 | " + std::string(60, 'a') + "HERE" +
                                      std::string(56, 'b') + "\n      | " + std::string(60, ' ') + "^~~~\n");
}

TEST(Diagnostics, CollectsAndThrowsTogether) {
  Diagnostics diagnostics;
  diagnostics.throw_if_errors();
  diagnostics.warning("w", "only a warning", place_at(1, 1, 1, "x"));
  diagnostics.throw_if_errors();
  EXPECT_FALSE(diagnostics.has_errors());
  diagnostics.error("a", "first", place_at(1, 1, 1, "x"));
  diagnostics.error("b", "second", place_at(2, 1, 1, "y"), "help");
  EXPECT_EQ(diagnostics.error_count(), 2U);
  try {
    diagnostics.throw_if_errors();
    FAIL() << "there are errors";
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 3U);
    EXPECT_EQ(error.diagnostics()[2].code, "b");
    EXPECT_NE(std::string(error.what()).find("first [a]"), std::string::npos);
  }
}

TEST(Diagnostics, KeepsTwentyErrorsAndCountsTheRest) {
  Diagnostics diagnostics;
  for (int i = 0; i < 25; ++i) diagnostics.error("e", "error " + std::to_string(i), place_at(i + 1, 0, 1, ""));
  EXPECT_EQ(diagnostics.error_count(), 25U);
  try {
    diagnostics.throw_if_errors();
    FAIL() << "there are errors";
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 21U);
    EXPECT_EQ(error.diagnostics().back().to_text(),
              "cluster.textproto: error: 5 more errors are not shown [too-many-errors]\n"
              "  help: mend the errors above and check again\n");
  }
}

// The closing line of a report was counted as one more error of the report that took it in: 300
// mistakes became 21.
TEST(Diagnostics, CountWhatAnotherReportLeftOut) {
  Diagnostics inner;
  for (int i = 0; i < 300; ++i) inner.error("e", "error " + std::to_string(i), place_at(i + 1, 0, 1, ""));
  Diagnostics outer;
  outer.error("f", "another", place_at(1, 0, 1, ""));
  try {
    inner.throw_if_errors();
    FAIL() << "there are errors";
  } catch (const InputError& error) {
    for (const Diagnostic& one : error.diagnostics()) outer.add(one);
  }
  EXPECT_EQ(outer.error_count(), 301U);
  try {
    outer.throw_if_errors();
    FAIL() << "there are errors";
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 21U);
    EXPECT_EQ(error.diagnostics()[19].message, "error 18");
    EXPECT_EQ(error.diagnostics()[20].message, "281 more errors are not shown");
  }
}

TEST(InQuotes, CutsWhatNobodyWouldRead) {
  EXPECT_EQ(in_quotes("dp"), "\"dp\"");
  const std::string longest(quoted_length_max, 'x');
  EXPECT_EQ(in_quotes(longest), '"' + longest + '"');
  EXPECT_EQ(in_quotes(longest + "y"), '"' + longest + "...\"");
  // Never inside a character: the last byte that would fit is the first of two.
  EXPECT_EQ(in_quotes(longest.substr(1) + "\xc3\xa9" + "y"), '"' + longest.substr(1) + "...\"");
}

TEST(Suggestion, ClosestOrList) {
  const std::vector<std::string> names = {"fat_tree", "clos", "rail_optimized"};
  EXPECT_EQ(closest("fat_tre", names), "fat_tree");
  EXPECT_EQ(closest("dragonfly", names), "");
  EXPECT_EQ(suggestion("cl0s", names, "topology"), "did you mean \"clos\"?");
  EXPECT_EQ(suggestion("dragonfly", names, "topology"), "known: fat_tree, clos, rail_optimized");
  EXPECT_EQ(suggestion("x", {}, "topology"), "no topology is known here");
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i) many.push_back("some_long_name_" + std::to_string(100 + i));
  EXPECT_NE(suggestion("y", many, "name").find(", and 4 more"), std::string::npos);
}

TEST(Check, SaysWhatWasExpectedAndWhere) {
  try {
    WEFT_CHECK(1 + 1 == 3, "one and one is three");
    FAIL() << "the check fails";
  } catch (const CheckFailure& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("diagnostics_test.cpp:"), std::string::npos);
    EXPECT_NE(text.find("check failed: one and one is three (1 + 1 == 3)"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::diagnostics_test
