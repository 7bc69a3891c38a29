// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/unfinished_jobs.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/check.hpp"
#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::unfinished_jobs_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::job;
using testing_scheduler::SchedulerParts;
using testing_scheduler::workload_job;

const JobId a(0);

UnfinishedJobs unfinished_of(const SchedulerParts& parts) { return {parts.jobs, parts.states, parts.accounts, &parts.table}; }

TEST(UnfinishedJobs, SayWhatAJobDoes) {
  JobSpec spec = workload_job("A", at_s(0), 2, 10);
  spec.data = Bytes::of(100);
  SchedulerParts parts({spec}, 2, 2, 0, {{HostId(1)}, Bandwidth::gbps(8)});
  const UnfinishedJobs unfinished = unfinished_of(parts);
  EXPECT_EQ(unfinished.state_text(a), "job \"A\" has not arrived");
  parts.arrive(a);
  EXPECT_EQ(unfinished.state_text(a), "job \"A\" waits for 2 GPUs");
  EXPECT_TRUE(unfinished.all_wait_for_ranks()) << "nobody runs";
  parts.start(a);
  EXPECT_EQ(unfinished.state_text(a), "job \"A\" fetches its data");
  EXPECT_FALSE(unfinished.all_wait_for_ranks());
  parts.states.running(a).take_arrival(at_s(1));
  parts.states.running(a).take_arrival(at_s(1));
  EXPECT_EQ(unfinished.state_text(a), "job \"A\" is running");
  parts.starts.launch_this_instant(a, parts.context);
  ASSERT_TRUE(parts.starts.launch(parts.context));
  // The attempt with the data was the first.
  parts.states.running(a).take_report({AttemptId(1), RankId(0), 0, 0, at_s(9), {}});
  EXPECT_EQ(unfinished.state_text(a), "job \"A\" waits for rank 1, which has finished 0 of 10 iterations");
  EXPECT_TRUE(unfinished.all_wait_for_ranks());
  EXPECT_THROW(unfinished.require_none(), CheckFailure);
  parts.states.cancel(a);
  parts.accounts.cancel(a, at_s(10));
  EXPECT_EQ(unfinished.state_text(a), "job \"A\" was cancelled");
  EXPECT_NO_THROW(unfinished.require_none());
}

TEST(UnfinishedJobs, NameFiveAtMost) {
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 7; ++i) jobs.push_back(job("J" + std::to_string(i), 0, 1, Duration::s(1)));
  SchedulerParts parts(jobs, 1, 1);
  parts.states.cancel(a);
  const std::string text = unfinished_of(parts).text();
  EXPECT_EQ(text.find("J0"), std::string::npos);
  EXPECT_NE(text.find("J5"), std::string::npos);
  EXPECT_EQ(text.find("J6"), std::string::npos);
}

// The only job waits for 4 GPUs, of which one is out of service. A host that was set aside does not
// count as out.
TEST(UnfinishedJobs, TellOfGpusThatNobodyRepairs) {
  SchedulerParts parts({job("A", 0, 4, Duration::s(1))}, 2, 4);
  parts.arrive(a);
  const UnfinishedJobs unfinished = unfinished_of(parts);
  EXPECT_FALSE(unfinished.never_repaired(parts.cluster, {}));
  parts.cluster.withdraw(parts.cluster.gpus(HostId(1)));
  EXPECT_FALSE(unfinished.never_repaired(parts.cluster, std::vector{HostId(1)}));
  const std::optional<Diagnostic> told = unfinished.never_repaired(parts.cluster, {});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, "never-repaired");
  EXPECT_NE(told->message.find("4 of 8 GPUs are out of service"), std::string::npos) << told->message;
  parts.start(a);
  EXPECT_FALSE(unfinished.never_repaired(parts.cluster, {})) << "somebody runs";
  parts.states.running(a).fail(at_s(0));
  EXPECT_TRUE(unfinished.never_repaired(parts.cluster, {}));
}

// Two stops without anything kept make a job hopeless. While it waits it may not get on; while it
// runs it may once it keeps more than before.
TEST(UnfinishedJobs, AHopelessJobMayGetOnOnceItKeepsSomething) {
  JobSpec spec = job("A", 0, 4, Duration::s(60));
  spec.iterations = 6;
  SchedulerParts parts({spec}, 1, 4);
  const UnfinishedJobs unfinished = unfinished_of(parts);
  ProgressWatch watch(2, 1, 1);
  parts.arrive(a);
  EXPECT_TRUE(unfinished.any_may_get_on(watch, at_s(0)));
  watch.is_stopped(a, Duration::s(4));
  watch.is_stopped(a, Duration::s(2));
  EXPECT_FALSE(unfinished.any_may_get_on(watch, at_s(0)));
  const Diagnostic told = unfinished.no_progress(watch, at_s(0));
  EXPECT_NE(told.message.find("2 starts of jobs came to nothing"), std::string::npos) << told.message;
  EXPECT_NE(told.message.find("was stopped 2 times in a row"), std::string::npos) << told.message;
  parts.start(a);
  EXPECT_FALSE(unfinished.any_may_get_on(watch, at_s(9)));
  EXPECT_TRUE(unfinished.any_may_get_on(watch, at_s(11)));
}

}  // namespace
}  // namespace weft::unfinished_jobs_test
