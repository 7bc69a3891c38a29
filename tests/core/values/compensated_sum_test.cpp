// SPDX-License-Identifier: Apache-2.0
#include "core/values/compensated_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

namespace weft::compensated_sum_test {
namespace {

double sum_of(std::initializer_list<double> values) {
  CompensatedSum sum;
  for (const double x : values) sum.add(x);
  return sum.value();
}

TEST(CompensatedSum, ByHand) {
  EXPECT_EQ(CompensatedSum().value(), 0);
  EXPECT_EQ(sum_of({2, 4, 4, 4, 5, 5, 7, 9}), 40);
}

// 1e16 + 1 - 1e16 is 0 in doubles; the compensation keeps the 1, whichever of two comes first.
TEST(CompensatedSum, KeepsWhatASumLoses) {
  EXPECT_EQ(sum_of({1e16, 1, -1e16}), 1);
  EXPECT_EQ(sum_of({1, 1e16, -1e16}), 1);
}

// A tenth is no double: ten million of them come to 999,999.9998 in a plain sum.
TEST(CompensatedSum, IsRightAfterMillions) {
  CompensatedSum sum;
  double plain = 0;
  for (int i = 0; i < 10'000'000; ++i) {
    sum.add(0.1);
    plain += 0.1;
  }
  EXPECT_EQ(sum.value(), 1e6);
  EXPECT_GT(std::abs(plain - 1e6), 1e-5);
}

}  // namespace
}  // namespace weft::compensated_sum_test
