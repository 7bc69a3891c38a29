// SPDX-License-Identifier: Apache-2.0
#include "core/containers/fifo.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "core/values/random.hpp"

namespace weft::fifo_test {
namespace {

void expect_same(const Fifo<int>& fifo, const std::deque<int>& oracle) {
  ASSERT_EQ(fifo.size(), oracle.size());
  for (std::uint32_t i = 0; i < fifo.size(); ++i) EXPECT_EQ(fifo[i], oracle[i]);
}

// Copies are of their own from then on.
TEST(Fifo, DoesAsADeque) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, 1, 0);
    Fifo<int> fifo;
    std::deque<int> oracle;
    for (int step = 0; step < 500; ++step) {
      if (random.below(5) < 3 || oracle.empty()) {
        fifo.push(step);
        oracle.push_back(step);
      } else {
        EXPECT_EQ(fifo.front(), oracle.front());
        fifo.pop();
        oracle.pop_front();
      }
      if (random.below(20) != 0) continue;
      Fifo<int> copy = fifo;
      expect_same(copy, oracle);
      copy.push(-1);
      expect_same(fifo, oracle);
      copy = std::move(fifo);
      expect_same(copy, oracle);
      fifo = copy;
    }
    expect_same(fifo, oracle);
  }
}

}  // namespace
}  // namespace weft::fifo_test
