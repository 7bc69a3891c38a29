// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/snapshot_capture.hpp"

#include <gtest/gtest.h>

#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::snapshot_capture_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::job;
using testing_scheduler::SchedulerParts;
using testing_scheduler::workload_job;
using State = ClusterSnapshot::State;

const JobId a(0);

ClusterSnapshot capture(const SchedulerParts& parts, Time now) {
  return capture_snapshot(now, parts.jobs, parts.states, parts.accounts, parts.cluster, parts.forward, Duration::us(10));
}

// 2 s of overhead and 6 iterations of 10 s: it ends at 62 s.
TEST(SnapshotCapture, OfAJobThatRunsByItsModel) {
  JobSpec spec = job("A", 0, 4, Duration::s(60));
  spec.iterations = 6;
  SchedulerParts parts({spec, job("B", 99, 1, Duration::s(1))}, 2, 4);
  parts.arrive(a);
  EXPECT_EQ(capture(parts, at_s(0)).jobs[0].state, State::waits);
  parts.start(a, {Duration::s(2), {1, {}, {}}});
  parts.cluster.withdraw(std::vector{GpuSlot(5)});
  const ClusterSnapshot snapshot = capture(parts, at_s(25));
  EXPECT_EQ(snapshot.at, at_s(25));
  EXPECT_EQ(snapshot.jobs[0].state, State::runs);
  EXPECT_EQ(snapshot.jobs[0].expected_end, at_s(62));
  EXPECT_EQ(snapshot.jobs[0].placement.gpus.size(), 4U);
  EXPECT_EQ(snapshot.jobs[1].state, State::not_arrived);
  EXPECT_EQ(snapshot.out_of_service, std::vector{GpuSlot(5)});
}

// At 25 s two iterations have ended, and the third is under way. A failure keeps two; so does a
// move, as checkpoints follow each.
TEST(SnapshotCapture, HasJobsWaitThatGetOnNoMore) {
  JobSpec spec = job("A", 0, 4, Duration::s(60));
  spec.iterations = 6;
  for (const bool moves : {false, true}) {
    SchedulerParts parts({spec}, 2, 4);
    parts.arrive(a);
    // The only checkpoint comes after three iterations.
    parts.start(a, {Duration::s(2), {3, {}, {}}});
    if (moves) {
      parts.states.running(a).move(at_s(25));
    } else {
      parts.states.running(a).fail(at_s(25));
    }
    const ClusterSnapshot::Job captured = capture(parts, at_s(26)).jobs[0];
    EXPECT_EQ(captured.state, State::waits);
    EXPECT_EQ(captured.queued, at_s(26));
    EXPECT_EQ(captured.kept.iterations, moves ? 2U : 0U);
  }
}

// The iteration that is under way is begun anew: what counts is the end of the one before, at 10 s
// and a message.
TEST(SnapshotCapture, OfASimulatedJobGoesBackToItsLastIteration) {
  SchedulerParts parts({workload_job("A", at_s(0), 1, 10)}, 1, 1);
  parts.arrive(a);
  parts.start(a);
  ASSERT_TRUE(parts.starts.launch(parts.context));
  const Time ended = at_s(10) + Duration::us(10);
  parts.states.running(a).take_report({AttemptId(0), RankId(0), 0, 0, ended, {}});
  const ClusterSnapshot::Job captured = capture(parts, at_s(17)).jobs[0];
  EXPECT_EQ(captured.state, State::runs);
  EXPECT_EQ(captured.part_since, ended);
  EXPECT_EQ(captured.past.whole.iterations, 1U);
  EXPECT_EQ(captured.past.work_whole, Duration::s(10));
  EXPECT_FALSE(captured.pace);
  EXPECT_FALSE(captured.expected_end);
}

}  // namespace
}  // namespace weft::snapshot_capture_test
