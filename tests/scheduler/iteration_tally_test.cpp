#include "scheduler/iteration_tally.hpp"

#include <gtest/gtest.h>

#include "core/check.hpp"

namespace weft {
namespace {

Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

IterationDone report(std::uint32_t rank, std::uint32_t iteration, std::int64_t end_us, std::int64_t exposed_us = 0) {
  return {JobId(0), RankId(rank), iteration, 0, at_us(end_us), Duration::us(exposed_us)};
}

TEST(IterationTally, AnIterationRunsFromItsFirstRankToItsLast) {
  IterationTally tally(JobId(0), 2, 2, at_us(10));
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
  EXPECT_EQ(tally.span(), Duration::us(60));
}

TEST(IterationTally, ARankMayRunAhead) {
  IterationTally tally(JobId(0), 2, 3, at_us(0));
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

TEST(IterationTally, RefusesReportsOutOfOrder) {
  IterationTally tally(JobId(0), 2, 2, at_us(10));
  EXPECT_THROW(tally.add(report(0, 1, 30)), CheckFailure);
  EXPECT_THROW(tally.add(report(2, 0, 30)), CheckFailure);
  EXPECT_THROW(tally.add(report(0, 0, 5)), CheckFailure);  // ended before it began
  tally.add(report(0, 0, 30));
  EXPECT_THROW(tally.add(report(0, 0, 40)), CheckFailure);
  tally.add(report(0, 1, 40));
  EXPECT_THROW(tally.add(report(0, 2, 50)), CheckFailure);  // one more than the job has
}

}  // namespace
}  // namespace weft
