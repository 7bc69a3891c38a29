// SPDX-License-Identifier: Apache-2.0
#include "core/values/fingerprint.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/engine/event_digest.hpp"
#include "core/values/ids.hpp"

namespace weft::fingerprint_test {
namespace {

// SplitMix64 seeded with 0 gives e220a8397b1dcdaf first (Steele et al. 2014, reference code): mix64
// of one golden-ratio step.
TEST(Fingerprint, MixIsTheFinaliserOfSplitMix64) { EXPECT_EQ(mix64(0x9e3779b97f4a7c15ULL), 0xe220a8397b1dcdafULL); }

TEST(Fingerprint, OrderAndLengthMatter) {
  const auto of = [](auto... words) {
    Fingerprint fingerprint;
    (fingerprint.add(words), ...);
    return fingerprint.value();
  };
  using Word = std::uint64_t;
  EXPECT_NE(of(Word{1}, Word{2}), of(Word{2}, Word{1}));
  EXPECT_NE(of(Word{0}), of());
  EXPECT_NE(of(Word{0}), of(Word{0}, Word{0}));
  EXPECT_NE(of(std::string_view("ab"), std::string_view("c")), of(std::string_view("a"), std::string_view("bc")));
  EXPECT_NE(of(std::string_view("a")), of(std::string_view("a\0", 2)));
}

TEST(Fingerprint, TextHasSixteenDigits) {
  Fingerprint fingerprint;
  EXPECT_EQ(fingerprint.to_text(), "243f6a8885a308d3");
}

// Every single bit of what the digest covers changes it.
TEST(EventDigest, EveryBitCounts) {
  Event event;
  event.key.source = EntityId(0);
  std::set<std::uint64_t> digests = {event_digest(event)};
  std::size_t variants = 1;
  for (int bit = 0; bit < 63; ++bit) {
    Event other = event;
    other.key.time = Time::at_ticks(std::int64_t{1} << bit);
    digests.insert(event_digest(other));
    ++variants;
  }
  for (std::size_t word = 0; word < 4; ++word) {
    for (int bit = 0; bit < 64; ++bit) {
      Event other = event;
      other.payload[word] = std::uint64_t{1} << bit;
      digests.insert(event_digest(other));
      ++variants;
    }
  }
  for (int bit = 0; bit < 16; ++bit) {
    Event other = event;
    other.kind = static_cast<std::uint16_t>(1U << bit);
    digests.insert(event_digest(other));
    other = event;
    other.key.source = EntityId(1U << bit);
    digests.insert(event_digest(other));
    variants += 2;
  }
  EXPECT_EQ(digests.size(), variants);
  Event other = event;
  other.key.sequence = 5;
  EXPECT_EQ(event_digest(other), event_digest(event));
}

TEST(Ids, AreTypesWithAnEmptyValue) {
  EXPECT_TRUE(NodeId().is_none());
  EXPECT_EQ(NodeId::none(), NodeId());
  EXPECT_FALSE(NodeId(0).is_none());
  EXPECT_LT(NodeId(1), NodeId(2));
  static_assert(!std::is_convertible_v<NodeId, LinkId>);
  static_assert(!std::is_convertible_v<int, NodeId>);
}

}  // namespace
}  // namespace weft::fingerprint_test
