// SPDX-License-Identifier: Apache-2.0
// Message tags pack and unpack without losing a bit, streams are told apart, and the iteration gets
// the bits that are left.
#include "host/ranks/message_tag.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"
#include "host/collectives/collective_library.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::message_tag_test {
namespace {

/// A workload with so many communicators, all-reduces over 4 ranks in "world", and distinct user
/// tags.
Workload workload_with(std::uint32_t communicators, std::uint32_t collectives, std::uint32_t user_tags) {
  Workload workload;
  workload.rank_count = 4;
  workload.communicators.push_back(Communicator::world(4));
  for (std::uint32_t c = 1; c < communicators; ++c) {
    workload.communicators.emplace_back("c" + std::to_string(c), 4, std::vector<std::vector<RankId>>{});
  }
  RoleBuilder role;
  for (std::uint32_t i = 0; i < collectives; ++i) {
    Op op;
    op.kind = OpKind::collective;
    op.bytes = Bytes::of(4096);
    role.add(op);
  }
  for (std::uint32_t i = 0; i < user_tags; ++i) {
    Op op;
    op.kind = i % 2 == 0 ? OpKind::send : OpKind::receive;
    op.addressing = PeerAddressing::relative;
    op.peer = i % 2 == 0 ? 1 : -1;
    op.tag = i / 2 * 1000;
    role.add(op);
  }
  workload.roles.push_back(std::move(role).finish().dag);
  workload.role_of.assign(4, 0);
  return workload;
}

MessageTags tags_of(const Workload& workload) {
  TopologyBuilder builder("star");
  const NodeId hub = builder.add_switch(1);
  for (std::uint32_t rank = 0; rank < workload.rank_count; ++rank) {
    builder.add_cable(builder.add_endpoint(builder.add_host(), NodeKind::gpu), hub, Bandwidth::gbps(1), Duration::ns(1));
  }
  const auto topology = std::move(builder).build(nullptr, {});
  CollectiveLibrary library(ParamSet("collective", CollectiveLibrary::params()), {});
  return {workload, *library.prepare(workload, *topology, topology->endpoints(), nullptr)};
}

TEST(MessageTags, PackAndUnpackTheExtremesOfEveryField) {
  // 5 communicators, 300 collectives, 40 user tags. A ring all-reduce over 4 ranks has 12 steps,
  // fewer than the tags.
  const MessageTags tags = tags_of(workload_with(5, 300, 80));
  EXPECT_EQ(tags.iteration_bits(), 32);
  for (const bool point_to_point : {false, true}) {
    for (const std::uint32_t iteration : {0u, 1u, UINT32_MAX}) {
      for (const std::uint32_t communicator : {0u, 4u}) {
        for (const std::uint32_t ordinal : {0u, 299u}) {
          for (const std::uint32_t detail : {0u, 39u}) {
            const MessageTag tag{point_to_point, iteration, communicator, ordinal, detail};
            EXPECT_EQ(tags.unpack(tags.pack(tag)), tag);
          }
        }
      }
    }
  }
  EXPECT_EQ(tags.index_of(0), 0u);
  EXPECT_EQ(tags.index_of(39'000), 39u);
}

TEST(MessageTags, StepsOfOneCollectiveShareAStreamAndUserTagsDoNot) {
  const MessageTags tags = tags_of(workload_with(4, 10, 16));
  EXPECT_EQ(tags.pack_stream({false, 1, 2, 3, 4}), tags.pack_stream({false, 1, 2, 3, 5}));
  EXPECT_NE(tags.pack_stream({true, 1, 2, 3, 4}), tags.pack_stream({true, 1, 2, 3, 5}));
  EXPECT_NE(tags.pack_stream({true, 1, 2, 3, 0}), tags.pack_stream({false, 1, 2, 3, 0}));
}

TEST(MessageTags, TellLaterIterationsFromEarlierOnesAcrossTheWrap) {
  const MessageTags tags = tags_of(workload_with(1, 1, 0));
  ASSERT_EQ(tags.iteration_bits(), 32);
  EXPECT_TRUE(tags.ahead_of(7, 7));
  EXPECT_TRUE(tags.ahead_of(8, 7));
  EXPECT_FALSE(tags.ahead_of(6, 7));
  EXPECT_TRUE(tags.ahead_of(3, UINT32_MAX)) << "iteration 2^32 + 3 is ahead of 2^32 - 1";
  EXPECT_TRUE(tags.ahead_of(0x7fffffff, 0));
  EXPECT_FALSE(tags.ahead_of(0x80000000, 0));
}

}  // namespace
}  // namespace weft::message_tag_test
