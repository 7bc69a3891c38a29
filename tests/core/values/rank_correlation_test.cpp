// SPDX-License-Identifier: Apache-2.0
#include "core/values/rank_correlation.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::rank_correlation_test {

TEST(RankCorrelation, EqualValuesShareTheMeanOfTheirRanks) {
  EXPECT_EQ(ranks_of(std::vector<double>{5, 1, 5, 9}), (std::vector<double>{2.5, 1, 2.5, 4}));
}

TEST(RankCorrelation, SameOrderIsOneAndTheOppositeMinusOne) {
  const std::vector<double> a = {1, 4, 9, 16};
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{0.1, 0.2, 30, 31}), 1.0);
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{4, 3, 2, 1}), -1.0);
}

/// Without ties rho = 1 - 6 sum d^2 / (n (n^2 - 1)); ranks 1 2 3 4 5 against 2 1 4 3 5: d^2 adds up
/// to 4.
TEST(RankCorrelation, IsSpearmansFormulaWithoutTies) {
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{20, 10, 40, 30, 50}),
                   1.0 - 6.0 * 4.0 / (5.0 * 24.0));
}

TEST(RankCorrelation, OneValueHasNoOrder) {
  EXPECT_EQ(rank_correlation(std::vector<double>{3, 3, 3}, std::vector<double>{1, 2, 3}), 0.0);
  EXPECT_EQ(rank_correlation({}, {}), 0.0);
}

}  // namespace weft::rank_correlation_test
