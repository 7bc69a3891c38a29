// SPDX-License-Identifier: Apache-2.0
#include "core/text/log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::log_test {
namespace {

TEST(Log, DefaultSaysNothing) {
  const Log log;
  EXPECT_FALSE(log.wants(LogLevel::error));
  log.error("nobody hears this");
}

TEST(Log, FunctionReceivesWhatIsImportantEnough) {
  std::vector<std::pair<LogLevel, std::string>> received;
  const Log log =
      Log::to_function([&](LogLevel level, std::string_view message) { received.emplace_back(level, message); }, LogLevel::info);
  EXPECT_TRUE(log.wants(LogLevel::info));
  EXPECT_FALSE(log.wants(LogLevel::debug));
  const Log copy = log;
  log.debug("small");
  log.info("first {} is text, not a format");
  copy.warning("second");
  copy.error("third");
  ASSERT_EQ(received.size(), 3U);
  EXPECT_EQ(received[0], std::make_pair(LogLevel::info, std::string("first {} is text, not a format")));
  EXPECT_EQ(received[1], std::make_pair(LogLevel::warning, std::string("second")));
  EXPECT_EQ(received[2], std::make_pair(LogLevel::error, std::string("third")));
}

}  // namespace
}  // namespace weft::log_test
