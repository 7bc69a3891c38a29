// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/iteration_tally.hpp"

#include <gtest/gtest.h>

#include "core/check.hpp"

namespace weft::iteration_tally_test {
namespace {

Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

IterationDone report(std::uint32_t rank, std::uint32_t iteration, std::int64_t end_us, std::int64_t exposed_us = 0) {
  return {AttemptId(0), RankId(rank), iteration, 0, at_us(end_us), Duration::us(exposed_us)};
}

RunningJob attempt(std::uint32_t ranks, std::uint64_t iterations, std::uint64_t first = 0) {
  RunningJob job;
  job.attempt = AttemptId(0);
  job.job = JobId(0);
  job.endpoint_of_rank = std::make_shared<const std::vector<NodeId>>(ranks);
  job.first_iteration = first;
  job.iterations = iterations;
  return job;
}

TEST(IterationTally, AnIterationRunsFromItsFirstRankToItsLast) {
  const RunningJob job = attempt(2, 2);
  IterationTally tally(job, at_us(10));
  EXPECT_FALSE(tally.add(report(0, 0, 30, 4)));
  const std::optional<IterationRecord> first = tally.add(report(1, 0, 50, 7));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->iteration, 0U);
  EXPECT_EQ(first->start, at_us(10));
  EXPECT_EQ(first->end, at_us(50));
  EXPECT_EQ(first->exposed_communication, Duration::ns(5500));  // (4 + 7) / 2
  EXPECT_FALSE(tally.done());

  EXPECT_FALSE(tally.add(report(1, 1, 70)));
  const std::optional<IterationRecord> second = tally.add(report(0, 1, 65));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->start, at_us(30));  // rank 0 began it when its own first ended
  EXPECT_EQ(second->end, at_us(70));    // the last to end is not the last to report
  EXPECT_TRUE(tally.done());
}

TEST(IterationTally, ARankMayRunAhead) {
  const RunningJob job = attempt(2, 3);
  IterationTally tally(job, at_us(0));
  for (std::uint32_t iteration = 0; iteration < 3; ++iteration) EXPECT_FALSE(tally.add(report(0, iteration, 10 * (iteration + 1))));
  EXPECT_EQ(tally.reported(RankId(0)), 3U);
  for (std::uint32_t iteration = 0; iteration < 3; ++iteration) {
    const std::optional<IterationRecord> record = tally.add(report(1, iteration, 100 * (iteration + 1)));
    ASSERT_TRUE(record);
    EXPECT_EQ(record->iteration, iteration);
    EXPECT_EQ(record->start, at_us(10 * iteration));
    EXPECT_EQ(record->end, at_us(100 * (iteration + 1)));
  }
  EXPECT_TRUE(tally.done());
}

// Iterations 3 to 5 of a job are left, and after each even number of them a checkpoint of 5 us is
// written, but for the last.
TEST(IterationTally, ALaterStayGoesOnWhereTheJobWas) {
  RunningJob job = attempt(2, 6, 3);
  job.checkpoint_every = 2;
  job.checkpoint_write = Duration::us(5);
  IterationTally tally(job, at_us(10));
  EXPECT_EQ(tally.completed(), 3U);
  EXPECT_THROW(tally.add(report(0, 0, 30)), CheckFailure);
  tally.add(report(0, 3, 30));
  EXPECT_EQ(tally.add(report(1, 3, 40))->iteration, 3U);
  tally.add(report(1, 4, 60));
  // rank 0 had its checkpoint written by then
  EXPECT_EQ(tally.add(report(0, 4, 70))->start, at_us(35));
  tally.add(report(1, 5, 80));
  EXPECT_EQ(tally.add(report(0, 5, 90))->start, at_us(60));
  EXPECT_TRUE(tally.done());
}

TEST(IterationTally, RefusesReportsOutOfOrder) {
  const RunningJob job = attempt(2, 2);
  IterationTally tally(job, at_us(10));
  EXPECT_THROW(tally.add(report(0, 1, 30)), CheckFailure);
  EXPECT_THROW(tally.add(report(2, 0, 30)), CheckFailure);
  EXPECT_THROW(tally.add(report(0, 0, 5)), CheckFailure);  // ended before it began
  tally.add(report(0, 0, 30));
  EXPECT_THROW(tally.add(report(0, 0, 40)), CheckFailure);
  tally.add(report(0, 1, 40));
  EXPECT_THROW(tally.add(report(0, 2, 50)), CheckFailure);  // one more than the job has
}

}  // namespace
}  // namespace weft::iteration_tally_test
