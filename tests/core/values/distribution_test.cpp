#include "core/values/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/values/random.hpp"
#include "core/values/statistics.hpp"

namespace weft::distribution_test {
namespace {

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

TEST(Distribution, AValueThatOccursOftenCountsAsOften) {
  Distribution often;
  often.add(1, 98);
  often.add(10, 2);
  Samples one_by_one;
  for (int i = 0; i < 98; ++i) one_by_one.add(1);
  for (int i = 0; i < 2; ++i) one_by_one.add(10);
  EXPECT_EQ(often.count(), 100U);
  for (const double percent : {0.0, 50.0, 97.5, 98.0, 99.0, 100.0})
    EXPECT_DOUBLE_EQ(often.percentile(percent), one_by_one.percentile(percent)) << percent;
}

// Twice as many values as are kept: within a thousandth of the exact ones, whatever their order.
TEST(Distribution, IsWithinAThousandthWhereItDoesNotKeepAll) {
  RandomStream random(7, 0, 0);
  std::vector<double> values(2 * Distribution::exact_max);
  for (double& value : values) value = std::exp(10 * random.uniform());
  Distribution forward;
  Distribution backward;
  Samples exact;
  for (const double value : values) {
    forward.add(value);
    exact.add(value);
  }
  for (auto value = values.rbegin(); value != values.rend(); ++value) backward.add(*value);
  EXPECT_FALSE(forward.is_exact());
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    EXPECT_NEAR(forward.percentile(percent) / exact.percentile(percent), 1, 1e-3) << percent;
    EXPECT_EQ(forward.percentile(percent), backward.percentile(percent)) << percent;
  }
  EXPECT_EQ(forward.max(), *std::ranges::max_element(values));
}

}  // namespace
}  // namespace weft::distribution_test
