// SPDX-License-Identifier: Apache-2.0
#include "core/engine/load_balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/values/random.hpp"

namespace weft::load_balance_test {
namespace {

using Loads = std::vector<std::uint64_t>;
using Workers = std::vector<std::uint32_t>;

TEST(LoadBalance, BlocksKeepNeighboursTogether) {
  EXPECT_EQ(deal_in_blocks(Loads{1, 1, 1, 1, 1, 1}, 2), (Workers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(deal_in_blocks(Loads{1, 1, 1, 1, 1, 1}, 3), (Workers{0, 0, 1, 1, 2, 2}));
  // The heavy one fills the first worker's half.
  EXPECT_EQ(deal_in_blocks(Loads{4, 1, 1, 1, 1}, 2), (Workers{0, 1, 1, 1, 1}));
  EXPECT_EQ(deal_in_blocks(Loads{5}, 1), (Workers{0}));
}

TEST(LoadBalance, LongestProcessingTimeFirstByHand) {
  // 7 -> 0; 6 -> 1; 5 -> 1 (11); 4 -> 0 (11); 3 -> 0 (14, tie to the smaller worker); 2 -> 1 (13).
  EXPECT_EQ(deal_by_load(Loads{7, 6, 5, 4, 3, 2}, 2), (Workers{0, 1, 1, 0, 0, 1}));
}

TEST(LoadBalance, IdleProcessesAreSpread) {
  const Workers workers = deal_by_load(Loads(8, 0), 4);
  for (std::uint32_t worker = 0; worker < 4; ++worker) EXPECT_EQ(std::count(workers.begin(), workers.end(), worker), 2);
}

// Graham's bound: at most 4/3 - 1/(3m) of the optimum, which is at least the mean and at least the
// largest load.
TEST(LoadBalance, StaysWithinGrahamsBound) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, 0, 0);
    const auto worker_count = static_cast<std::uint32_t>(1 + random.below(8));
    Loads load(worker_count + random.below(40));
    for (std::uint64_t& l : load) l = 1 + random.below(1000);
    const Workers workers = deal_by_load(load, worker_count);
    Loads sums(worker_count, 0);
    for (std::size_t i = 0; i < load.size(); ++i) sums[workers[i]] += load[i];
    const double largest = static_cast<double>(*std::max_element(sums.begin(), sums.end()));
    const double total = static_cast<double>(std::accumulate(load.begin(), load.end(), std::uint64_t{0}));
    // Longest first ends at most (1 - 1/m) of the last load above the mean; the last load is no
    // larger than the largest.
    const double bound =
        total / worker_count + (1 - 1.0 / worker_count) * static_cast<double>(*std::max_element(load.begin(), load.end()));
    EXPECT_LE(largest, bound + 1e-9);
    EXPECT_NEAR(imbalance(load, workers, worker_count), largest / (total / worker_count) - 1, 1e-12);
  }
}

TEST(LoadBalance, NothingIsBalanced) { EXPECT_EQ(imbalance(Loads{0, 0}, Workers{0, 0}, 2), 0.0); }

}  // namespace
}  // namespace weft::load_balance_test
