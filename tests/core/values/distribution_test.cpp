// SPDX-License-Identifier: Apache-2.0
#include "core/values/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::distribution_test {
namespace {

/// By definition. Requires: sorted values.
double percentile_of(const std::vector<double>& values, double percent) {
  const double rank = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double low = values[below];
  const double high = values[std::min(below + 1, values.size() - 1)];
  return low + (high - low) * (rank - static_cast<double>(below));
}

// Of 1, 2, 3, 4: rank 0.5 x 3 = 1.5 lies half way between 2 and 3.
TEST(Distribution, InterpolatesBetweenNeighbours) {
  Distribution values;
  for (const double value : {4.0, 1.0, 3.0, 2.0}) values.add(value);
  EXPECT_DOUBLE_EQ(values.percentile(50), 2.5);
  EXPECT_DOUBLE_EQ(values.percentile(0), 1);
  EXPECT_DOUBLE_EQ(values.percentile(100), 4);
  EXPECT_DOUBLE_EQ(values.max(), 4);
  EXPECT_EQ(Distribution().percentile(99), 0);
}

TEST(Distribution, PercentilesByHand) {
  Distribution values;
  for (const double value : {40.0, 10.0, 30.0, 20.0, 50.0}) values.add(value);
  EXPECT_EQ(values.percentile(0), 10.0);
  EXPECT_EQ(values.percentile(50), 30.0);
  EXPECT_EQ(values.percentile(100), 50.0);
  // Rank 0.9 x 4 = 3.6 between 40 and 50.
  EXPECT_NEAR(values.percentile(90), 46.0, 1e-12);
  EXPECT_THROW(values.percentile(101), CheckFailure);
}

TEST(Distribution, AValueThatOccursOftenCountsAsOften) {
  Distribution often;
  often.add(1, 98);
  often.add(10, 2);
  std::vector<double> one_by_one(98, 1);
  one_by_one.insert(one_by_one.end(), 2, 10);
  EXPECT_EQ(often.count(), 100U);
  for (const double percent : {0.0, 50.0, 97.5, 98.0, 99.0, 100.0})
    EXPECT_DOUBLE_EQ(often.percentile(percent), percentile_of(one_by_one, percent)) << percent;
}

// More than are sorted by comparing: both signs, both zeros, and values that come again.
TEST(Distribution, SortsManyOfBothSigns) {
  RandomStream random(7, 0, 1);
  std::vector<double> values = {0.0, -0.0, 1e-310, -1e-310, 1e300, -1e300};
  for (int i = 0; i < 5'000; ++i) {
    const double value = std::exp(20 * random.uniform()) * (random.uniform() < 0.5 ? -1 : 1);
    values.insert(values.end(), 1 + random.below(3), value);
    values.push_back(i % 2 == 0 ? 0.0 : -0.0);
  }
  Distribution all;
  for (const double value : values) all.add(value);
  ASSERT_TRUE(all.is_exact());
  std::sort(values.begin(), values.end());
  for (double percent = 0; percent <= 100; percent += 0.5) EXPECT_EQ(all.percentile(percent), percentile_of(values, percent));
}

// Twice as many values as are kept: within a thousandth of the exact ones, whatever their order.
TEST(Distribution, IsWithinAThousandthWhereItDoesNotKeepAll) {
  RandomStream random(7, 0, 0);
  constexpr std::size_t exact_max = 1 << 14;
  std::vector<double> values(2 * exact_max);
  for (double& value : values) value = std::exp(10 * random.uniform()) * (random.uniform() < 0.25 ? -1 : 1);
  Distribution forward(exact_max);
  Distribution backward(exact_max);
  for (const double value : values) forward.add(value);
  for (auto value = values.rbegin(); value != values.rend(); ++value) backward.add(*value);
  EXPECT_FALSE(forward.is_exact());
  std::sort(values.begin(), values.end());
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    EXPECT_NEAR(forward.percentile(percent) / percentile_of(values, percent), 1, 1e-3) << percent;
    EXPECT_EQ(forward.percentile(percent), backward.percentile(percent)) << percent;
  }
  EXPECT_EQ(forward.max(), *std::ranges::max_element(values));
}

}  // namespace
}  // namespace weft::distribution_test
