// SPDX-License-Identifier: Apache-2.0
#include "host/across/across_places.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/values/random.hpp"

namespace weft::across_places_test {
namespace {

TEST(AcrossPlaces, FindsTheEndsOfMessages) {
  RandomStream random(33, 5, 0);
  for (const std::uint32_t stride : {1U, 8U, 64U, 4096U}) {
    for (const std::uint32_t count : {2U, 3U, 64U, 781U}) {
      std::vector<NodeId> endpoints;
      for (std::uint32_t rank = 0; rank < count; ++rank) endpoints.emplace_back(17 + stride * rank);
      std::vector<RankId> ranks;
      for (std::uint32_t rank = 0; rank < count; ++rank) ranks.emplace_back(rank);
      for (std::uint32_t rank = count - 1; rank > 0; --rank) std::swap(ranks[rank], ranks[random.below(rank + 1)]);
      const AcrossPlaces places(endpoints, ranks);
      for (std::uint32_t position = 0; position < count; ++position)
        EXPECT_EQ(places.position_of(endpoints[ranks[position].index()]), position);
    }
  }
}

}  // namespace
}  // namespace weft::across_places_test
