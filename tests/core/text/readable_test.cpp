// SPDX-License-Identifier: Apache-2.0
#include "core/text/readable.hpp"

#include <gtest/gtest.h>

namespace weft::readable_test {
namespace {

TEST(Readable, TimesHaveFourDigitsAndTheUnitThatSuitsThem) {
  EXPECT_EQ(readable(0), "0 ns");
  EXPECT_EQ(readable(1.25e-5), "12.5 us");
  EXPECT_EQ(readable(0.0123456), "12.35 ms");
  EXPECT_EQ(readable(599), "599 s");
  EXPECT_EQ(readable(600), "10 min");
  EXPECT_EQ(readable(3600), "1 h");
}

// 124,000,000 s are 34,444.4 h: nobody reads 3.444e+04.
TEST(Readable, LargeFiguresHaveNoExponent) {
  EXPECT_EQ(readable(124e6), "34444 h");
  EXPECT_EQ(readable(9999.4 * 3600), "9999 h");
  EXPECT_EQ(readable(9999.6 * 3600), "10000 h");
  EXPECT_EQ(readable_gpu_time(35'999), "35999 GPU-s");
  EXPECT_EQ(readable_gpu_time(2.1e7 * 3600), "21000000 GPU-h");
  EXPECT_EQ(readable_bytes(5.234e9), "5.234 GB");
  EXPECT_EQ(readable_bytes(2.1e13), "21 TB");
}

TEST(Readable, SharesHaveOneDecimal) {
  EXPECT_EQ(readable_share(0.1234), "12.3 %");
  EXPECT_EQ(readable_share(1), "100.0 %");
  EXPECT_EQ(readable_share(-0.02), "-2.0 %");
}

}  // namespace
}  // namespace weft::readable_test
