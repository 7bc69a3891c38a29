// SPDX-License-Identifier: Apache-2.0
#include "tools/results/memory_sink.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::memory_sink_test {
namespace {

// Whoever hands a row over owns its names during the call only.
TEST(MemorySink, KeepsTheNamesOfItsRows) {
  MemorySink sink;
  for (int i = 0; i < 100; ++i) {
    std::string source = "an endpoint with a rather long name " + std::to_string(i % 10);
    FlowRow row;
    row.flow = static_cast<std::uint64_t>(i);
    row.source = source;
    sink.add_flow(row);
    source.assign(source.size(), '?');
  }
  ASSERT_EQ(sink.flows.size(), 100U);
  for (std::size_t i = 0; i < sink.flows.size(); ++i)
    EXPECT_EQ(sink.flows[i].source, "an endpoint with a rather long name " + std::to_string(i % 10));
}

/// A transfer of a job, of the op of this number.
FlowRow transfer_of(std::uint32_t op, std::uint64_t flow) {
  FlowRow row;
  row.flow = flow;
  row.job = "job";
  row.job_id = JobId(0);
  row.origin = op;
  row.iteration = 0;
  row.size = Bytes::of(1000);
  row.completion = Duration::us(static_cast<std::int64_t>(flow) + 1);
  return row;
}

// Up to the limit each transfer has a row; above, each op and size has one, with the mean of its
// transfers' times: of 1, 3, 5 and 2, 4, 6 us those are 3 and 4 us.
TEST(MemorySink, ListsManyTransfersByClass) {
  MemorySink sink(5);
  sink.begin();
  for (std::uint64_t flow = 0; flow < 5; ++flow) sink.add_flow(transfer_of(flow % 2, flow));
  EXPECT_EQ(sink.flows.size(), 5U);
  sink.add_flow(transfer_of(1, 5));
  EXPECT_EQ(sink.complete(), 6U);
  ASSERT_EQ(sink.flows.size(), 2U);
  EXPECT_EQ(sink.flows[0].multiplicity, 3U);
  EXPECT_EQ(sink.flows[0].completion, Duration::us(3));
  EXPECT_EQ(sink.flows[1].completion, Duration::us(4));
}

TEST(MemorySink, ListsFewTransfersEach) {
  MemorySink sink(5);
  sink.begin();
  for (std::uint64_t flow = 0; flow < 5; ++flow) sink.add_flow(transfer_of(0, flow));
  EXPECT_EQ(sink.complete(), 0U);
  EXPECT_EQ(sink.flows.size(), 5U);
}

// Rows of a flow list are what the user gave, each.
TEST(MemorySink, ListsTransfersOfAListWhateverTheLimit) {
  MemorySink sink(0);
  sink.begin();
  FlowRow listed;
  listed.input_row = 0;
  sink.add_flow(listed);
  sink.add_flow(transfer_of(0, 1));
  EXPECT_EQ(sink.complete(), 0U);
  EXPECT_EQ(sink.flows.size(), 1U);
}

TEST(MemorySink, ForgetsARunThatBeginsAnew) {
  MemorySink sink;
  sink.begin();
  JobRow job;
  job.job = "first";
  sink.add_job(job);
  EventRow event;
  event.event = "drain";
  sink.add_event(event);
  sink.begin();
  job.job = "second";
  sink.add_job(job);
  ASSERT_EQ(sink.jobs.size(), 1U);
  EXPECT_EQ(sink.jobs[0].job, "second");
  EXPECT_TRUE(sink.events.empty());
}

}  // namespace
}  // namespace weft::memory_sink_test
