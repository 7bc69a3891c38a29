// SPDX-License-Identifier: Apache-2.0
// Loads of experts.
#include "workloads/models/transformer_model.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace weft::transformer_model_test {

TEST(ExpertLoads, HaveTheGiniCoefficient) {
  for (const double gini : {0.05, 0.2, 0.5, 0.8}) {
    for (const std::uint64_t experts : {8, 64, 256}) {
      const std::vector<double> loads = loads_with_gini(experts, gini);
      EXPECT_NEAR(gini_of(loads), gini, 1e-9) << experts;
      EXPECT_NEAR(std::accumulate(loads.begin(), loads.end(), 0.0), 1.0, 1e-12);
      EXPECT_TRUE(std::is_sorted(loads.rbegin(), loads.rend()));
    }
  }
}

TEST(ExpertLoads, OfGiniZeroAreEven) {
  for (const double load : loads_with_gini(8, 0.0)) EXPECT_NEAR(load, 0.125, 1e-12);
}

TEST(ExpertLoads, GiniOfLoadsByHand) {
  // One of four has all: the mean absolute difference of all 16 ordered pairs is 6 / 16, the mean
  // 1 / 4.
  EXPECT_DOUBLE_EQ(gini_of({1, 0, 0, 0}), 6.0 / 16 / (2 * 0.25));
  EXPECT_DOUBLE_EQ(gini_of({3, 1}), 0.25);
}

}  // namespace weft::transformer_model_test
