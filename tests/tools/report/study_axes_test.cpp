// SPDX-License-Identifier: Apache-2.0
// Values of settings on an axis: quantities by their size, other texts as they come.
#include "tools/report/study_axes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::study_axes_test {
namespace {

using Texts = std::vector<std::string>;

TEST(StudyAxes, QuantitiesOfOneKindAreSortedBySize) {
  const ChartedValues times = charted({"6us", "900ns", "1ms", "6us"});
  EXPECT_EQ(times.values, (Texts{"900ns", "6us", "1ms"}));
  EXPECT_EQ(times.unit, "s");
  EXPECT_DOUBLE_EQ(times.position_of("6us"), 6e-6);
  EXPECT_EQ(charted({"1MB", "400kB"}).values, (Texts{"400kB", "1MB"}));
  EXPECT_EQ(charted({"1MB", "400kB"}).unit, "bytes");
  EXPECT_EQ(charted({"1Tbps", "400Gbps"}).numbers, (std::vector<double>{4e11, 1e12}));
  EXPECT_EQ(charted({"10", "9", "1e1"}).values, (Texts{"9", "10", "1e1"}));
}

TEST(StudyAxes, OtherTextsAreCategoriesInTheirOrder) {
  const ChartedValues mixed = charted({"packet", "flow", "1us", "packet"});
  EXPECT_EQ(mixed.values, (Texts{"packet", "flow", "1us"}));
  EXPECT_TRUE(mixed.numbers.empty());
  EXPECT_EQ(mixed.position_of("1us"), 2);
  // A size and a time have no order.
  EXPECT_TRUE(charted({"1us", "1MB"}).numbers.empty());
}

}  // namespace
}  // namespace weft::study_axes_test
