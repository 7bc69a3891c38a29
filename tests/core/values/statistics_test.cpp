#include "core/values/statistics.hpp"

#include <gtest/gtest.h>

#include "core/check.hpp"

namespace weft::statistics_test {
namespace {

TEST(Accumulator, ByHand) {
  Accumulator accumulator;
  for (const double x : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) accumulator.add(x);
  EXPECT_EQ(accumulator.count(), 8U);
  EXPECT_EQ(accumulator.sum(), 40.0);
  EXPECT_EQ(accumulator.mean(), 5.0);
  EXPECT_EQ(accumulator.min(), 2.0);
  EXPECT_EQ(accumulator.max(), 9.0);
  // Squared distances 9+1+1+1+0+0+4+16 = 32; 32/8 = 4.
  EXPECT_NEAR(accumulator.standard_deviation(), 2.0, 1e-15);
}

TEST(Accumulator, NothingIsZero) {
  const Accumulator accumulator;
  EXPECT_EQ(accumulator.mean(), 0.0);
  EXPECT_EQ(accumulator.min(), 0.0);
  EXPECT_EQ(accumulator.max(), 0.0);
  EXPECT_EQ(accumulator.standard_deviation(), 0.0);
}

// 1e16 + 1 - 1e16 is 0 in doubles; the compensation keeps the 1.
TEST(Accumulator, SumIsCompensated) {
  Accumulator accumulator;
  for (const double x : {1e16, 1.0, -1e16}) accumulator.add(x);
  EXPECT_EQ(accumulator.sum(), 1.0);
}

TEST(Samples, PercentilesByHand) {
  Samples samples;
  EXPECT_EQ(samples.percentile(50), 0.0);
  for (const double x : {40.0, 10.0, 30.0, 20.0, 50.0}) samples.add(x);
  EXPECT_EQ(samples.percentile(0), 10.0);
  EXPECT_EQ(samples.percentile(50), 30.0);
  EXPECT_EQ(samples.percentile(100), 50.0);
  // Rank 0.9 x 4 = 3.6 between 40 and 50.
  EXPECT_NEAR(samples.percentile(90), 46.0, 1e-12);
  EXPECT_EQ(samples.values()[0], 40.0);
  EXPECT_EQ(samples.summary().mean(), 30.0);
  EXPECT_THROW(samples.percentile(101), CheckFailure);
}

}  // namespace
}  // namespace weft::statistics_test
