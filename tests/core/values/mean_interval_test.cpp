// SPDX-License-Identifier: Apache-2.0
#include "core/values/mean_interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "core/values/random.hpp"

namespace weft::mean_interval_test {

// With two values the t distribution has one degree of freedom, the Cauchy distribution, whose
// 97.5 % quantile is tan(0.475 pi) = 12.706; the error of the mean of 1 and 3 is 1.
TEST(MeanInterval, TwoValuesHaveTheCauchyDistributionsQuantile) {
  const std::optional<MeanInterval> interval = mean_interval(std::vector<double>{1, 3});
  EXPECT_DOUBLE_EQ(interval->mean, 2);
  EXPECT_NEAR(*interval->half_width, std::tan(0.475 * std::numbers::pi), 1e-9);
}

TEST(MeanInterval, OneValueHasNoWidthNoneHasNoMeanAndEqualOnesHaveNoWidth) {
  EXPECT_FALSE(mean_interval({}).has_value());
  EXPECT_FALSE(mean_interval(std::vector<double>{5})->half_width.has_value());
  EXPECT_EQ(*mean_interval(std::vector<double>(7, 0.1))->half_width, 0);
}

// Student's sleep data (1908), ten patients under two drugs: means 0.75 and 2.33; t = -1.8608 with
// 17.78 degrees of freedom has p = 0.07939 by Welch, and t = -4.0621 with 9 has p = 0.002833 in
// pairs.
TEST(PValues, StudentsSleepData) {
  const std::vector<double> a = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> b = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  EXPECT_NEAR(*welch_p_value(a, b), 0.07939, 5e-6);
  EXPECT_NEAR(*paired_p_value(a, b), 0.002833, 5e-7);
}

TEST(PValues, WhatDoesNotVaryDiffersForSureOrNotAtAll) {
  const std::vector<double> ones(3, 1.0);
  const std::vector<double> twos(3, 2.0);
  EXPECT_EQ(*welch_p_value(ones, ones), 1);
  EXPECT_EQ(*welch_p_value(ones, twos), 0);
  EXPECT_EQ(*paired_p_value(ones, twos), 0);
  EXPECT_FALSE(welch_p_value(std::vector<double>{1}, std::vector<double>{2}).has_value());
  EXPECT_FALSE(paired_p_value(std::vector<double>{1}, std::vector<double>{2}).has_value());
}

// Of equal distributions one in twenty tests is below 0.05; 2,000 tests have a standard error of
// 0.5 %.
TEST(PValues, AreUniformWhereNothingDiffers) {
  RandomStream random(3, 1, 1);
  const auto draw = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) {
      for (int i = 0; i < 12; ++i) value += random.uniform();
    }
    return values;
  };
  constexpr int tests = 2'000;
  int welch = 0;
  int paired = 0;
  for (int i = 0; i < tests; ++i) {
    welch += *welch_p_value(draw(5), draw(9)) < 0.05 ? 1 : 0;
    paired += *paired_p_value(draw(6), draw(6)) < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(welch / static_cast<double>(tests), 0.05, 0.02);
  EXPECT_NEAR(paired / static_cast<double>(tests), 0.05, 0.02);
}

}  // namespace weft::mean_interval_test
