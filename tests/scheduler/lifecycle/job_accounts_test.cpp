// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_accounts.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/scheduler/scheduler_parts.hpp"

namespace weft::job_accounts_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::job;
using testing_scheduler::SchedulerParts;

const JobId a(0);

/// 5 s of overhead, and a checkpoint of 1 s after every two iterations but the last.
const StartTerms terms = {Duration::s(5), {2, {}, Duration::s(1)}};

/// 6 iterations of 10 s on 4 GPUs.
JobSpec six_iterations() {
  JobSpec spec = job("A", 0, 4, Duration::s(60));
  spec.iterations = 6;
  return spec;
}

// Started at 100 s and preempted at 130: 5 s of overhead, two iterations, 1 s of writing, and 4 s
// of the third, which are lost.
TEST(JobAccounts, ChargeWhatIsLostToAPreemption) {
  SchedulerParts parts({six_iterations()}, 1, 4);
  parts.arrive(a);
  parts.context.set_now(at_s(100));
  parts.start(a, terms);
  parts.context.set_now(at_s(130));
  parts.accounts.preempt(a);
  EXPECT_TRUE(parts.leave(a, AttemptEnd::preempted));
  const JobRecord& record = parts.accounts.record(a);
  EXPECT_EQ(record.start, at_s(100));
  EXPECT_EQ(record.wait, Duration::s(100));
  EXPECT_EQ(record.run, Duration::s(30));
  EXPECT_EQ(record.overhead, Duration::s(5));
  EXPECT_EQ(record.checkpointing, Duration::s(1));
  EXPECT_EQ(record.lost_to_preemptions, Duration::s(4));
  EXPECT_EQ(record.useful(), Duration::s(20));
  EXPECT_EQ(record.preemptions, 1U);
  EXPECT_EQ(parts.accounts.kept(a).iterations, 2U);
  EXPECT_EQ(parts.accounts.queued(a), at_s(130));
}

// Failed at 10 s, with 5 s of work, and known at 20: 15 s are lost and nothing is kept.
TEST(JobAccounts, ChargeAFailureUntilItIsKnown) {
  SchedulerParts parts({six_iterations()}, 1, 4);
  parts.arrive(a);
  parts.start(a, terms);
  parts.states.running(a).fail(at_s(10));
  parts.accounts.fail(a);
  parts.context.set_now(at_s(20));
  EXPECT_FALSE(parts.leave(a, AttemptEnd::failed));
  const JobRecord& record = parts.accounts.record(a);
  EXPECT_EQ(record.failures, 1U);
  EXPECT_EQ(record.overhead, Duration::s(5));
  EXPECT_EQ(record.lost_to_failures, Duration::s(15));
  EXPECT_EQ(parts.accounts.kept(a).iterations, 0U);
}

// At 20 s one iteration is done, and half of the next, which is cut off. Writing takes until 23 s.
TEST(JobAccounts, AMoveKeepsWhatIsDone) {
  SchedulerParts parts({six_iterations()}, 1, 4);
  parts.arrive(a);
  parts.start(a, terms);
  parts.states.running(a).move(at_s(20));
  parts.context.set_now(at_s(23));
  parts.accounts.move(a);
  EXPECT_TRUE(parts.leave(a, AttemptEnd::moved));
  const JobRecord& record = parts.accounts.record(a);
  EXPECT_EQ(record.lost_to_moves, Duration::s(5));
  EXPECT_EQ(record.checkpointing, Duration::s(3));
  EXPECT_EQ(parts.accounts.kept(a).iterations, 1U);
  EXPECT_EQ(parts.accounts.counters().moved, 1U);
}

