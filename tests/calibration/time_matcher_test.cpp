// SPDX-License-Identifier: Apache-2.0
#include "calibration/time_matcher.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace weft::time_matcher_test {

namespace {

MeasuredTimes read(const std::string& text) { return read_measured_times(SourceText("measured.csv", text)); }

TimedEntity flow(std::string source, std::string destination, std::uint64_t size, double start_s, double time_s) {
  TimedEntity entity;
  entity.source = std::move(source);
  entity.destination = std::move(destination);
  entity.size_bytes = size;
  entity.start_s = start_s;
  entity.time_s = time_s;
  return entity;
}

}  // namespace

TEST(TimeMatcher, ByInputRowWhereAllRowsHaveOne) {
  const MeasuredTimes measured = read("input_row,src,dst,fct_us\n2,a,b,10\n0,a,b,20\n5,a,b,30\n");
  std::vector<TimedEntity> simulated(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    simulated[i].input_row = i;
    simulated[i].time_s = static_cast<double>(i) + 1;
  }
  const std::vector<double> matched = TimeMatcher(measured).match(simulated);
  EXPECT_EQ(matched[0], 3);
  EXPECT_EQ(matched[1], 1);
  EXPECT_TRUE(std::isnan(matched[2]));
}

// Two flows from a to b of one size: the earlier belongs to the earlier, whatever the clocks say.
TEST(TimeMatcher, ByEndsAndSizeInOrderOfStart) {
  const MeasuredTimes measured =
      read("src,dst,size_bytes,start_s,fct_us\na,b,1000,9007,30\na,b,1000,9001,10\na,b,2000,9002,20\nc,d,1000,9000,5\n");
  const std::vector<TimedEntity> simulated = {flow("a", "b", 2000, 0.3, 2), flow("a", "b", 1000, 0.1, 1),
                                              flow("a", "b", 1000, 0.2, 3)};
  const std::vector<double> matched = TimeMatcher(measured).match(simulated);
  EXPECT_EQ(matched[0], 3);
  EXPECT_EQ(matched[1], 1);
  EXPECT_EQ(matched[2], 2);
  EXPECT_TRUE(std::isnan(matched[3]));
}

TEST(TimeMatcher, NothingIsGuessedWhereOneOfSeveralIsMissing) {
  const MeasuredTimes measured = read("src,dst,fct_us\na,b,30\n");
  const std::vector<TimedEntity> simulated = {flow("a", "b", 1000, 0.1, 1), flow("a", "b", 1000, 0.2, 3)};
  EXPECT_TRUE(std::isnan(TimeMatcher(measured).match(simulated)[0]));
}

// What one row does not say does not make others say less.
TEST(TimeMatcher, EachRowGoesByWhatItSays) {
  const MeasuredTimes measured = read("job,iteration,duration_s\na,0,1\n,1,2\n");
  std::vector<TimedEntity> simulated(3);
  for (std::size_t i = 0; i < 3; ++i) {
    simulated[i].of = TimedKind::iteration;
    simulated[i].job = i == 0 ? "b" : "a";
    simulated[i].iteration = i == 2 ? 1 : 0;
    simulated[i].time_s = static_cast<double>(i);
  }
  EXPECT_EQ(TimeMatcher(measured).match(simulated), (std::vector<double>{1, 2}));
}

TEST(TimeMatcher, NothingBelongsToWhatHasNoSuchNumber) {
  const MeasuredTimes measured = read("src,dst,fct_us\na,b,10\n");
  EXPECT_TRUE(std::isnan(TimeMatcher(measured, MatchBy::input_row).match(std::vector{flow("a", "b", 1000, 0, 1)})[0]));
}

// Of two flows that nothing tells apart, one was earlier, but the table does not say which.
TEST(TimeMatcher, SeveralAlikeNeedTheirStart) {
  const MeasuredTimes measured = read("src,dst,fct_us\na,b,30\na,b,10\n");
  const std::vector<TimedEntity> simulated = {flow("a", "b", 1000, 0.1, 1), flow("a", "b", 1000, 0.2, 3)};
  EXPECT_TRUE(std::isnan(TimeMatcher(measured).match(simulated)[0]));
}

TEST(TimeMatcher, CollectivesGoByTheirMean) {
  const MeasuredTimes measured = read("kind,ranks,size_bytes,time_us\nall_reduce,8,1024,10\nall_reduce,8,2048,20\n");
  std::vector<TimedEntity> simulated(3);
  for (TimedEntity& one : simulated) {
    one.of = TimedKind::collective;
    one.kind = "all_reduce";
    one.ranks = 8;
    one.size_bytes = 1024;
  }
  simulated[0].time_s = 1;
  simulated[1].time_s = 2;
  simulated[2].size_bytes = 2048;
  simulated[2].time_s = 7;
  const std::vector<double> matched = TimeMatcher(measured).match(simulated);
  EXPECT_EQ(matched[0], 1.5);
  EXPECT_EQ(matched[1], 7);
}

TEST(TimeMatcher, NumbersOfARunWhereThereIsNothingElseOrTheUserSaysSo) {
  const MeasuredTimes measured = read("flow_id,fct_us\n4,10\n");
  std::vector<TimedEntity> simulated(1);
  simulated[0].flow_id = 4;
  simulated[0].time_s = 6;
  EXPECT_EQ(TimeMatcher(measured).match(simulated)[0], 6);
  EXPECT_EQ(TimeMatcher(read("flow_id,src,dst,fct_us\n4,a,b,10\n"), MatchBy::flow_id).match(simulated)[0], 6);
}

}  // namespace weft::time_matcher_test
