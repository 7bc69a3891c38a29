// SPDX-License-Identifier: Apache-2.0
#include "core/containers/release_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::release_memory_test {
namespace {

TEST(ReleaseMemory, LeavesNone) {
  std::vector<double> numbers(1000);
  // What the helper is for: these keep it.
  numbers = {};
  EXPECT_GE(numbers.capacity(), 1000U);
  release_memory(numbers);
  EXPECT_EQ(numbers.capacity(), 0U);
  EXPECT_TRUE(numbers.empty());
}

}  // namespace
}  // namespace weft::release_memory_test
