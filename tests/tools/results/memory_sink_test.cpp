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
