// SPDX-License-Identifier: Apache-2.0
#include "core/text/placeholder.hpp"

#include <gtest/gtest.h>

namespace weft::placeholder_test {

TEST(Placeholder, IsReplacedWhereverItStands) {
  EXPECT_EQ(with_placeholder("{date}/fct-{date}.csv", "{date}", "2026-01-31"), "2026-01-31/fct-2026-01-31.csv");
  EXPECT_EQ(with_placeholder("fct.csv", "{date}", "2026-01-31"), "fct.csv");
  EXPECT_EQ(with_placeholder("", "{date}", "2026-01-31"), "");
}

TEST(Placeholder, IsNotLookedForInWhatWasPutIn) { EXPECT_EQ(with_placeholder("{a}{a}", "{a}", "<{a}>"), "<{a}><{a}>"); }

}  // namespace weft::placeholder_test
