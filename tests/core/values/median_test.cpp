// SPDX-License-Identifier: Apache-2.0
#include "core/values/median.hpp"

#include <gtest/gtest.h>

#include "core/check.hpp"

namespace weft::median_test {

TEST(Median, IsTheMiddleOne) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({1, 1'000, 2, 3, -4}), 2);
}

TEST(Median, OfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({3, 1}), 2);
  EXPECT_EQ(median({8, 2, 100, 4}), 6);
  EXPECT_EQ(median({5, 5, 5, 1}), 5);
}

TEST(Median, OfNothingIsNone) { EXPECT_THROW(median({}), CheckFailure); }

}  // namespace weft::median_test
