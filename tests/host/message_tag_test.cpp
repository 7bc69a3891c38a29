// Message tags pack and unpack without losing a bit, and streams are told apart.
#include "host/message_tag.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(MessageTag, PacksAndUnpacksTheExtremesOfEveryField) {
  for (const bool point_to_point : {false, true}) {
    for (const std::uint32_t iteration : {0u, 1u, (1u << MessageTag::iteration_bits) - 1}) {
      for (const std::uint32_t communicator : {0u, 255u}) {
        for (const std::uint32_t ordinal : {0u, (1u << MessageTag::ordinal_bits) - 1}) {
          for (const std::uint32_t detail : {0u, 5u, (1u << MessageTag::detail_bits) - 1}) {
            const MessageTag back = MessageTag::unpack(MessageTag{point_to_point, iteration, communicator, ordinal, detail}.pack());
            EXPECT_EQ(back.point_to_point, point_to_point);
            EXPECT_EQ(back.iteration, iteration);
            EXPECT_EQ(back.communicator, communicator);
            EXPECT_EQ(back.ordinal, ordinal);
            EXPECT_EQ(back.detail, detail);
          }
        }
      }
    }
  }
}

TEST(MessageTag, IterationWrapsAtItsWidth) {
  MessageTag tag;
  tag.iteration = (1u << MessageTag::iteration_bits) + 3;
  EXPECT_EQ(MessageTag::unpack(tag.pack()).iteration, 3u);
}

TEST(MessageTag, StepsOfOneCollectiveShareAStreamAndUserTagsDoNot) {
  const MessageTag first{false, 1, 2, 3, 4};
  const MessageTag second{false, 1, 2, 3, 5};
  EXPECT_EQ(first.pack_without_step(), second.pack_without_step());
  const MessageTag send{true, 1, 2, 3, 4};
  const MessageTag other{true, 1, 2, 3, 5};
  EXPECT_NE(send.pack_without_step(), other.pack_without_step());
  EXPECT_NE(send.pack_without_step(), first.pack_without_step());
}

}  // namespace
}  // namespace weft