// On 2 of its 4 GPUs it takes twice as long for an iteration: of 46 s, 5 are overhead, 40 two
// iterations and 1 the checkpoint. By the share of its GPUs that is 2.5 s, 20 s and 0.5 s.
TEST(JobAccounts, CountTimeOnFewerGpusByTheirShare) {
  JobSpec spec = six_iterations();
  spec.min_gpus = 1;
  SchedulerParts parts({spec}, 1, 4);
  parts.arrive(a);
  parts.start(a, terms);
  EXPECT_FALSE(parts.leave(a, AttemptEnd::preempted));
  Placement two{{GpuSlot(0), GpuSlot(1)}};
  parts.cluster.take(a, two);
  parts.accounts.start(a, two, at_s(0));
  parts.starts.start(a, two, terms, parts.context);
  EXPECT_TRUE(parts.accounts.would_keep_more(parts.states.running(a), at_s(46)));
  EXPECT_FALSE(parts.accounts.would_keep_more(parts.states.running(a), at_s(45)));
  parts.context.set_now(at_s(46));
  EXPECT_TRUE(parts.leave(a, AttemptEnd::preempted));
  const JobRecord& record = parts.accounts.record(a);
  EXPECT_EQ(record.run, Duration::s(46));
  EXPECT_EQ(record.run_whole, Duration::s(23));
  EXPECT_EQ(record.overhead, Duration::ms(2'500));
  EXPECT_EQ(record.checkpointing, Duration::ms(500));
  EXPECT_EQ(record.useful(), Duration::s(20));
  EXPECT_EQ(record.elastic_restarts, 1U);
}

// 4 of 8 GPUs are held from 10 to 30 s while B waits for 8: 80 GPU-seconds are busy and as many
// stranded. From 0 to 10 s two jobs wait.
TEST(JobAccounts, SumUpHowTheClusterStood) {
  SchedulerParts parts({six_iterations(), job("B", 0, 8, Duration::s(1))}, 2, 4);
  parts.arrive(a);
  parts.arrive(JobId(1));
  parts.context.set_now(at_s(10));
  parts.accounts.advance(at_s(10));
  parts.start(a, terms);
  parts.accounts.count_pass();
  parts.accounts.advance(at_s(30));
  const JobCounters counters = parts.accounts.counters();
  EXPECT_DOUBLE_EQ(counters.busy_gpu_s, 80);
  EXPECT_DOUBLE_EQ(counters.stranded_gpu_s, 8 * 10 + 80);
  EXPECT_DOUBLE_EQ(counters.queue_length_mean, (2.0 * 10 + 1.0 * 20) / 30);
  EXPECT_EQ(counters.queue_length_max, 1U);
  EXPECT_EQ(counters.gpus_busy_max, 4U);
  EXPECT_EQ(counters.passes, 1U);
}

TEST(JobAccounts, ACancelledJobHasLostAllThatWasOfUse) {
  SchedulerParts parts({six_iterations(), job("B", 0, 8, Duration::s(1))}, 2, 4);
  parts.arrive(a);
  parts.start(a, terms);
  parts.context.set_now(at_s(26));
  EXPECT_TRUE(parts.accounts.leave(parts.states.running(a), at_s(26), AttemptEnd::cancelled));
  parts.states.cancel(a);
  parts.accounts.cancel(a, at_s(26));
  EXPECT_EQ(parts.accounts.record(a).lost_to_cancellation, Duration::s(20));
  EXPECT_EQ(parts.accounts.counters().last_end, at_s(26));
  // B has never arrived.
  parts.states.cancel(JobId(1));
  parts.accounts.cancel(JobId(1), at_s(30));
  EXPECT_EQ(parts.accounts.counters().last_end, at_s(26));
  EXPECT_TRUE(parts.accounts.all_finished());
}

// 6 iterations in 5 + 60 + 2 = 67 s, of which 60 count.
TEST(JobAccounts, AnEndCountsAll) {
  SchedulerParts parts({six_iterations()}, 1, 4);
  parts.arrive(a);
  parts.start(a, terms);
  parts.accounts.note_end(a, at_s(67));
  parts.accounts.leave(parts.states.running(a), at_s(67), AttemptEnd::ended);
  parts.states.end(a);
  parts.accounts.end(a, false);
  EXPECT_EQ(parts.accounts.record(a).mean_iteration, Duration::s(10));
  EXPECT_DOUBLE_EQ(parts.accounts.counters().effective_time_ratio, 60.0 / 67);
  EXPECT_EQ(parts.accounts.counters().finished, 1U);
}

// However a job is stopped, its time is split without rest, and what is kept never becomes less.
TEST(JobAccounts, SplitAllTimeOfRandomStops) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    JobSpec spec = six_iterations();
    spec.iterations = random() % 2 == 0 ? 0 : 6;
    SchedulerParts parts({spec}, 1, 4);
    StartTerms drawn{Duration::s(random() % 6), {random() % 4, Duration::s(random() % 9), Duration::s(random() % 3)}};
    Time now;
    KeptWork kept;
    Duration held;
    parts.arrive(a);
    for (int start = 0; start < 5; ++start) {
      parts.context.set_now(now += Duration::s(random() % 9));
      parts.start(a, drawn);
      const JobAttempt& attempt = parts.states.running(a);
      const Duration stays = Duration::s(1 + random() % 20);
      if (stays >= *attempt.model()->held()) break;
      const std::uint32_t why = random() % 3;
      const Time since = now;
      const Duration half = Duration::ticks(stays.in_ticks() / 2);
      parts.context.set_now(now += stays);
      if (why == 0) parts.states.running(a).fail(since + half);
      if (why == 1) parts.states.running(a).move(since + half);
      parts.leave(a, why == 0 ? AttemptEnd::failed : why == 1 ? AttemptEnd::moved : AttemptEnd::preempted);
      held += stays;
      const JobRecord& record = parts.accounts.record(a);
      EXPECT_EQ(record.run, held) << "seed " << seed;
      // Kept work is what was of use.
      const Duration of_iterations = Duration::s(10) * static_cast<std::int64_t>(parts.accounts.kept(a).iterations);
      EXPECT_EQ(record.useful(), spec.iterations > 0 ? of_iterations : parts.accounts.kept(a).work) << "seed " << seed;
      EXPECT_GE(parts.accounts.kept(a).iterations, kept.iterations);
      EXPECT_GE(parts.accounts.kept(a).work, kept.work);
      kept = parts.accounts.kept(a);
    }
  }
}

}  // namespace
}  // namespace weft::job_accounts_test
