// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_parameter.hpp"

#include <gtest/gtest.h>

#include "core/check.hpp"

namespace weft::fit_parameter_test {

using Scale = FitParameter::Scale;

TEST(FitParameter, PlacesAreShares) {
  const FitParameter linear{"a", 10, 20, 10, Scale::linear, 0};
  EXPECT_DOUBLE_EQ(place_of(linear, 12.5), 0.25);
  EXPECT_DOUBLE_EQ(value_at(linear, 0.25), 12.5);
  // 1 to 10,000 on a logarithmic scale: 100 is half way.
  const FitParameter logarithmic{"b", 1, 10'000, 1, Scale::logarithmic, 0};
  EXPECT_DOUBLE_EQ(place_of(logarithmic, 100), 0.5);
  EXPECT_NEAR(value_at(logarithmic, 0.5), 100, 1e-12);
}

TEST(FitParameter, ValuesAreMultiplesOfTheGrainWithinTheRange) {
  const FitParameter whole{"a", 1, 6, 1, Scale::linear, 1};
  EXPECT_EQ(value_at(whole, 0.29), 2);  // 2.45
  EXPECT_EQ(value_at(whole, 0.31), 3);  // 2.55
  EXPECT_EQ(value_at(whole, -0.5), 1);
  EXPECT_EQ(value_at(whole, 1.5), 6);
  const FitParameter off_grain{"b", 0.5, 2.4, 1, Scale::linear, 1};
  EXPECT_EQ(value_at(off_grain, 0.001), 1);
  EXPECT_EQ(value_at(off_grain, 0), 0.5);
}

TEST(FitParameter, RangesHoldTheirStart) {
  EXPECT_THROW(check_fit_parameter({"a", 2, 1, 1, Scale::linear, 0}), CheckFailure);
  EXPECT_THROW(check_fit_parameter({"a", 0, 1, 0.5, Scale::logarithmic, 0}), CheckFailure);
  EXPECT_THROW(check_fit_parameter({"a", 0, 1, 2, Scale::linear, 0}), CheckFailure);
  EXPECT_THROW(check_fit_parameter({"a", 0, 1, 0, Scale::linear, 2}), CheckFailure);
}

}  // namespace weft::fit_parameter_test
