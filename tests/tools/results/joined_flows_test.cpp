// SPDX-License-Identifier: Apache-2.0
#include "tools/results/joined_flows.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::joined_flows_test {
namespace {

FlowRow flow(std::uint64_t number, const char* destination, std::uint64_t iteration, std::int64_t start_us, std::int64_t us) {
  FlowRow row;
  row.flow = number;
  row.job = "train";
  row.source = "host0";
  row.destination = destination;
  row.op = "sum";
  row.iteration = iteration;
  row.size = Bytes::of(100);
  row.start = Time::zero() + Duration::us(start_us);
  row.end = row.start + Duration::us(us);
  row.completion = Duration::us(us);
  row.ideal = Duration::us(1);
  row.slowdown = static_cast<double>(us);
  return row;
}

std::vector<FlowRow> rows_of(const JoinedFlows& joined) {
  std::vector<FlowRow> rows;
  joined.each([&](const FlowRow& row) { rows.push_back(row); });
  return rows;
}

// Two transfers of 2 and 4 us, the second of which stands for three: (2 + 3 x 4) / 4 = 3.5 us on
// average, from 10 us to 24 us.
TEST(JoinedFlows, AreMeansFromTheFirstStartToTheLastEnd) {
  JoinedFlows joined;
  joined.add(flow(0, "host1", 0, 10, 2));
  FlowRow second = flow(1, "host1", 0, 20, 4);
  second.multiplicity = 3;
  second.size = Bytes::of(200);
  joined.add(second);
  const std::vector<FlowRow> rows = rows_of(joined);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].flow, 0U);
  EXPECT_EQ(rows[0].multiplicity, 4U);
  EXPECT_EQ(rows[0].size, Bytes::of(175));
  EXPECT_EQ(rows[0].start, Time::zero() + Duration::us(10));
  EXPECT_EQ(rows[0].end, Time::zero() + Duration::us(24));
  EXPECT_EQ(rows[0].completion, Duration::ns(3500));
  EXPECT_EQ(rows[0].ideal, Duration::us(1));
  EXPECT_DOUBLE_EQ(rows[0].slowdown, 3.5);
}

TEST(JoinedFlows, AreOfOneOpAndIterationBetweenTheSameEndpoints) {
  JoinedFlows joined;
  std::uint64_t number = 0;
  for (int round = 0; round < 5; ++round) {
    for (const char* const destination : {"host1", "host2"}) {
      for (std::uint64_t iteration = 0; iteration < 3; ++iteration) {
        // Names that live no longer than the call.
        std::string name = destination;
        FlowRow row = flow(number++, name.c_str(), iteration, 0, 1);
        joined.add(row);
        row.op = "gather";
        joined.add(row);
      }
    }
  }
  const std::vector<FlowRow> rows = rows_of(joined);
  ASSERT_EQ(rows.size(), 12U);
  for (const FlowRow& row : rows) EXPECT_EQ(row.multiplicity, 5U);
  EXPECT_EQ(rows[0].destination, "host1");
  EXPECT_EQ(rows.back().destination, "host2");
}

}  // namespace
}  // namespace weft::joined_flows_test
