// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/attempt_starts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/text/diagnostics.hpp"
#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::attempt_starts_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::job;
using testing_scheduler::SchedulerParts;
using testing_scheduler::text_of;
using testing_scheduler::workload_job;

const JobId a(0);
const JobId b(1);

// 3 s of overhead and 20 s of work.
TEST(AttemptStarts, JobsOfJobModeRunByTheirModel) {
  SchedulerParts parts({job("A", 0, 4, Duration::s(20))}, 2, 4);
  parts.arrive(a);
  parts.context.set_now(at_s(7));
  parts.start(a, {Duration::s(3), {}});
  const std::vector<Event> posted = parts.context.take();
  ASSERT_EQ(text_of(posted), "ends");
  EXPECT_EQ(posted[0].key.time, at_s(7 + 3 + 20));
  EXPECT_TRUE(parts.states.running(a).awaits(job_ends, posted[0].payload_as<JobTimer>().generation));
}

// 16 Gb of data at 8 Gb/s take 2 s of the start.
TEST(AttemptStarts, DataOfJobModeTakesTimeOnly) {
  JobSpec spec = job("A", 0, 4, Duration::s(20));
  spec.data = Bytes::of(2'000'000'000);
  SchedulerParts parts({spec}, 3, 4, 0, {{HostId(2)}, Bandwidth::gbps(8)});
  parts.arrive(a);
  parts.start(a, {Duration::s(3), {}});
  EXPECT_EQ(parts.context.take()[0].key.time, at_s(3 + 2 + 20));
  EXPECT_EQ(parts.states.running(a).start_overhead(), Duration::s(5));
}

TEST(AttemptStarts, WhatWouldEndAfterTheClockIsAnError) {
  SchedulerParts parts({job("A", 0, 4, Duration::s(900 * 86'400))}, 2, 4);
  parts.arrive(a);
  parts.context.set_now(at_s(900 * 86'400));
  EXPECT_THROW(parts.start(a), InputError);
}

// Both overheads are over at 3 s. Ranks of both are launched together at the end of that instant.
TEST(AttemptStarts, RanksOfAnInstantAreLaunchedTogether) {
  SchedulerParts parts({workload_job("A", at_s(0), 4, 10), workload_job("B", at_s(0), 4, 10)}, 2, 4);
  for (const JobId one : {a, b}) {
    parts.arrive(one);
    parts.start(one, {Duration::s(3), {}});
  }
  const std::vector<Event> overheads = parts.context.take();
  ASSERT_EQ(text_of(overheads), "ranks, ranks");
  EXPECT_EQ(overheads[1].key.time, at_s(3));
  parts.context.set_now(at_s(3));
  parts.starts.begin_ranks(a, parts.context);
  parts.starts.begin_ranks(b, parts.context);
  EXPECT_EQ(text_of(parts.context.take()), "launch");
  EXPECT_TRUE(parts.starts.launch(parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "start 0, start 1");
  EXPECT_TRUE(parts.states.running(a).hears_ranks_of(AttemptId(0)));
  EXPECT_TRUE(parts.states.running(b).hears_ranks_of(AttemptId(1)));
}

TEST(AttemptStarts, AJobThatIsStoppedBeforeItsLaunchStaysBehind) {
  SchedulerParts parts({workload_job("A", at_s(0), 4, 10), workload_job("B", at_s(0), 4, 10)}, 2, 4);
  for (const JobId one : {a, b}) {
    parts.arrive(one);
    parts.start(one);
  }
  parts.starts.drop(a);
  EXPECT_TRUE(parts.starts.launch(parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "start 1");
}

// The data is fetched first; when both parts are there, the ranks are launched.
TEST(AttemptStarts, RanksWaitForTheirData) {
  JobSpec spec = workload_job("A", at_s(0), 2, 10);
  spec.data = Bytes::of(100);
  SchedulerParts parts({spec}, 2, 2, 0, {{HostId(1)}, Bandwidth::gbps(8)});
  parts.arrive(a);
  parts.start(a);
  EXPECT_EQ(text_of(parts.context.take()), "data 1");
  EXPECT_TRUE(parts.starts.launch(parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "");
  parts.context.set_now(at_s(1));
  EXPECT_FALSE(parts.states.running(a).take_arrival(at_s(1)));
  EXPECT_TRUE(parts.states.running(a).take_arrival(at_s(1)));
  parts.starts.launch_this_instant(a, parts.context);
  EXPECT_TRUE(parts.starts.launch(parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "launch, start 0");
  EXPECT_EQ(parts.states.running(a).start_overhead(), Duration::s(1));
}

TEST(AttemptStarts, ARunOfNoUseIsNotGoneOnWith) {
  SchedulerParts parts({workload_job("A", at_s(0), 2, 10)}, 2, 2);
  parts.wiring.after_launch = [] { return false; };
  parts.arrive(a);
  parts.start(a);
  EXPECT_FALSE(parts.starts.launch(parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "");
}

// --- Going on from a snapshot at 40 s ------------------------------------------------------------

/// Job A, which has run since 10 s.
ClusterSnapshot::Job running_since_ten(std::uint32_t gpus) {
  ClusterSnapshot::Job from;
  from.state = ClusterSnapshot::State::runs;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) from.placement.gpus.emplace_back(gpu);
  from.since = from.part_since = at_s(10);
  from.record.id = a;
  from.record.gpus = gpus;
  from.record.restarts = 2;
  return from;
}

void restore(SchedulerParts& parts, const ClusterSnapshot::Job& from, const StartTerms& terms = {}) {
  parts.context.set_now(at_s(40));
  parts.states.arrive(a);
  parts.accounts.restore(a, from);
  parts.cluster.take(a, from.placement);
  parts.starts.restore(a, from, at_s(40), terms, parts.context);
}

// 5 s of overhead and 60 s of work from 10 s on: the end stays where it was.
TEST(RestoredStarts, OfJobModeEndAsIfNothingHadHappened) {
  SchedulerParts parts({job("A", 0, 4, Duration::s(60))}, 1, 4);
  restore(parts, running_since_ten(4), {Duration::s(5), {}});
  const std::vector<Event> posted = parts.context.take();
  ASSERT_EQ(text_of(posted), "ends");
  EXPECT_EQ(posted[0].key.time, at_s(75));
  EXPECT_EQ(posted[0].payload_as<JobTimer>().generation, (Generation{2, 1}));
}

// Three iterations had ended by 37 s, and the others take 9 s each: 63 s, and a message until that
// is known.
TEST(RestoredStarts, OfAJobThatWasFastForwardedKeepItsPace) {
  SchedulerParts parts({workload_job("A", at_s(0), 1, 10)}, 1, 1, 2);
  ClusterSnapshot::Job from = running_since_ten(1);
  from.part_since = at_s(37);
  from.past.whole.iterations = 3;
  from.pace = KnownPace{Duration::s(9), {}};
  restore(parts, from);
  const std::vector<Event> posted = parts.context.take();
  ASSERT_EQ(text_of(posted), "ends");
  EXPECT_EQ(posted[0].key.time, at_s(37 + 63) + Duration::us(10));
  EXPECT_TRUE(parts.states.running(a).is<JobAttempt::FastForwarded>());
  EXPECT_EQ(parts.states.running(a).account(at_s(47)).whole.iterations, 4U);
  // Its pace may be old: it is simulated from the iteration on that begins at 46 s, for which its
  // host is told a message before.
  parts.forward.doubt(a, parts.context);
  const std::vector<Event> planned = parts.context.take();
  ASSERT_EQ(text_of(planned), "resumes");
  EXPECT_EQ(planned[0].key.time, at_s(46) - Duration::us(10));
}

// Of the iteration that was under way nothing is kept: the fourth begins anew, a message after 40
// s.
TEST(RestoredStarts, OfASimulatedJobBeginItsIterationAnew) {
  SchedulerParts parts({workload_job("A", at_s(0), 1, 10)}, 1, 1);
  ClusterSnapshot::Job from = running_since_ten(1);
  from.part_since = at_s(37);
  from.past.whole.iterations = 3;
  restore(parts, from);
  EXPECT_EQ(text_of(parts.context.take()), "");
  ASSERT_TRUE(parts.starts.launch(parts.context));
  EXPECT_EQ(text_of(parts.context.take()), "start 0");
  EXPECT_EQ(parts.table.at(AttemptId(0)).first_iteration, 3U);
  EXPECT_EQ(parts.states.running(a).part_since(), at_s(40) + Duration::us(10));
}

// The overhead takes until 60 s.
TEST(RestoredStarts, WaitForTheRestOfTheOverhead) {
  SchedulerParts parts({workload_job("A", at_s(0), 1, 10)}, 1, 1);
  restore(parts, running_since_ten(1), {Duration::s(50), {}});
  const std::vector<Event> posted = parts.context.take();
  ASSERT_EQ(text_of(posted), "ranks");
  EXPECT_EQ(posted[0].key.time, at_s(60));
}

}  // namespace
}  // namespace weft::attempt_starts_test
