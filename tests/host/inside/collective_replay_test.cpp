// SPDX-License-Identifier: Apache-2.0
#include "host/inside/collective_replay.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/host/collectives/collective_machine.hpp"

namespace weft::collective_replay_test {
namespace {

CollectivePlan plan_of(const char* algorithm, CollectiveType type, const GroupLayout& layout) {
  return make_algorithm(algorithm, {})->compile({type, 0, Bytes::mib(1), &layout, nullptr});
}

// Of an all-reduce, an all-gather and an all-to-all every rank needs something of every other. The
// root of a broadcast may leave as soon as it has sent; the others of a reduction as well.
TEST(CollectiveReplays, AreOfWhatNobodyLeavesBeforeAllHaveCome) {
  const GroupLayout layout = GroupLayout::blocks(1, 5);
  for (const char* const algorithm : {"ring", "direct"}) {
    for (const CollectiveType type :
         {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::all_to_all})
      EXPECT_TRUE(awaits_all(plan_of(algorithm, type, layout), 5)) << algorithm << " " << to_text(type);
    EXPECT_FALSE(awaits_all(plan_of(algorithm, CollectiveType::broadcast, layout), 5)) << algorithm;
    EXPECT_FALSE(awaits_all(plan_of(algorithm, CollectiveType::reduce, layout), 5)) << algorithm;
  }
  EXPECT_TRUE(awaits_all(plan_of("double_binary_tree", CollectiveType::all_reduce, layout), 5));
}

// In a ring every position does the same, seen from where it is; in a tree it does not.
TEST(CollectiveReplays, TryOneRankWhereAllAreAlike) {
  for (const GroupLayout& layout : {GroupLayout::blocks(1, 5), GroupLayout::blocks(6, 1)}) {
    EXPECT_TRUE(are_alike(plan_of("ring", CollectiveType::all_reduce, layout)));
    EXPECT_FALSE(are_alike(plan_of("double_binary_tree", CollectiveType::all_reduce, layout)));
    EXPECT_FALSE(are_alike(plan_of("ring", CollectiveType::broadcast, layout)));
  }
}

TEST(CollectiveReplays, AreKnownByPlanLinksAndHowFarApartRanksBegin) {
  const GroupLayout layout = GroupLayout::blocks(1, 2);
  const CollectivePlan one = plan_of("ring", CollectiveType::all_reduce, layout);
  const CollectivePlan other = plan_of("ring", CollectiveType::all_gather, layout);
  CollectiveReplays replays;
  const CollectiveReplays::Key key{&one, 0, {Duration::zero(), Duration::ns(5)}};
  EXPECT_EQ(replays.find(key), nullptr);
  CollectiveReplay replay;
  replay.finish = {Duration::us(1), Duration::us(2)};
  const auto kept = replays.add(key, replay);
  EXPECT_EQ(replays.find(key), kept);
  EXPECT_EQ(replays.add(key, CollectiveReplay{}), kept) << "who comes later gets what is there";
  EXPECT_EQ(replays.find({&other, 0, key.ahead}), nullptr);
  EXPECT_EQ(replays.find({&one, 1, key.ahead}), nullptr);
  EXPECT_EQ(replays.find({&one, 0, {Duration::ns(5), Duration::zero()}}), nullptr);
}

}  // namespace
}  // namespace weft::collective_replay_test
