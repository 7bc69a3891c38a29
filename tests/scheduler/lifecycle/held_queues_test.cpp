// SPDX-License-Identifier: Apache-2.0
// Job sources in closed loop: timelines by hand, and runs whose jobs are submitted at the same
// times.
#include "scheduler/lifecycle/held_queues.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/scheduler_run.hpp"

namespace weft::held_queues_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::run_jobs;
using testing_scheduler::settings_with;

/// All of one source.
std::vector<JobSpec> held(std::vector<JobSpec> jobs, std::size_t length, std::uint32_t source = 1) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].queue = source;
    jobs[i].is_held = i >= length;
  }
  return jobs;
}

/// On hosts of 8 GPUs, whole and half ones, with run times that differ.
std::vector<JobSpec> drawn_jobs(int count) {
  std::minstd_rand random(7);
  std::vector<JobSpec> jobs;
  for (int i = 0; i < count; ++i) {
    const auto gpus = static_cast<std::uint32_t>(4 * (1 + random() % 8));
    JobSpec spec = job("job" + std::to_string(i), 0, gpus, Duration::s(static_cast<std::int64_t>(100 + random() % 1000)));
    spec.priority = static_cast<std::int32_t>(random() % 3);
    jobs.push_back(spec);
  }
  return jobs;
}

// Six jobs of 3 of 4 GPUs and 10 s, two of which wait at a time: one starts every 10 s, and the
// third comes as the first starts, the last as the fourth does at 30 s. The two that found an empty
// cluster have left when the third starts, at 20 s; it and the fourth waited for two others.
TEST(HeldQueues, SubmitAJobWheneverOneStarts) {
  const FinishedRun run =
      run_jobs(held(std::vector<JobSpec>(6, job("j", 0, 3, Duration::s(10))), 2), ClusterState(1, 4), fcfs_first_fit());
  const std::vector<Time> submissions{at_s(0), at_s(0), at_s(0), at_s(10), at_s(20), at_s(30)};
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    EXPECT_EQ(run.records[i].submit, submissions[i]) << i;
    EXPECT_EQ(run.records[i].start, at_s(10 * static_cast<std::int64_t>(i))) << i;
  }
  ASSERT_TRUE(run.counters.steady);
  EXPECT_EQ(run.counters.steady->from, at_s(20));
  EXPECT_EQ(run.counters.steady->until, at_s(30));
  EXPECT_EQ(run.counters.steady->starts, 2U);
  EXPECT_DOUBLE_EQ(run.counters.steady->mean_wait_s, 20);
  EXPECT_DOUBLE_EQ(run.counters.steady->stranded_gpus, 1);
  EXPECT_DOUBLE_EQ(run.counters.steady->busy_gpus, 3);
}

TEST(HeldQueues, HaveNoSteadyStateWhenTheyAreTooShort) {
  const std::vector<JobSpec> jobs(6, job("j", 0, 4, Duration::s(10)));
  EXPECT_FALSE(run_jobs(held(jobs, 4), ClusterState(1, 4), fcfs_first_fit()).counters.steady);
  EXPECT_FALSE(run_jobs(jobs, ClusterState(1, 4), fcfs_first_fit()).counters.steady);
}

// B leaves the queue at 5 s as it is cancelled, so that D comes then. E, which is held, is
// cancelled at 6 s: when C starts, at 10 s, F comes in its place.
TEST(HeldQueues, SubmitAJobWheneverOneIsCancelled) {
  std::vector<JobSpec> jobs;
  for (const char* name : {"A", "B", "C", "D", "E", "F"}) jobs.push_back(job(name, 0, 4, Duration::s(10)));
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.events = {{at_s(5), ScriptedEvent::Kind::cancel, "B"}, {at_s(6), ScriptedEvent::Kind::cancel, "E"}};
  const FinishedRun run = run_jobs(held(jobs, 2), ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[2].submit, at_s(0));
  EXPECT_EQ(run.records[3].submit, at_s(5));
  EXPECT_EQ(run.records[5].submit, at_s(10));
  EXPECT_EQ(run.counters.finished, 4U);
  EXPECT_EQ(run.counters.cancelled, 2U);
}

// A, of the source, starts at once, and "timed" arrives at 1 s, before B comes as A2 starts, at
// 10 s. The queue is by submission: B starts after "timed", though it stands before it in the list.
TEST(HeldQueues, StandBehindJobsThatCameBefore) {
  std::vector<JobSpec> jobs = held({job("A", 0, 4, Duration::s(10)), job("A2", 0, 4, Duration::s(10)),
                                    job("C", 0, 4, Duration::s(10)), job("B", 0, 4, Duration::s(10))},
                                   2);
  jobs.push_back(job("timed", 1, 4, Duration::s(10)));
  const FinishedRun run = run_jobs(jobs, ClusterState(1, 4), fcfs_first_fit());
  EXPECT_EQ(run.records[3].submit, at_s(10));
  EXPECT_EQ(run.records[4].start, at_s(30));
  EXPECT_EQ(run.records[3].start, at_s(40));
}

// Jobs submitted one by one at the times at which the source submitted them start when those did:
// these submissions are the fixed point of "the next comes as one starts".
TEST(HeldQueues, ComeAsATraceOfTheSameSubmissionsDoes) {
  for (const char* policy : {"fcfs", "fcfs_fill"}) {
    const FinishedRun closed = run_jobs(held(drawn_jobs(300), 40), ClusterState(8, 8), settings_with(policy_called(policy)));
    std::vector<JobSpec> open = drawn_jobs(300);
    std::vector<Time> starts;
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i].submit = closed.records[i].submit;
      starts.push_back(*closed.records[i].start);
    }
    const FinishedRun timed = run_jobs(open, ClusterState(8, 8), settings_with(policy_called(policy)));
    for (std::size_t i = 0; i < open.size(); ++i) EXPECT_EQ(timed.records[i].start, closed.records[i].start) << policy << i;
    std::sort(starts.begin(), starts.end());
    for (std::size_t i = 40; i < open.size(); ++i) EXPECT_EQ(closed.records[i].submit, starts[i - 40]) << policy << i;
  }
}

// Under every policy the i-th held job comes with the i-th first start, preemptions or not.
TEST(HeldQueues, AreHeldUnderEveryPolicy) {
  for (const std::string& policy : testing_scheduler::policy_names()) {
    const FinishedRun run = run_jobs(held(drawn_jobs(200), 20), ClusterState(8, 8), settings_with(policy_called(policy)));
    std::vector<Time> starts;
    for (const JobRecord& record : run.records) starts.push_back(*record.start);
    std::sort(starts.begin(), starts.end());
    for (std::size_t i = 20; i < run.records.size(); ++i) EXPECT_EQ(run.records[i].submit, starts[i - 20]) << policy << i;
    ASSERT_TRUE(run.counters.steady) << policy;
    // The (length + 1)-th start to the last but the length.
    EXPECT_EQ(run.counters.steady->from, starts[20]) << policy;
    EXPECT_EQ(run.counters.steady->until, starts[179]) << policy;
  }
}

}  // namespace
}  // namespace weft::held_queues_test
