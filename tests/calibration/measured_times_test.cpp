// SPDX-License-Identifier: Apache-2.0
#include "calibration/measured_times.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/error_code.hpp"

namespace weft::measured_times_test {

namespace {

MeasuredTimes read(const std::string& text) { return read_measured_times(SourceText("measured.csv", text)); }

std::string code_of(const std::string& text) {
  return error_code_of([&] { read(text); });
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
