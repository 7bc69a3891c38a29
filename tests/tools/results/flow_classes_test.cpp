// SPDX-License-Identifier: Apache-2.0
#include "tools/results/flow_classes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::flow_classes_test {
namespace {

FlowRow flow(std::uint64_t number, std::int64_t bytes, std::int64_t start_us, std::int64_t us) {
  FlowRow row;
  row.flow = number;
  row.job = "train";
  row.job_id = JobId(0);
  row.origin = 1;
  row.source = "host0";
  row.destination = "host1";
  row.op = "sum";
  row.iteration = 0;
  row.size = Bytes::of(bytes);
  row.start = Time::zero() + Duration::us(start_us);
  row.end = row.start + Duration::us(us);
  row.completion = Duration::us(us);
  row.ideal = Duration::us(1);
  row.slowdown = static_cast<double>(us);
  return row;
}

std::vector<FlowRow> rows_of(const FlowClasses& classes) {
  std::vector<FlowRow> rows;
  classes.each([&](const FlowRow& row) { rows.push_back(row); });
  return rows;
}

// Two transfers of 2 and 4 us, the second of which stands for three: (2 + 3 x 4) / 4 = 3.5 us on
// average, from 10 us to 24 us. Of 2, 4, 4, 4 us the median is 4; at rank 0.1 x 3 = 0.3 of them
// from the top, 4 as well.
TEST(FlowClasses, AreMeansFromTheFirstStartToTheLastEnd) {
  FlowClasses classes;
  classes.add(flow(7, 130, 10, 2));
  FlowRow second = flow(8, 250, 20, 4);
  second.multiplicity = 3;
  classes.add(second);
  const std::vector<FlowRow> rows = rows_of(classes);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].flow, 7U);
  EXPECT_EQ(rows[0].job, "train");
  EXPECT_EQ(rows[0].op, "sum");
  EXPECT_EQ(rows[0].source, "") << "of several endpoints";
  EXPECT_EQ(rows[0].multiplicity, 4U);
  EXPECT_EQ(rows[0].size, Bytes::of(220));
  EXPECT_EQ(rows[0].start, Time::zero() + Duration::us(10));
  EXPECT_EQ(rows[0].end, Time::zero() + Duration::us(24));
  EXPECT_EQ(rows[0].completion, Duration::ns(3500));
  EXPECT_EQ(rows[0].ideal, Duration::us(1));
  EXPECT_DOUBLE_EQ(rows[0].slowdown, 3.5);
}

// 101 transfers of 1 to 101 us: type 7 of Hyndman and Fan has the percentile p at 1 + p us.
TEST(FlowClasses, HavePercentilesOfCompletionTimes) {
  FlowClasses classes;
  for (std::int64_t us = 101; us > 0; --us) classes.add(flow(0, 1000, 0, us));
  const std::vector<FlowRow> rows = rows_of(classes);
  ASSERT_EQ(rows.size(), 1U);
  const FlowRow::Completions& completions = rows[0].completions.value();
  EXPECT_EQ(completions.p50, Duration::us(51));
  EXPECT_EQ(completions.p90, Duration::us(91));
  EXPECT_EQ(completions.p99, Duration::us(100));
  EXPECT_EQ(completions.max, Duration::us(101));
}

// Sizes of 127 and 128 bytes lie on both sides of a power of two.
TEST(FlowClasses, AreOfOneJobOpIterationAndPowerOfTwo) {
  FlowClasses classes;
  std::uint64_t number = 0;
  for (int round = 0; round < 5; ++round) {
    for (const std::uint32_t job : {0U, 1U}) {
      for (const std::uint32_t origin : {1U, 2U}) {
        for (std::uint64_t iteration = 0; iteration < 3; ++iteration) {
          for (const std::int64_t bytes : {127, 128, 255}) {
            // Names that live no longer than the call.
            const std::string op = "op" + std::to_string(origin);
            FlowRow row = flow(number++, bytes, 0, 1);
            row.job_id = JobId(job);
            row.origin = origin;
            row.iteration = iteration;
            row.op = op;
            classes.add(row);
          }
        }
      }
    }
  }
  const std::vector<FlowRow> rows = rows_of(classes);
  ASSERT_EQ(rows.size(), 2U * 2 * 3 * 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_small = i % 2 == 0;
    EXPECT_EQ(rows[i].multiplicity, is_small ? 5U : 10U);
    EXPECT_EQ(rows[i].size, is_small ? Bytes::of(127) : Bytes::of(192)) << "the mean of 128 and 255, rounded";
    EXPECT_EQ(rows[i].op, i / 6 % 2 == 0 ? "op1" : "op2");
  }
}

}  // namespace
}  // namespace weft::flow_classes_test
