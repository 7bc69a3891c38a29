// SPDX-License-Identifier: Apache-2.0
// Jobs that run workloads and are preempted, fail or move, on hosts that only pretend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/scheduler/pretend_host.hpp"

namespace weft::stopped_workloads_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::Attempts;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::HostedRun;
using testing_scheduler::Iterations;
using testing_scheduler::IterationTime;
using testing_scheduler::policy_called;
using testing_scheduler::run_jobs;
using testing_scheduler::run_on_hosts;
using testing_scheduler::settings_with;
using testing_scheduler::workload_job;

const IterationTime ten_seconds = [](JobId, RankId, std::uint32_t) { return Duration::s(10); };

std::vector<std::uint32_t> numbers(const std::vector<IterationRecord>& iterations) {
  std::vector<std::uint32_t> result;
  for (const IterationRecord& record : iterations) result.push_back(record.iteration);
  return result;
}

// Messages take 10 us. 5 s to start; iterations end at 15, 25, 36, 46 and 57 s, and checkpoints of
// 1 s at 26 and 47. The host fails at 60, which is known at 70, and works again at 100. The 6
// iterations from the fifth on take from 105 to 167, with checkpoints after the sixth and the
// eighth.
TEST(StoppedWorkloads, FallBackToTheirLastCheckpoint) {
  Iterations observer;
  JobLifecycleSettings settings = fcfs_first_fit(&observer);
  settings.start_overhead = Duration::s(5);
  settings.checkpoints.every = 2;
  settings.checkpoints.write = Duration::s(1);
  settings.failures.detection = Duration::s(10);
  settings.failures.log = {{at_s(60), {PartKind::host, 0}, Duration::s(30)}};
  const HostedRun run = run_on_hosts({workload_job("A", at_s(0), 4, 10)}, 1, 4, ten_seconds, std::move(settings));
  ASSERT_EQ(run.failure, "");
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(167) + Duration::us(20));
  EXPECT_EQ(record.lost_to_failures, Duration::s(13 + 10));
  EXPECT_EQ(record.overhead, Duration::s(10));
  EXPECT_EQ(record.checkpointing, Duration::s(2 + 2));
  // the messages of the last attempt
  EXPECT_EQ(record.useful(), Duration::s(100) + Duration::us(20));
  EXPECT_EQ(record.iterations, 10U);
  EXPECT_EQ(record.mean_iteration, Duration::s(10));
  // eleven iterations were run, one of them twice
  EXPECT_EQ(record.exposed_communication, Duration::s(11));
  EXPECT_EQ(record.failures, 1U);
  EXPECT_EQ(record.restarts, 1U);
  EXPECT_EQ(numbers(observer.records), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(observer.records[5].start, at_s(105) + Duration::us(10));
}

// The host fails at 46.5, while the checkpoint after the fourth iteration, which ended at 46 s and
// 10 us, is written: the one after the second counts.
TEST(StoppedWorkloads, ACheckpointCountsOnceItIsComplete) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(5);
  settings.checkpoints.every = 2;
  settings.checkpoints.write = Duration::s(1);
  settings.failures.log = {{at_s(46) + Duration::ms(500), {PartKind::host, 0}, Duration::zero()}};
  const HostedRun run = run_on_hosts({workload_job("A", at_s(0), 4, 10)}, 1, 4, ten_seconds, std::move(settings));
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.lost_to_failures, Duration::s(20) + Duration::us(10));
  EXPECT_EQ(record.checkpointing, Duration::ms(1'000 + 500 + 3'000) - Duration::us(10));
  // 8 iterations and the checkpoints after 4, 6 and 8 of them.
  EXPECT_EQ(record.end, at_s(46) + Duration::ms(500) + Duration::s(5 + 80 + 3) + Duration::us(20));
  EXPECT_EQ(record.mean_iteration, Duration::s(10));
}

