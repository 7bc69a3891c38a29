// SPDX-License-Identifier: Apache-2.0
// Flags that take whole numbers take nothing else: no sign, no blank, nothing beyond their type, no
// octal by a leading zero.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/weft/commands.hpp"

namespace weft::numeric_flags_test {
namespace {

struct Answer {
  int status = 0;
  std::string errors;
};

Answer weft_with(std::vector<std::string> words) {
  words.insert(words.begin(), "weft");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStderr();
  const int status = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  return {status, testing::internal::GetCapturedStderr()};
}

struct NumericFlag {
  std::vector<std::string> command;
  std::string flag;
  std::string least;
  std::string most;
};

// Each is refused while the command line is read, before any file is looked for.
const std::vector<NumericFlag>& numeric_flags() {
  static const std::vector<NumericFlag> flags = {
      {{"run", "none.textproto"}, "--seed", "0", "18446744073709551615"},
      {{"run", "none.textproto"}, "--threads", "1", "1024"},
      {{"run", "none.textproto"}, "--fast-forward", "0", "18446744073709551615"},
      {{"run", "none.textproto"}, "--iterations", "1", "18446744073709551615"},
      {{"run", "none.textproto"}, "--hosts", "1", "4294967295"},
      {{"run", "none.textproto"}, "--gpus-per-host", "1", "4294967295"},
      {{"run", "none.textproto"}, "--ranks", "1", "4294967295"},
      {{"run", "none.textproto"}, "--iteration", "0", "4294967295"},
      {{"workload", "show", "none.et:chakra"}, "--ranks", "1", "4294967295"},
      {{"jobs", "make", "--template=none"}, "--seed", "0", "18446744073709551615"},
      {{"predict", "none.textproto", "--drain=a"}, "--threads", "0", "1024"},
      {{"topology", "partition", "none.textproto"}, "--lps", "1", "4294967295"},
  };
  return flags;
}

TEST(NumericFlags, RefuseWhatIsNoNumberOfTheirs) {
  for (const NumericFlag& one : numeric_flags()) {
    for (const char* text :
         {"-1", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "0b1", "1_000", "one", "18446744073709551616", "99999999999999999999999"}) {
      std::vector<std::string> words = one.command;
      words.push_back(one.flag + "=" + text);
      const Answer answer = weft_with(words);
      EXPECT_EQ(answer.status, exit_input) << one.flag << "=" << text;
      EXPECT_NE(
          answer.errors.find(one.flag + ": \"" + text + "\" is no whole number from " + one.least + " to " + one.most + " [usage]"),
          std::string::npos)
          << answer.errors;
    }
  }
}

TEST(NumericFlags, TakeTheEndsOfTheirRangesAndNotTheNextNumber) {
  for (const NumericFlag& one : numeric_flags()) {
    const auto is_refused = [&](const std::string& text) {
      std::vector<std::string> words = one.command;
      words.push_back(one.flag + "=" + text);
      return weft_with(words).errors.find(" is no whole number ") != std::string::npos;
    };
    EXPECT_FALSE(is_refused(one.least)) << one.flag;
    EXPECT_FALSE(is_refused("000" + one.least)) << one.flag;
    EXPECT_FALSE(is_refused(one.most)) << one.flag;
    EXPECT_EQ(is_refused("0"), one.least == "1") << one.flag;
    const bool is_widest = one.most == "18446744073709551615";
    EXPECT_TRUE(is_refused(is_widest ? "18446744073709551616" : std::to_string(std::stoull(one.most) + 1))) << one.flag;
  }
}

}  // namespace
}  // namespace weft::numeric_flags_test
