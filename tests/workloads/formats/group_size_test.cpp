// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/group_size.hpp"

#include <gtest/gtest.h>

namespace weft::group_size_test {
namespace {

TEST(GroupSize, IsNameAndNumber) {
  EXPECT_EQ(parse_group_size("dp=64"), (GroupSize{"dp", 64}));
  EXPECT_EQ(parse_group_size("a=b=4"), (GroupSize{"a=b", 4}));
  for (const char* text : {"dp", "=4", "dp=", "dp=0", "dp=-1", "dp=4x", "dp=4294967296"})
    EXPECT_FALSE(parse_group_size(text)) << text;
}

}  // namespace
}  // namespace weft::group_size_test
