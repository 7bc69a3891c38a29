// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/group_growth.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workloads/workload_testing.hpp"

namespace weft::group_growth_test {
namespace {

/// A job of 16 ranks: tp = 2, dp = 4 (2 apart), pp = 2 (8 apart); "9" is described as dp.
std::vector<ProcessGroup> job_of_16() {
  return {{"tp", {0, 1}, 2}, {"9", {0, 2, 4, 6}, 4, "dp"}, {"pp", {0, 8}, 2}, {"odd", {0, 1, 5}, 3}, {"all", {}, 16}};
}

GroupGrowth growth_of(const std::vector<GroupSize>& sizes, std::uint32_t rank_count) {
  return {job_of_16(), sizes, 16, rank_count, {}};
}

std::string errors(const std::vector<GroupSize>& sizes, std::uint32_t rank_count) {
  return errors_of([&] { growth_of(sizes, rank_count); });
}

std::string notes_of(const GroupGrowth& growth) {
  std::vector<std::string> notes;
  growth.add_notes(notes);
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

// dp = 16 makes 2 x 16 = 32 ranks of each stage's 2 x 4 = 8: the second stage, from rank 8 on,
// begins at 32, so that pp is 32 apart and the job has 64 ranks.
TEST(GroupGrowth, WhatLiesAroundAGroupMovesApart) {
  const GroupGrowth growth = growth_of({{"dp", 16}}, 64);
  ASSERT_TRUE(growth.shape_of("9"));
  EXPECT_EQ(growth.shape_of("9")->size, 16U);
  EXPECT_EQ(growth.shape_of("9")->stride, 2U);
  EXPECT_FALSE(growth.shape_of("tp"));
  const std::vector<std::uint32_t> recorded = {0, 1, 7, 8, 15};
  EXPECT_EQ(growth.places_of(recorded), (std::vector<std::uint32_t>{0, 1, 7, 32, 39}));
}

// tp = 4 makes the ranks of dp 4 apart; 4 x 8 = 32 of them are a stage.
TEST(GroupGrowth, GroupsInsideMoveTheRanksOfOthersApart) {
  const GroupGrowth growth = growth_of({{"dp", 8}, {"tp", 4}}, 64);
  EXPECT_EQ(growth.shape_of("9")->stride, 4U);
  EXPECT_EQ(growth.shape_of("tp")->stride, 1U);
  EXPECT_EQ(growth.place_of(2), 4U);
  EXPECT_EQ(growth.place_of(8 + 4 + 1), 32U + 8U + 1U);
}

// Two groups of one rank beside tp = 8: the first that is named lies inside, 8 apart, and makes 8 x
// 4 = 32 ranks; the other is 32 apart.
TEST(GroupGrowth, GroupsOfOneRankLieAroundTheRecordedJob) {
  const std::vector<ProcessGroup> groups = {{"tp", {0, 1, 2, 3, 4, 5, 6, 7}, 8}, {"dp", {0}, 1}, {"pp", {0}, 1}};
  const std::vector<GroupSize> sizes = {{"dp", 4}, {"pp", 2}};
  const GroupGrowth growth(groups, sizes, 8, 64, {});
  EXPECT_EQ(growth.shape_of("dp")->stride, 8U);
  EXPECT_EQ(growth.shape_of("pp")->stride, 32U);
}

TEST(GroupGrowth, SizesMustFillTheRanks) {
  // 2 apart, 48 ranks hold 24 in a row: sizes that divide it, and are not below the recorded 4.
  EXPECT_HAS(
      errors({{"dp", 16}}, 48),
      "--scale-group=dp=16: error: process group \"dp\" of 4 ranks: groups of 16 ranks that are 2 apart do not fill 48 ranks "
      "[bad-group-size]\n  help: sizes that work: 4, 6, 8, 12, 24");
  EXPECT_HAS(errors({{"dp", 2}}, 16), "process group \"dp\" of 4 ranks cannot grow to 2 [bad-group-size]");
  EXPECT_HAS(errors({{"dp", 4}}, 15), "no size works; take --ranks=N that is a multiple of 8");
  EXPECT_HAS(errors({{"odd", 6}}, 48), "process group \"odd\" has ranks that are not evenly apart");
  EXPECT_HAS(errors({{"dp", 8}, {"9", 16}}, 64), "process group \"9\" is to grow to 8 and to 16 ranks");
  // All 16 ranks are to become 32, and dp alone makes them 64.
  EXPECT_HAS(errors({{"dp", 16}, {"all", 32}}, 64), "which contradicts the other groups that grow");
}

TEST(GroupGrowth, NamesThatTheTraceDoesNotHaveAreRefused) {
  EXPECT_HAS(errors({{"pd", 16}}, 64), "the trace has no process group \"pd\" [unknown-process-group]\n  help: did you mean \"");
  EXPECT_HAS(errors({{"expert", 16}}, 64), "known: tp, 9, dp, pp, odd, all");
}

TEST(GroupGrowth, NotesSayWhatGrewAndWhatStays) {
  GroupGrowth growth = growth_of({}, 64);
  for (int i = 0; i < 2; ++i) {  // a group is told of once
    growth.tell("tp", 2, 2);
    growth.tell("9", 4, 4);
    growth.tell("all", 16, 64);
  }
  growth.tell_collective("all", CollectiveType::all_gather);
  growth.tell_collective("all", CollectiveType::all_reduce);
  growth.tell_collective("tp", CollectiveType::all_gather);
  const std::string notes = notes_of(growth);
  EXPECT_HAS(notes, "of process groups recorded among 16 ranks, all (16 ranks) became 64 ranks; tp (2 ranks), dp (4 ranks) stay\n");
  EXPECT_HAS(notes, "--scale-group=NAME=SIZE makes a group grow");
  EXPECT_HAS(notes, "1 all-gather or gather of a group that grew keeps the recorded shard");
}

TEST(GroupGrowth, WhoSaysWhatGrowsIsNotToldHow) {
  GroupGrowth growth = growth_of({{"dp", 16}}, 64);
  growth.tell("tp", 2, 2);
  growth.tell("9", 4, 16);
  EXPECT_EQ(notes_of(growth), "of process groups recorded among 16 ranks, dp (4 ranks) became 16 ranks; tp (2 ranks) stays\n");
}

// Where no world is declared, {1, 3} says that there are at least the ranks {0, 2} and {1, 3}, and
// {4, 6} that there are two such blocks.
TEST(GroupGrowth, TheRecordedWorldIsWhatGroupsFill) {
  const auto told = [](const std::vector<std::uint32_t>& ranks) {
    const std::vector<ProcessGroup> groups = {{"dp", ranks, 2}};
    GroupGrowth growth(groups, {}, 0, 64, {});
    growth.tell("dp", 2, 2);
    return notes_of(growth);
  };
  EXPECT_HAS(told({1, 3}), "recorded among 4 ranks");
  EXPECT_HAS(told({4, 6}), "recorded among 8 ranks");
}

TEST(GroupGrowth, OnAsManyRanksAsRecordedNothingIsTold) {
  GroupGrowth growth = growth_of({}, 16);
  growth.tell("tp", 2, 2);
  EXPECT_EQ(notes_of(growth), "");
}

}  // namespace
}  // namespace weft::group_growth_test
