// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_view.hpp"

#include <gtest/gtest.h>

#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::job_view_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::job;
using testing_scheduler::SchedulerParts;
using testing_scheduler::workload_job;

const JobId a(0);

JobView view(const SchedulerParts& parts, const StartTerms& next_start, Time now) {
  return view_of(a, parts.jobs[0], parts.states, parts.accounts, next_start, now);
}

// 5 s of overhead, 6 iterations of 10 s, and 1 s of writing after the second and the fourth: 67 s
// in all. 30 s after the start 37 s are left.
TEST(JobViews, TellWhatIsLeftOfAModel) {
  const StartTerms terms{Duration::s(5), {2, {}, Duration::s(1)}};
  JobSpec spec = job("A", 0, 4, Duration::s(60));
  spec.iterations = 6;
  spec.priority = 3;
  SchedulerParts parts({spec}, 1, 4);
  parts.arrive(a);
  EXPECT_EQ(view(parts, terms, at_s(10)).declared_left, Duration::s(67));
  EXPECT_EQ(view(parts, terms, at_s(10)).held_gpus, 0U);
  parts.context.set_now(at_s(100));
  parts.start(a, terms);
  const JobView running = view(parts, terms, at_s(130));
  EXPECT_EQ(running.declared_left, Duration::s(37));
  EXPECT_EQ(running.held_gpus, 4U);
  EXPECT_EQ(running.since, at_s(100));
  EXPECT_EQ(running.attained, Duration::s(30));
  EXPECT_EQ(running.priority, 3);
  // Two iterations count: after another start the four others and one checkpoint are left.
  parts.context.set_now(at_s(130));
  parts.leave(a, AttemptEnd::preempted);
  EXPECT_EQ(view(parts, terms, at_s(130)).declared_left, Duration::s(5 + 40 + 1));
  EXPECT_EQ(view(parts, terms, at_s(130)).queued, at_s(130));
}

// Its owner declares 100 s for 10 iterations, and starts take 4 s. At 9 s one iteration is known to
// have ended: nine are left.
TEST(JobViews, OfSimulatedJobsGoByTheirIterations) {
  JobSpec spec = workload_job("A", at_s(0), 1, 10);
  spec.duration = DurationModel::fixed(Duration::s(100));
  SchedulerParts parts({spec}, 1, 1);
  parts.arrive(a);
  parts.start(a, {Duration::s(4), {0, {}, {}}});
  EXPECT_EQ(view(parts, {}, at_s(1)).declared_left, Duration::s(3 + 100));
  parts.starts.begin_ranks(a, parts.context);
  ASSERT_TRUE(parts.starts.launch(parts.context));
  parts.states.running(a).take_report({AttemptId(0), RankId(0), 0, 0, at_s(8), {}});
  EXPECT_EQ(view(parts, {}, at_s(9)).declared_left, Duration::s(90));
}

TEST(JobViews, OfJobsThatDeclareNothingSayNothing) {
  SchedulerParts parts({workload_job("A", at_s(0), 1, 10)}, 1, 1);
  parts.arrive(a);
  EXPECT_FALSE(view(parts, {}, at_s(1)).declared_left);
  EXPECT_FALSE(view(parts, {}, at_s(1)).declared_run);
}

}  // namespace
}  // namespace weft::job_view_test
