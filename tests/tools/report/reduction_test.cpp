// SPDX-License-Identifier: Apache-2.0
// Reduction: what a picture shows of a long series is true of all of it.
#include "tools/report/reduction.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace weft::reduction_test {
namespace {

TEST(Reduction, QuantilesAreOfAllValuesByTheirWeights) {
  WeightedValues values;
  for (int i = 100; i >= 1; --i) values.add(i);
  // Half of 1 .. 100 is 50 and less, 99 of 100 are 99 and less.
  EXPECT_EQ(values.quantile(0.5), 50);
  EXPECT_EQ(values.quantile(0.99), 99);
  EXPECT_EQ(values.quantile(0), 1);
  EXPECT_EQ(values.quantile(1), 100);
  // As many again at 1000 are half of the weight.
  values.add(1000, 100);
  EXPECT_EQ(values.quantile(0.5), 100);
  EXPECT_EQ(values.quantile(0.51), 1000);
  EXPECT_EQ(values.weight(), 200);
}

TEST(Reduction, ADistributionRisesFromTheSmallestToTheLargest) {
  WeightedValues values;
  for (int i = 0; i < 100'000; ++i) values.add((i * 7919) % 100'000);
  const std::vector<std::pair<double, double>> points = values.distribution(200);
  EXPECT_LE(points.size(), 205U);
  EXPECT_EQ(points.front().first, 0);
  EXPECT_EQ(points.back(), std::pair(99'999.0, 1.0));
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_LT(points[i - 1].first, points[i].first);
    EXPECT_LT(points[i - 1].second, points[i].second);
    // Of the whole numbers below 100,000, `share` of all are below share x 100,000.
    EXPECT_NEAR(points[i].first, points[i].second * 100'000, 1 + 1e-6);
  }
}

TEST(Reduction, EqualValuesAreOnePoint) {
  WeightedValues values;
  for (int i = 0; i < 10; ++i) values.add(3);
  EXPECT_EQ(values.distribution(200), (std::vector{std::pair(3.0, 1.0)}));
}

TEST(Reduction, StepMeansKeepTheIntegral) {
  // 4 from 0 to 1, 0 until 2.5, 2 until 4: the integral is 4 + 0 + 3 = 7.
  const std::vector<double> times = {0, 1, 2.5};
  const std::vector<double> values = {4, 0, 2};
  EXPECT_EQ(step_means(times, values, 0, 4, 1), std::vector<double>{1.75});
  EXPECT_EQ(step_means(times, values, 0, 4, 4), (std::vector<double>{4, 0, 1, 2}));
  double sum = 0;
  for (const double mean : step_means(times, values, 0, 4, 7)) sum += mean * (4.0 / 7.0);
  EXPECT_NEAR(sum, 7, 1e-12);
}

TEST(Reduction, KeepsEveryKth) {
  EXPECT_EQ(which_to_keep(3, 5), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(which_to_keep(10, 5), (std::vector<std::size_t>{0, 2, 4, 6, 8}));
  // 11 of at most 5: every third.
  EXPECT_EQ(which_to_keep(11, 5), (std::vector<std::size_t>{0, 3, 6, 9}));
  EXPECT_TRUE(which_to_keep(0, 5).empty());
}

}  // namespace
}  // namespace weft::reduction_test
