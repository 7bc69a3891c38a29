// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/host_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft::host_list_test {
namespace {

std::vector<std::uint32_t> numbers(const std::string& text) {
  std::vector<std::uint32_t> result;
  for (const HostId host : parse_host_list("hosts", text, 16, SourcePlace::named("test"))) result.push_back(host.index());
  return result;
}

// Results call hosts host3, and scenarios write numbers: both are read.
TEST(HostList, NamesAndNumbersAreTheSame) {
  EXPECT_EQ(numbers("host3"), numbers("3"));
  EXPECT_EQ(numbers("host0-2,host9"), (std::vector<std::uint32_t>{0, 1, 2, 9}));
  EXPECT_EQ(numbers("host0-host2,5"), (std::vector<std::uint32_t>{0, 1, 2, 5}));
}

TEST(HostList, RefusesWhatIsNoHost) {
  for (const char* const text : {"", "host", "host16", "hosts3", "leaf0", "hosthost1"})
    EXPECT_THROW(numbers(text), InputError) << text;
}

}  // namespace
}  // namespace weft::host_list_test
