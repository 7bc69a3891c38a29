// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/workload_progress.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace weft::workload_progress_test {
namespace {

Time at_s(std::int64_t seconds) { return Time::zero() + Duration::s(seconds); }

/// One rank, ten iterations, and a checkpoint of 3 s after every two.
RunningJob attempt() {
  RunningJob job;
  job.attempt = AttemptId(0);
  job.job = JobId(0);
  job.endpoint_of_rank = std::make_shared<const std::vector<NodeId>>(1);
  job.iterations = 10;
  job.checkpoint_every = 2;
  job.checkpoint_write = Duration::s(3);
  return job;
}

IterationDone report(std::uint32_t iteration, std::int64_t end_s) {
  return {AttemptId(0), RankId(0), iteration, 0, at_s(end_s), Duration::zero()};
}

// 10 s of overhead and a message of 1 s; iterations of 10 s end at 21 and 31, the checkpoint at 34,
// and the next iteration at 44.
class WorkloadProgressTest : public testing::Test {
 protected:
  void expect_landmark(std::int64_t at, std::uint64_t iterations, const AttemptAccount& account) const {
    const WorkloadProgress::Landmark landmark = progress.landmark(Duration::s(10));
    EXPECT_EQ(landmark.at, at_s(at));
    EXPECT_EQ(landmark.iterations, iterations);
    EXPECT_EQ(landmark.account.overhead, account.overhead);
    EXPECT_EQ(landmark.account.writing, account.writing);
    EXPECT_EQ(landmark.account.work, account.work);
    EXPECT_EQ(landmark.account.work_whole, account.work_whole);
    EXPECT_EQ(landmark.account.kept.iterations, account.kept.iterations);
    EXPECT_EQ(landmark.account.whole.iterations, account.whole.iterations);
  }

  const RunningJob job = attempt();
  WorkloadProgress progress{job, at_s(0), Duration::s(10), Duration::s(1)};
};

TEST_F(WorkloadProgressTest, IsExtrapolatedFromTheEndOfTheLastIteration) {
  const Duration overhead = Duration::s(10);
  expect_landmark(11, 0, {overhead, {}, {}, {}, {0, {}}, {0, {}}});
  progress.add(report(0, 21));
  expect_landmark(21, 1, {overhead, {}, {}, Duration::s(10), {0, {}}, {1, {}}});
  // The checkpoint is still to be written: one iteration back, from where it comes once more.
  progress.add(report(1, 31));
  expect_landmark(21, 1, {overhead, {}, {}, Duration::s(10), {0, {}}, {1, {}}});
  progress.add(report(2, 44));
  expect_landmark(44, 3, {overhead, Duration::s(3), Duration::s(20), Duration::s(30), {2, {}}, {3, {}}});
  EXPECT_EQ(progress.last_period(), Duration::s(10));
}

TEST_F(WorkloadProgressTest, AccountsForWhatIsReported) {
  EXPECT_EQ(progress.account(Duration::s(7)).overhead, Duration::s(7));
  progress.add(report(0, 21));
  progress.add(report(1, 31));
  const AttemptAccount writing = progress.account(Duration::s(33));
  EXPECT_EQ(writing.writing, Duration::s(2));
  EXPECT_EQ(writing.work, Duration::zero());
  EXPECT_EQ(writing.work_whole, Duration::s(20));
  EXPECT_EQ(writing.kept.iterations, 0U);
  EXPECT_EQ(writing.whole.iterations, 2U);
  const AttemptAccount written = progress.account(Duration::s(34));
  EXPECT_EQ(written.writing, Duration::s(3));
  EXPECT_EQ(written.work, Duration::s(20));
  EXPECT_EQ(written.kept.iterations, 2U);
}

}  // namespace
}  // namespace weft::workload_progress_test