// Iterations end at 12, 22, 32 and 42 s; at 47 the host is drained, and the checkpoint of the four
// takes until 50. On the other host: 2 s to start, 60 s, and 3 s for the checkpoint after five
// iterations.
TEST(StoppedWorkloads, Move) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(2);
  settings.checkpoints.every = 5;
  settings.checkpoints.write = Duration::s(3);
  settings.maintenance.drains = {{at_s(47), HostId(0), Duration::s(50)}};
  const HostedRun run = run_on_hosts({workload_job("A", at_s(0), 4, 10)}, 2, 4, ten_seconds, std::move(settings));
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(50 + 2 + 60 + 3) + Duration::us(20));
  EXPECT_EQ(record.placement, "host1:0-3");
  EXPECT_EQ(record.moves, 1U);
  EXPECT_EQ(record.lost_to_moves, Duration::s(5));
  EXPECT_EQ(record.checkpointing, Duration::s(3 + 3));
  EXPECT_EQ(record.mean_iteration, Duration::s(10));
}

// A bug: ranks of a job began although it had failed, or had begun to move, in the instant at which
// they were to begin, and nobody ever stopped them. The next job that got one of these GPUs found
// them there. The overhead of the start takes until 10 s. In the same instant, after that, host 0
// fails, as the failure of host 1 at 1 s has set that timer later. The job waits from 12 s on, and
// starts on host 1, which works again since 4 s: at 22 s and a message its ranks begin, and one
// iteration takes 10 s.
TEST(StoppedWorkloads, RanksOfAJobThatFailsAsTheyBeginNeverRun) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(10);
  settings.failures.detection = Duration::s(2);
  settings.failures.log = {{at_s(1), {PartKind::host, 1}, Duration::s(1)}, {at_s(10), {PartKind::host, 0}, Duration::s(1)}};
  const HostedRun run = run_on_hosts({workload_job("A", at_s(0), 4, 1)}, 2, 4, ten_seconds, std::move(settings));
  ASSERT_EQ(run.failure, "");
  EXPECT_EQ(run.records[0].end, at_s(12 + 10 + 10) + Duration::us(20));
  EXPECT_EQ(run.records[0].failures, 1U);
  EXPECT_EQ(run.starts, (std::vector{0, 1}));
}

/// Drains host 0 at 10 s, without notice.
class DrainAtTen final : public EventHandler {
 public:
  void happened(const ClusterEvent& cluster_event, ClusterControl& control) override {
    if (cluster_event.kind == ClusterEvent::Kind::job_started && control.now() == at_s(0)) control.wake_at(at_s(10));
    if (cluster_event.kind == ClusterEvent::Kind::timer) control.drain(HostId(0), Duration::s(5));
  }
};

// A handler that drains the host in that instant moves the job: it writes for 1 s, starts on host 1
// at 11 s, and ends after 10 s more of overhead and 10 of work.
TEST(StoppedWorkloads, RanksOfAJobThatMovesAsTheyBeginNeverRun) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(10);
  settings.checkpoints.write = Duration::s(1);
  settings.handlers.push_back({"drains", std::make_unique<DrainAtTen>()});
  const HostedRun run = run_on_hosts({workload_job("A", at_s(0), 4, 1)}, 2, 4, ten_seconds, std::move(settings));
  ASSERT_EQ(run.failure, "");
  EXPECT_EQ(run.records[0].end, at_s(11 + 10 + 10) + Duration::us(20));
  EXPECT_EQ(run.records[0].moves, 1U);
  EXPECT_EQ(run.starts, (std::vector{0, 1}));
}

/// As above, and 8 GB of checkpoints go to host 2 and come from there at 8 Gb/s, in 8 s.
HostedRun move_with_checkpoint(std::vector<LoggedFailure> failures) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(2);
  settings.checkpoints.every = 5;
  settings.checkpoints.write = Duration::s(3);
  settings.maintenance.drains = {{at_s(47), HostId(0), Duration::s(500)}};
  settings.failures.log = std::move(failures);
  settings.storage = {{HostId(2)}, Bandwidth::gbps(8)};
  JobSpec spec = workload_job("A", at_s(0), 4, 10);
  spec.checkpoint = Bytes::of(8'000'000'000);
  return run_on_hosts({spec}, 3, 4, ten_seconds, std::move(settings));
}

