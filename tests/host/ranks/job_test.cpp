// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/job.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/check.hpp"

namespace weft::job_test {
namespace {

// The table grows by chunks of 64, 64, 128, 256 ... slots.
TEST(JobTable, SlotsNeverMove) {
  JobTable table;
  std::vector<const RunningJob*> slots;
  for (std::uint32_t i = 0; i < 1'100; ++i) {
    ASSERT_EQ(table.next(), AttemptId(i));
    RunningJob attempt;
    attempt.attempt = AttemptId(i);
    attempt.job = JobId(2 * i);
    table.publish(std::move(attempt));
    slots.push_back(&table.at(AttemptId(i)));
  }
  EXPECT_EQ(table.size(), 1'100U);
  for (std::uint32_t i = 0; i < 1'100; ++i) {
    EXPECT_EQ(&table.at(AttemptId(i)), slots[i]);
    EXPECT_EQ(slots[i]->attempt, AttemptId(i));
    EXPECT_EQ(slots[i]->job, JobId(2 * i));
  }
}

TEST(JobTable, StaysComeInOrder) {
  JobTable table;
  RunningJob second;
  second.attempt = AttemptId(1);
  EXPECT_THROW(table.publish(std::move(second)), CheckFailure);
}

}  // namespace
}  // namespace weft::job_test
