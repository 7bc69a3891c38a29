// SPDX-License-Identifier: Apache-2.0
#include "core/containers/min_heap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "core/values/random.hpp"

namespace weft::min_heap_test {
namespace {

struct Entry {
  std::uint64_t value = 0;
  std::uint64_t order() const { return value; }
};

// Random pushes and pops, of few values, so that many are equal, and of many.
TEST(MinHeap, AgreesWithASet) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    RandomStream random(3, seed, 0);
    const std::uint64_t values = seed % 2 == 0 ? 5 : 1'000'000;
    MinHeap<Entry> heap;
    std::multiset<std::uint64_t> expected;
    for (int step = 0; step < 2000; ++step) {
      // Fills up first, and runs empty at last.
      if (random.below(2000) >= static_cast<std::uint64_t>(step)) {
        const Entry entry{random.below(values)};
        heap.push(entry);
        expected.insert(entry.value);
      } else if (!expected.empty()) {
        ASSERT_EQ(heap.front().value, *expected.begin());
        heap.pop();
        expected.erase(expected.begin());
      }
      ASSERT_EQ(heap.size(), expected.size());
      ASSERT_EQ(heap.entries().size(), expected.size());
      ASSERT_EQ(heap.empty(), expected.empty());
    }
    for (; !expected.empty(); expected.erase(expected.begin())) {
      ASSERT_EQ(heap.front().value, *expected.begin());
      heap.pop();
    }
    EXPECT_TRUE(heap.empty());
    heap.push({7});
    heap.clear();
    EXPECT_TRUE(heap.empty());
  }
}

}  // namespace
}  // namespace weft::min_heap_test
