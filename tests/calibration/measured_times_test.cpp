// SPDX-License-Identifier: Apache-2.0
#include "calibration/measured_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft::measured_times_test {

namespace {

MeasuredTimes read(const std::string& text) { return read_measured_times(SourceText("measured.csv", text)); }

std::string code_of(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

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

TEST(MeasuredTimes, UnitsStandInTheHeader) {
  const MeasuredTimes flows = read("src,dst,size_bytes,start_us,fct_ms\na,b,1000,5,1.5\n");
  EXPECT_EQ(flows.kind, TimedKind::flow);
  ASSERT_EQ(flows.times.size(), 1U);
  EXPECT_DOUBLE_EQ(flows.times[0].time_s, 1.5e-3);
  EXPECT_DOUBLE_EQ(*flows.times[0].start_s, 5e-6);
  EXPECT_EQ(flows.times[0].line, 2);
  const MeasuredTimes collectives = read("kind,ranks,size_bytes,time_us\nall_reduce,8,1048576,47\n");
  EXPECT_EQ(collectives.kind, TimedKind::collective);
  EXPECT_DOUBLE_EQ(collectives.times[0].time_s, 47e-6);
  EXPECT_EQ(read("job,iteration,duration_s\na,0,0.25\n").kind, TimedKind::iteration);
}

// As this program writes them; other columns are ignored.
TEST(MeasuredTimes, TablesOfRunsAreRead) {
  const MeasuredTimes flows = read(
      "flow_id,job,src,dst,size_bytes,start_ns,end_ns,fct_ns,ideal_fct_ns,slowdown,multiplicity,input_row\n"
      "1,,host0/gpu0,host1/gpu0,1000000,471,89070.68,88599.68,88599.68,1,1,7\n");
  ASSERT_EQ(flows.times.size(), 1U);
  EXPECT_EQ(flows.times[0].input_row, 7U);
  EXPECT_DOUBLE_EQ(flows.times[0].time_s, 88599.68e-9);
}

TEST(MeasuredTimes, RowsWithoutATimeAreLeftOutAndCounted) {
  const MeasuredTimes flows =
      read("src,dst,fct_us,multiplicity\na,b,10,1\na,c,nan,1\na,d,-5,1\na,e,0,1\na,f,fast,1\n,b,7,1\na,b,7,8\na,g,11,1\n");
  EXPECT_EQ(flows.times.size(), 2U);
  EXPECT_EQ(flows.rows_left_out, 6U);
  std::vector<std::string> reasons;
  for (const LeftOutRows& rows : flows.left_out) reasons.push_back(rows.first.code);
  EXPECT_EQ(reasons, (std::vector<std::string>{"no-time", "negative-duration", "bad-value", "no-value", "several-flows"}));
}

TEST(MeasuredTimes, WhatNobodyCouldReadIsAnError) {
  EXPECT_EQ(code_of("src,dst,fct\na,b,10\n"), "missing-column");
  EXPECT_EQ(code_of("src,dst,fct_ns,time_us\na,b,10,1\n"), "ambiguous-column");
  EXPECT_EQ(code_of("fct_ns\n10\n"), "missing-column");
  EXPECT_EQ(code_of("src,fct_ns\na,10\n"), "missing-column");
  EXPECT_EQ(code_of("src,dst,fct_ns\na,b,nan\n"), "no-measurements");
}

TEST(MatchTimes, ByInputRowWhereAllRowsHaveOne) {
  const MeasuredTimes measured = read("input_row,src,dst,fct_us\n2,a,b,10\n0,a,b,20\n5,a,b,30\n");
  std::vector<TimedEntity> simulated(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    simulated[i].input_row = i;
    simulated[i].time_s = static_cast<double>(i) + 1;
  }
  const std::vector<double> matched = match_times(measured, simulated);
  EXPECT_EQ(matched[0], 3);
  EXPECT_EQ(matched[1], 1);
  EXPECT_TRUE(std::isnan(matched[2]));
}

// Two flows from a to b of one size: the earlier belongs to the earlier, whatever the clocks say.
TEST(MatchTimes, ByEndsAndSizeInOrderOfStart) {
  const MeasuredTimes measured =
      read("src,dst,size_bytes,start_s,fct_us\na,b,1000,9007,30\na,b,1000,9001,10\na,b,2000,9002,20\nc,d,1000,9000,5\n");
  const std::vector<TimedEntity> simulated = {flow("a", "b", 2000, 0.3, 2), flow("a", "b", 1000, 0.1, 1),
                                              flow("a", "b", 1000, 0.2, 3)};
  const std::vector<double> matched = match_times(measured, simulated);
  EXPECT_EQ(matched[0], 3);
  EXPECT_EQ(matched[1], 1);
  EXPECT_EQ(matched[2], 2);
  EXPECT_TRUE(std::isnan(matched[3]));
}

TEST(MatchTimes, NothingIsGuessedWhereOneOfSeveralIsMissing) {
  const MeasuredTimes measured = read("src,dst,fct_us\na,b,30\n");
  const std::vector<TimedEntity> simulated = {flow("a", "b", 1000, 0.1, 1), flow("a", "b", 1000, 0.2, 3)};
  EXPECT_TRUE(std::isnan(match_times(measured, simulated)[0]));
}

// What one row does not say does not make others say less.
TEST(MatchTimes, EachRowGoesByWhatItSays) {
  const MeasuredTimes measured = read("job,iteration,duration_s\na,0,1\n,1,2\n");
  std::vector<TimedEntity> simulated(3);
  for (std::size_t i = 0; i < 3; ++i) {
    simulated[i].of = TimedKind::iteration;
    simulated[i].job = i == 0 ? "b" : "a";
    simulated[i].iteration = i == 2 ? 1 : 0;
    simulated[i].time_s = static_cast<double>(i);
  }
  EXPECT_EQ(match_times(measured, simulated), (std::vector<double>{1, 2}));
}

TEST(MatchTimes, NothingBelongsToWhatHasNoSuchNumber) {
  const MeasuredTimes measured = read("src,dst,fct_us\na,b,10\n");
  EXPECT_TRUE(std::isnan(match_times(measured, std::vector{flow("a", "b", 1000, 0, 1)}, MatchBy::input_row)[0]));
}

// Of two flows that nothing tells apart, one was earlier, but the table does not say which.
TEST(MatchTimes, SeveralAlikeNeedTheirStart) {
  const MeasuredTimes measured = read("src,dst,fct_us\na,b,30\na,b,10\n");
  const std::vector<TimedEntity> simulated = {flow("a", "b", 1000, 0.1, 1), flow("a", "b", 1000, 0.2, 3)};
  EXPECT_TRUE(std::isnan(match_times(measured, simulated)[0]));
}

TEST(MatchTimes, CollectivesGoByTheirMean) {
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
  const std::vector<double> matched = match_times(measured, simulated);
  EXPECT_EQ(matched[0], 1.5);
  EXPECT_EQ(matched[1], 7);
}

TEST(MatchTimes, NumbersOfARunWhereThereIsNothingElseOrTheUserSaysSo) {
  const MeasuredTimes measured = read("flow_id,fct_us\n4,10\n");
  std::vector<TimedEntity> simulated(1);
  simulated[0].flow_id = 4;
  simulated[0].time_s = 6;
  EXPECT_EQ(match_times(measured, simulated)[0], 6);
  EXPECT_EQ(match_times(read("flow_id,src,dst,fct_us\n4,a,b,10\n"), simulated, MatchBy::flow_id)[0], 6);
}

TEST(MeasuredTables, NumbersGoOnFromTableToTable) {
  const MeasuredTables tables({read("input_row,fct_us\n0,10\n1,20\n"), read("iteration,duration_s\n3,0.5\n")});
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[1].input_row, 1U);
  EXPECT_EQ(tables[2].iteration, 3U);
  EXPECT_EQ(tables.kind_of(2), TimedKind::iteration);
  EXPECT_EQ(tables.begin_of(0), 0U);
  EXPECT_EQ(tables.begin_of(1), 2U);
}

}  // namespace weft::measured_times_test
