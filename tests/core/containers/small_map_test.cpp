// SPDX-License-Identifier: Apache-2.0
#include "core/containers/small_map.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/values/random.hpp"

namespace weft::small_map_test {
namespace {

TEST(SmallMap, HasNothingAtFirst) {
  SmallMap<std::uint32_t> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(7), nullptr);
  map.erase(7);
  map.clear();
  EXPECT_EQ(map.size(), 0U);
}

// Few keys meet often, many let it grow; what is erased lies before, at and behind others of its
// chain.
TEST(SmallMap, DoesAsAnUnorderedMap) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, 0, 0);
    SmallMap<std::uint64_t> map;
    std::unordered_map<std::uint32_t, std::uint64_t> oracle;
    const std::uint64_t keys = std::uint64_t{4} << random.below(9);
    for (int step = 0; step < 4000; ++step) {
      const auto key = static_cast<std::uint32_t>(random.below(keys) * (seed % 3 == 0 ? 0x01000193U : 1U));
      switch (random.below(20)) {
        case 0:
          if (random.below(10) == 0) {
            map.clear();
            oracle.clear();
          }
          break;
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
          map.erase(key);
          oracle.erase(key);
          break;
        default:
          EXPECT_EQ(map[key], oracle[key]);
          map[key] += static_cast<std::uint64_t>(step);
          oracle[key] += static_cast<std::uint64_t>(step);
          break;
      }
      ASSERT_EQ(map.size(), oracle.size());
      const auto asked = static_cast<std::uint32_t>(random.below(keys));
      const auto known = oracle.find(asked);
      const std::uint64_t* const found = map.find(asked);
      ASSERT_EQ(found == nullptr, known == oracle.end());
      if (found != nullptr) {
        ASSERT_EQ(*found, known->second);
      }
    }
  }
}

TEST(SmallMap, CopiesAreOfTheirOwn) {
  SmallMap<std::uint32_t> map;
  const SmallMap<std::uint32_t> none = map;
  EXPECT_TRUE(none.empty());
  for (std::uint32_t key = 0; key < 50; ++key) map[key * 3] = key;
  SmallMap<std::uint32_t> copy = map;
  copy[3] = 77;
  copy.erase(6);
  EXPECT_EQ(*map.find(3), 1U);
  EXPECT_EQ(*map.find(6), 2U);
  EXPECT_EQ(*copy.find(147), 49U);
  map = std::move(copy);
  EXPECT_EQ(map.size(), 49U);
  EXPECT_EQ(*map.find(3), 77U);
}

}  // namespace
}  // namespace weft::small_map_test
