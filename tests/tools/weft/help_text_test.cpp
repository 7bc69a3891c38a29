// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/help_text.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace weft::help_text_test {
namespace {

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? " " : "") + std::string("word");
  return text;
}

TEST(HelpText, ShortLinesStayAsTheyAre) {
  const std::string text = "Options:\n  -h,--help                   Print this\n\nExamples:\n  weft run a.textproto\n";
  EXPECT_EQ(wrapped_help(text), text);
}

// A description that begins in column 30 goes on in column 30, 10 words of five columns a line.
TEST(HelpText, DescriptionsGoOnBelowTheirBeginning) {
  const std::string begin = "  --set module.param=value    ";
  ASSERT_EQ(begin.size(), 30U);
  EXPECT_EQ(wrapped_help(begin + words(12) + "\n"), begin + words(10) + "\n" + std::string(30, ' ') + words(2) + "\n");
}

TEST(HelpText, ExamplesGoOnBehindABackslash) {
  const std::string text = wrapped_help("  weft run " + words(20) + "\n");
  EXPECT_NE(text.find(" \\\n      word"), std::string::npos) << text;
  EXPECT_LE(longest_line(text), help_columns);
}

TEST(HelpText, ProseIsFilledAnew) {
  const std::string text = wrapped_help(words(20) + "\n" + words(3) + "\n\nEnd\n");
  EXPECT_EQ(text, words(16) + "\n" + words(7) + "\n\nEnd\n");
}

TEST(HelpText, AWordThatIsTooLongStaysWhole) {
  const std::string path(120, 'x');
  EXPECT_EQ(wrapped_help("see " + path + " there\n"), "see\n" + path + "\nthere\n");
}

}  // namespace
}  // namespace weft::help_text_test
