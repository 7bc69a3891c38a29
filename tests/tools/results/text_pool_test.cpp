// SPDX-License-Identifier: Apache-2.0
#include "tools/results/text_pool.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::text_pool_test {
namespace {

struct Row {
  std::string_view name;
  std::string_view place;
};

TEST(TextPool, EqualTextsHaveOneAddress) {
  TextPool pool;
  const std::string first = "leaf0";
  const std::string second = "leaf0";
  ASSERT_NE(first.data(), second.data());
  EXPECT_EQ(pool.keep(first).data(), pool.keep(second).data());
  EXPECT_NE(pool.keep("leaf1").data(), pool.keep(first).data());
}

// One buffer that holds another text each time, and thousands of texts more than are remembered by
// their address: the pool goes by what a text says.
TEST(TextPool, TextsOutliveWhereTheyCameFrom) {
  TextPool pool;
  std::string buffer;
  std::vector<std::string_view> kept;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) {
      buffer = "host" + std::to_string(i);
      kept.push_back(pool.keep(buffer));
    }
  }
  buffer = "gone";
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i], "host" + std::to_string(i % 5000));
    EXPECT_EQ(kept[i].data(), kept[i % 5000].data());
  }
}

TEST(TextPool, KeepsTheNamesOfARow) {
  TextPool pool;
  std::string name = "a";
  Row row{name, {}};
  pool.keep_names(row, &Row::name, &Row::place);
  name = "b";
  EXPECT_EQ(row.name, "a");
  EXPECT_EQ(row.place, "");
  pool.clear();
  EXPECT_EQ(pool.keep(name), "b");
}

}  // namespace
}  // namespace weft::text_pool_test