// It leaves at 55 s and two messages, when the checkpoint has arrived, and gets it back after 2 s
// and before 60.
TEST(StoppedWorkloads, AMoveWaitsForItsCheckpoint) {
  const HostedRun run = move_with_checkpoint({});
  ASSERT_EQ(run.failure, "");
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(55 + 2 + 8 + 60 + 3) + Duration::us(20 + 20 + 20));
  EXPECT_EQ(record.moves, 1U);
  EXPECT_EQ(record.checkpointing, Duration::s(8 + 3) + Duration::us(20));
  EXPECT_EQ(record.lost_to_moves, Duration::s(5));
}

// At 52 s, while the checkpoint is on its way, the host fails: it is all lost.
TEST(StoppedWorkloads, ACheckpointThatDoesNotArriveIsNone) {
  const HostedRun run = move_with_checkpoint({{at_s(52), {PartKind::host, 0}, Duration::s(1'000)}});
  ASSERT_EQ(run.failure, "");
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(52 + 2 + 100 + 3) + Duration::us(20));
  EXPECT_EQ(record.moves, 0U);
  EXPECT_EQ(record.failures, 1U);
  EXPECT_EQ(record.lost_to_failures, Duration::s(50));
}

std::vector<JobSpec> one_and_a_better_one(Time better_at) {
  std::vector<JobSpec> jobs = {workload_job("A", at_s(0), 2, 3), workload_job("B", better_at, 2, 1)};
  jobs[1].priority = 1;
  return jobs;
}

// B takes A's GPUs at 15 s and gives them back at 25 s and two messages; one iteration of A counts,
// two are left.
TEST(StoppedWorkloads, MakeRoomAtOnce) {
  const HostedRun run = run_on_hosts(one_and_a_better_one(at_s(15)), 1, 2, ten_seconds, settings_with(policy_called("priority")));
  ASSERT_EQ(run.failure, "");
  EXPECT_EQ(run.records[1].start, at_s(15));
  EXPECT_EQ(run.records[1].end, at_s(25) + Duration::us(20));
  EXPECT_EQ(run.records[0].end, at_s(25 + 20) + Duration::us(40));
  EXPECT_EQ(run.records[0].lost_to_preemptions, Duration::s(5));
  EXPECT_EQ(run.records[0].preemptions, 1U);
  EXPECT_EQ(run.starts, std::vector{3});
}

// A's ranks end their first iteration at 10 s and 10 us, which the scheduler would know 10 us
// later; B comes in between.
TEST(StoppedWorkloads, WhatTheSchedulerDoesNotKnowDoesNotCount) {
  const Time between = at_s(10) + Duration::us(15);
  Iterations observer;
  const HostedRun run =
      run_on_hosts(one_and_a_better_one(between), 1, 2, ten_seconds, settings_with(policy_called("priority"), &observer));
  EXPECT_EQ(run.records[0].lost_to_preemptions, Duration::s(10) + Duration::us(15));
  EXPECT_EQ(run.records[0].end, between + Duration::s(10 + 30) + Duration::us(40));
  // the first is B's
  EXPECT_EQ(numbers(observer.records), (std::vector<std::uint32_t>{0, 0, 1, 2}));
}

// A takes 5 s to start, but B comes at 2: A's start reaches the host at 5 s and begins nothing.
TEST(StoppedWorkloads, MayNotHaveBegun) {
  JobLifecycleSettings settings = settings_with(policy_called("priority"));
  settings.start_overhead = Duration::s(5);
  const HostedRun run = run_on_hosts(one_and_a_better_one(at_s(2)), 1, 2, ten_seconds, std::move(settings));
  EXPECT_EQ(run.records[1].end, at_s(2 + 5 + 10) + Duration::us(20));
  EXPECT_EQ(run.records[0].end, at_s(17 + 5 + 30) + Duration::us(40));
  EXPECT_EQ(run.records[0].overhead, Duration::s(2 + 5));
  EXPECT_EQ(run.records[0].lost_to_preemptions, Duration::zero());
}

// --- Fast forward --------------------------------------------------------------------------------

JobLifecycleSettings forward_by_two() {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.fast_forward = 2;
  return settings;
}

// Messages take 50 ms: the last iteration ends at 100.05, which the scheduler is told at 100.1. The
// host is drained in between: too late for the job.
TEST(StoppedWorkloads, AFastForwardedJobIsDoneBeforeItsReport) {
  for (const std::int64_t drained_ms : {100'050, 100'070, 100'100}) {
    JobLifecycleSettings settings = forward_by_two();
    settings.control_delay = Duration::ms(50);
    settings.maintenance.drains = {{Time::zero() + Duration::ms(drained_ms), HostId(0), Duration::s(50)}};
    const HostedRun run = run_on_hosts({workload_job("A", at_s(0), 4, 10)}, 1, 4, ten_seconds, std::move(settings));
    ASSERT_EQ(run.failure, "");
    EXPECT_EQ(run.records[0].end, Time::zero() + Duration::ms(100'100));
    EXPECT_EQ(run.records[0].moves, 0U);
    EXPECT_EQ(run.fast_forward.skipped, 8U);
  }
}

// B's first two iterations take 1 ms and its third a second, in the middle of which A is known: B,
// long overdue, is not known any more. After it B's mean is far off, which the risk says.
TEST(StoppedWorkloads, AnIterationThatIsOverdueIsNotJumpedOver) {
  const IterationTime time = [](JobId job, RankId, std::uint32_t iteration) {
    return job == JobId(0) ? Duration::ms(7) : Duration::ms(iteration == 2 ? 1000 : 1);
  };
  const std::vector<JobSpec> jobs = {workload_job("A", at_s(0), 2, 300), workload_job("B", at_s(0), 2, 10)};
  const HostedRun full = run_on_hosts(jobs, 1, 4, time, fcfs_first_fit());
  const HostedRun forward = run_on_hosts(jobs, 1, 4, time, forward_by_two());
  ASSERT_EQ(forward.failure, "");
  double off_s = 0;
  for (const std::size_t i : {0U, 1U})
    off_s += std::abs((*forward.records[i].end - Time::zero()).in_s() - (*full.records[i].end - Time::zero()).in_s()) / 2;
  EXPECT_LE(off_s, forward.fast_forward.jct_risk_mean_s);
  EXPECT_GT(forward.fast_forward.skipped, 0U);
}

// B gets its GPUs at 75 s and takes 70 s to start, for which A goes on being fast-forwarded.
TEST(StoppedWorkloads, AJobThatStartsDisturbsNobodyBeforeItsRanksRun) {
  JobLifecycleSettings settings = forward_by_two();
  settings.start_overhead = Duration::s(70);
  const IterationTime time = [](JobId, RankId, std::uint32_t) { return Duration::s(1); };
  const HostedRun run =
      run_on_hosts({workload_job("A", at_s(0), 2, 200), workload_job("B", at_s(75), 2, 200)}, 1, 4, time, std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(70 + 200) + Duration::us(20));
  EXPECT_EQ(run.records[1].end, at_s(75 + 70 + 200) + Duration::us(20));
  EXPECT_EQ(run.fast_forward.simulated + run.fast_forward.skipped, 400U);
  EXPECT_LE(run.fast_forward.simulated, 12U);
}

// --- Against job mode ----------------------------------------------------------------------------

class EveryPolicyStops : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryPolicyStops, testing::ValuesIn(testing_scheduler::policy_names()),
                         [](const auto& given) { return given.param; });

// Where all ranks take as long as each other and messages take a tick, a job with a workload is one
// of job mode: every time of its life is the same but for these ticks. Policies that ask what is
// left of jobs that run are told another thing; for them, that the work is done exactly has to do.
TEST_P(EveryPolicyStops, AsJobModeSays) {
  const bool asks_what_is_left = GetParam() == "srtf" || GetParam() == "backfill";
  int stops = 0;
  constexpr int seeds = WEFT_SANITIZED ? 8 : 40;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(seed);
    const auto ns_below = [&](std::int64_t seconds) {
      return Duration::ns(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(seconds * 1'000'000'000)));
    };
    const auto hosts = static_cast<std::uint32_t>(2 + random() % 4);
    const auto size = static_cast<std::uint32_t>(1 + random() % 4);
    const std::uint32_t spares = random() % 2;
    const bool has_storage = hosts > 3 && random() % 2 == 0;
    const StorageSettings storage{has_storage ? std::vector{HostId(0)} : std::vector<HostId>(), Bandwidth::gbps(8)};
    std::vector<JobSpec> with_workloads;
    std::vector<Duration> iteration_of_job;
    for (int i = 0; i < 30; ++i) {
      const auto gpus = static_cast<std::uint32_t>(1 + random() % ((hosts - spares - (has_storage ? 1 : 0)) * size));
      with_workloads.push_back(workload_job("job" + std::to_string(i), Time::zero() + ns_below(60), gpus, 1 + random() % 12));
      with_workloads.back().priority = static_cast<std::int32_t>(random() % 3);
      if (has_storage && random() % 2 == 0) {
        // Up to 3 s each.
        with_workloads.back().data = Bytes::of(static_cast<std::int64_t>(random() % 3'000'000'000));
        with_workloads.back().checkpoint = Bytes::of(static_cast<std::int64_t>(random() % 3'000'000'000));
        if (random() % 2 == 0) with_workloads.back().data_hosts = {HostId(static_cast<std::uint32_t>(random() % hosts))};
      }
      if (gpus > 1 && random() % 3 == 0) {
        with_workloads.back().min_gpus = static_cast<std::uint32_t>(1 + random() % (gpus - 1));
        for (std::uint32_t ranks = gpus - 1; ranks >= with_workloads.back().min_gpus; --ranks)
          with_workloads.back().smaller_workloads.push_back(workload_job("", at_s(0), ranks, 1).workload);
      }
      const Duration iteration = Duration::ns(1) + ns_below(3);
      with_workloads.back().duration =
          DurationModel::fixed(iteration * static_cast<std::int64_t>(with_workloads.back().iterations));
    }
    sort_by_submission(with_workloads);
    std::vector<JobSpec> in_job_mode = with_workloads;
    for (JobSpec& spec : in_job_mode) {
      spec.workload = nullptr;
      iteration_of_job.push_back(Duration::ticks(spec.duration.mean().in_ticks() / static_cast<std::int64_t>(spec.iterations)));
    }
    const ClusterState cluster(hosts, size);
    FailureSettings failures;
    for (int i = 0; i < 12; ++i) {
      const auto kind = part_kinds[random() % 3];
      failures.log.push_back(
          {Time::zero() + ns_below(150), {kind, static_cast<std::uint32_t>(random() % part_count(kind, cluster))}, ns_below(40)});
    }
    failures.scope = random() % 2 == 0 ? FailureScope::gpu : FailureScope::host;
    failures.detection = ns_below(5);
    failures.hot_spares = spares;
    MaintenanceSettings maintenance;
    for (int i = 0; i < 3; ++i)
      maintenance.drains.push_back(
          {Time::zero() + ns_below(150), HostId(static_cast<std::uint32_t>(random() % hosts)), ns_below(40)});
    std::sort(maintenance.drains.begin(), maintenance.drains.end(), [](const Drain& a, const Drain& b) { return a.at < b.at; });
    const CheckpointPlan plan{random() % 5, {}, ns_below(2)};
    const Duration overhead = ns_below(3);
    const auto settings = [&](JobObserver* observer, std::uint64_t fast_forward) {
      JobLifecycleSettings result = settings_with(policy_called(GetParam()), observer);
      result.control_delay = Duration::ticks(1);
      result.start_overhead = overhead;
      result.fast_forward = fast_forward;
      result.checkpoints = plan;
      result.failures = failures;
      result.maintenance = maintenance;
      result.storage = storage;
      return result;
    };
    const IterationTime time = [&](JobId job, RankId, std::uint32_t) { return iteration_of_job[job.index()]; };
    SCOPED_TRACE("seed " + std::to_string(seed));
    const FinishedRun expected = run_jobs(in_job_mode, cluster, settings(nullptr, 0));
    for (const std::uint64_t fast_forward : {0U, 2U}) {
      SCOPED_TRACE("fast forward " + std::to_string(fast_forward));
      Attempts attempts;
      const HostedRun run = run_on_hosts(with_workloads, hosts, size, time, settings(&attempts, fast_forward));
      ASSERT_EQ(run.failure, "");
      EXPECT_EQ(attempts.double_booking(), "");
      EXPECT_NEAR(run.counters.busy_gpu_s, attempts.gpu_s(), 1e-6);
      EXPECT_EQ(run.fast_forward.skipped > 0, fast_forward > 0);
      EXPECT_EQ(run.fast_forward.spread_max, 0);
      constexpr double some_ticks_s = 1e-6;
      for (std::size_t i = 0; i < with_workloads.size(); ++i) {
        SCOPED_TRACE(with_workloads[i].name);
        const JobRecord& record = run.records[i];
        stops += static_cast<int>(record.restarts);
        EXPECT_EQ(record.iterations, with_workloads[i].iterations);
        if (record.elastic_restarts == 0) {
          EXPECT_NEAR(record.mean_iteration->in_s(), iteration_of_job[i].in_s(), 1e-10);
        }
        EXPECT_NEAR(record.useful().in_s(), with_workloads[i].duration.mean().in_s(), some_ticks_s);
        EXPECT_EQ(record.completion(), record.wait + record.run);
        if (asks_what_is_left) continue;
        const JobRecord& like = expected.records[i];
        EXPECT_NEAR(record.end->since_start().in_s(), like.end->since_start().in_s(), some_ticks_s);
        EXPECT_EQ(record.placement, like.placement);
        EXPECT_EQ(record.restarts, like.restarts);
        EXPECT_EQ(record.elastic_restarts, like.elastic_restarts);
        EXPECT_EQ(record.preemptions, like.preemptions);
        EXPECT_EQ(record.failures, like.failures);
        EXPECT_EQ(record.moves, like.moves);
        EXPECT_NEAR(record.lost_to_preemptions.in_s(), like.lost_to_preemptions.in_s(), some_ticks_s);
        EXPECT_NEAR(record.lost_to_failures.in_s(), like.lost_to_failures.in_s(), some_ticks_s);
        EXPECT_NEAR(record.lost_to_moves.in_s(), like.lost_to_moves.in_s(), some_ticks_s);
        EXPECT_NEAR(record.checkpointing.in_s(), like.checkpointing.in_s(), some_ticks_s);
        EXPECT_NEAR(record.overhead.in_s(), like.overhead.in_s(), some_ticks_s);
      }
      EngineOptions two_threads;
      two_threads.threads = 2;
      EXPECT_EQ(
          run_on_hosts(with_workloads, hosts, size, time, settings(nullptr, fast_forward), two_threads).report.fingerprint.value(),
          run.report.fingerprint.value());
    }
  }
  EXPECT_GT(stops, 3 * seeds);
}

}  // namespace
}  // namespace weft::stopped_workloads_test
