// SPDX-License-Identifier: Apache-2.0
// Whole runs in job mode on clusters whose parts fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/scheduler/scheduler_run.hpp"

namespace weft::failing_clusters_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::AttemptLog;
using testing_scheduler::Attempts;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::policy_names;
using testing_scheduler::run_jobs;
using testing_scheduler::run_jobs_as_far_as_they_get;
using testing_scheduler::settings_with;

LoggedFailure host_fails(std::int64_t at, std::uint32_t host, std::int64_t repair) {
  return {at_s(at), {PartKind::host, host}, Duration::s(repair)};
}

// One host. Iterations of 10 s, a checkpoint of 1 s after each second one, 5 s to start:
// checkpoints are complete at 26 and 47. The host fails at 60, which is known at 70: of the 13 s of
// work since 47 nothing counts, and 10 s more are lost. It works again at 100; what is left are 6
// iterations and 2 checkpoints.
TEST(FailingClusters, JobsFallBackToTheirLastCheckpoint) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(5);
  settings.checkpoints.every = 2;
  settings.checkpoints.write = Duration::s(1);
  settings.failures.detection = Duration::s(10);
  settings.failures.log = {host_fails(60, 0, 30)};
  std::vector<JobSpec> jobs = {job("A", 0, 4, Duration::s(100))};
  jobs[0].iterations = 10;
  const FinishedRun run = run_jobs(jobs, ClusterState(1, 4), std::move(settings));
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(100 + 5 + 60 + 2));
  EXPECT_EQ(record.lost_to_failures, Duration::s(13 + 10));
  EXPECT_EQ(record.overhead, Duration::s(10));
  EXPECT_EQ(record.checkpointing, Duration::s(2 + 2));
  EXPECT_EQ(record.useful(), Duration::s(100));
  EXPECT_EQ(record.wait, Duration::s(30));
  EXPECT_EQ(record.failures, 1U);
  EXPECT_EQ(record.restarts, 1U);
  EXPECT_EQ(record.preemptions, 0U);
  EXPECT_EQ(run.counters.failures, 1U);
  EXPECT_DOUBLE_EQ(run.counters.lost_to_failures_gpu_s, 4 * 23.0);
  EXPECT_DOUBLE_EQ(run.counters.out_gpu_s, 4 * 30.0);
  EXPECT_DOUBLE_EQ(run.counters.draining_gpu_s, 4 * 10.0) << "until the failure is known";
  EXPECT_DOUBLE_EQ(run.counters.effective_time_ratio, 100.0 / 167);
}

// At the very instant at which A has done all of its work, its host fails, or is drained: too late
// for A.
TEST(FailingClusters, TheEndComesFirst) {
  for (const bool fails : {true, false}) {
    JobLifecycleSettings settings = fcfs_first_fit();
    if (fails) {
      settings.failures.log = {host_fails(50, 0, 10)};
    } else {
      settings.maintenance.drains = {{at_s(50), HostId(0), Duration::s(10)}};
    }
    const FinishedRun run =
        run_jobs({job("A", 0, 4, Duration::s(50)), job("B", 60, 4, Duration::s(1))}, ClusterState(1, 4), std::move(settings));
    EXPECT_EQ(run.records[0].end, at_s(50)) << fails;
    EXPECT_EQ(run.records[0].restarts, 0U) << fails;
  }
}

// Host 1 is a spare. Host 0 fails at 20 for a long time, which is known at 25.
TEST(FailingClusters, SparesStandIn) {
  for (const bool hot : {true, false}) {
    JobLifecycleSettings settings = fcfs_first_fit();
    (hot ? settings.failures.hot_spares : settings.failures.cold_spares) = 1;
    settings.failures.cold_start = Duration::s(40);
    settings.failures.detection = Duration::s(5);
    settings.failures.log = {host_fails(20, 0, 10'000)};
    const FinishedRun run = run_jobs({job("A", 0, 4, Duration::s(100))}, ClusterState(2, 4), std::move(settings));
    EXPECT_EQ(run.records[0].end, at_s((hot ? 25 : 65) + 80)) << hot;
    EXPECT_EQ(run.records[0].placement, "host1:0-3");
  }
}

// Host 2 is a spare, and stands in for host 0 at 20. At 100 host 1 fails as well, for long; host 0,
// repaired at 200 and a spare since 20, stands in then.
TEST(FailingClusters, WhoWasRepairedStandsInForWhoWaits) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.hot_spares = 1;
  settings.failures.log = {host_fails(20, 0, 180), host_fails(100, 1, 1'000'000)};
  const FinishedRun run = run_jobs({job("A", 0, 8, Duration::s(300))}, ClusterState(3, 4), std::move(settings));
  // All that was done counts: 20 s, 80 s, and the rest.
  EXPECT_EQ(run.records[0].end, at_s(200 + 200));
}

// The GPU that fails is not that of job A, which goes on under scope gpu and stops under scope
// host.
TEST(FailingClusters, AGpuTakesItsHostAlongOrNot) {
  for (const FailureScope scope : {FailureScope::gpu, FailureScope::host}) {
    JobLifecycleSettings settings = fcfs_first_fit();
    settings.failures.scope = scope;
    settings.failures.log = {{at_s(20), {PartKind::gpu, 1}, Duration::s(7)}};
    const FinishedRun run = run_jobs({job("A", 0, 1, Duration::s(100))}, ClusterState(1, 2), std::move(settings));
    EXPECT_EQ(run.records[0].end, at_s(scope == FailureScope::gpu ? 100 : 107));
  }
}

// A needs all four GPUs, and one fails at 20, of which nobody knows until 120. B comes at 30 and
// takes the others from it. What A did until 20 counts.
TEST(FailingClusters, PreemptionBeforeDetection) {
  JobLifecycleSettings settings = settings_with(policy_called("priority"));
  settings.failures.scope = FailureScope::gpu;
  settings.failures.detection = Duration::s(100);
  settings.failures.log = {{at_s(20), {PartKind::gpu, 0}, Duration::zero()}};
  std::vector<JobSpec> jobs = {job("A", 0, 4, Duration::s(50)), job("B", 30, 3, Duration::s(10))};
  jobs[1].priority = 1;
  const FinishedRun run = run_jobs(jobs, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[1].placement, "host0:1-3");
  EXPECT_EQ(run.records[1].end, at_s(40));
  EXPECT_EQ(run.records[0].preemptions, 1U);
  EXPECT_EQ(run.records[0].lost_to_failures, Duration::s(10));
  EXPECT_EQ(run.records[0].end, at_s(120 + 30));
}

// Iterations of 10 s after 2 s to start. At 47 four have ended, and 5 s of the next are cut off;
// the checkpoint takes until 50. On the other host: 2 s to start, 60 s, and 3 s for the checkpoint
// after five iterations. The work on host 0 lasts from 50 to 100.
TEST(Maintenance, JobsMove) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(2);
  settings.checkpoints.every = 5;
  settings.checkpoints.write = Duration::s(3);
  settings.maintenance.drains = {{at_s(47), HostId(0), Duration::s(50)}};
  std::vector<JobSpec> jobs = {job("A", 0, 4, Duration::s(100))};
  jobs[0].iterations = 10;
  const FinishedRun run = run_jobs(jobs, ClusterState(2, 4), std::move(settings));
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(50 + 2 + 60 + 3));
  EXPECT_EQ(record.placement, "host1:0-3");
  EXPECT_EQ(record.moves, 1U);
  EXPECT_EQ(record.lost_to_moves, Duration::s(5));
  EXPECT_EQ(record.checkpointing, Duration::s(3 + 3));
  EXPECT_EQ(record.useful(), Duration::s(100));
  EXPECT_EQ(record.preemptions + record.failures, 0U);
  EXPECT_DOUBLE_EQ(run.counters.out_gpu_s, 4 * 50.0);
  EXPECT_DOUBLE_EQ(run.counters.draining_gpu_s, 4 * 3.0) << "while its checkpoint is written";
}

// A ends at 100; the work takes until 150, when B gets both hosts.
TEST(Maintenance, OrTheWorkWaits) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.maintenance.moves_jobs = false;
  settings.maintenance.drains = {{at_s(47), HostId(0), Duration::s(50)}};
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(100)), job("B", 60, 8, Duration::s(10))}, ClusterState(2, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(100));
  EXPECT_EQ(run.records[0].moves, 0U);
  EXPECT_EQ(run.records[1].start, at_s(150));
}

// From 17 on host 0 gets no new jobs. At 47 A moves to host 2, a hot spare, as host 1 is full.
TEST(Maintenance, IsAnnouncedAndHasSpares) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.hot_spares = 1;
  settings.maintenance.notice = Duration::s(30);
  settings.maintenance.drains = {{at_s(47), HostId(0), Duration::s(50)}};
  const FinishedRun run = run_jobs({job("A", 0, 2, Duration::s(100)), job("B", 16, 1, Duration::s(10)),
                                    job("C", 17, 1, Duration::s(10)), job("D", 20, 3, Duration::s(90))},
                                   ClusterState(3, 4), std::move(settings));
  EXPECT_EQ(run.records[1].placement, "host0:2");
  EXPECT_EQ(run.records[2].placement, "host1:0");
  EXPECT_EQ(run.records[0].placement, "host2:0-1");
  EXPECT_EQ(run.records[0].end, at_s(100));
}

TEST(FailingClusters, NobodyWaitsForEverWithoutBeingNamed) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.log = {{at_s(20), {PartKind::host, 0}, Duration::max()}};
  const FinishedRun run = run_jobs_as_far_as_they_get({job("A", 0, 4, Duration::s(50))}, ClusterState(1, 4), std::move(settings));
  ASSERT_TRUE(run.never_repaired);
  EXPECT_EQ(run.never_repaired->code, "never-repaired");
  EXPECT_EQ(run.never_repaired->message,
            "the run ends with jobs that never got GPUs again: job \"A\" waits for 4 GPUs; 4 of 4 GPUs are out of service");
}

// Host 0 fails after 5 s, is repaired in 1, and so on, `count` times; iterations take 10 s. More
// may fail one day, so that the end of the log is not the end of failures.
JobLifecycleSettings fails_again_and_again(int count) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.setbacks_max = 20;
  settings.checkpoints.every = 1;
  settings.failures.mtbf_h[static_cast<std::size_t>(PartKind::gpu)] = 1e9;
  for (int i = 0; i < count; ++i) settings.failures.log.push_back(host_fails(5 + 6 * i, 0, 1));
  return settings;
}

JobSpec in_iterations(JobSpec spec, std::uint64_t iterations) {
  spec.iterations = iterations;
  return spec;
}

// Each cycle is a failure and a stop. After 10 cycles, and the repair at 60 s, the job was stopped
// too seldom to be given up. After 10 more, at 120 s, it was not.
TEST(Standstill, IsFoundWhereNothingIsKept) {
  const FinishedRun run = run_jobs_as_far_as_they_get({in_iterations(job("A", 0, 4, Duration::s(100)), 10)}, ClusterState(1, 4),
                                                      fails_again_and_again(1'000));
  ASSERT_TRUE(run.standstill);
  EXPECT_EQ(run.standstill->at, at_s(120));
  EXPECT_EQ(run.standstill->why.code, "no-progress");
  EXPECT_EQ(run.standstill->why.message,
            "no job gets on: in the last 60 s 10 parts failed, and 10 starts of jobs came to nothing; job \"A\" is running, "
            "and was stopped 20 times in a row before any of its work was kept, after 5 s on average");
  EXPECT_EQ(run.counters.failures, 20U) << "what was to come is left";
}

TEST(Standstill, IsNoneWithoutABound) {
  JobLifecycleSettings settings = fails_again_and_again(200);
  settings.setbacks_max = 0;
  const FinishedRun run = run_jobs({in_iterations(job("A", 0, 4, Duration::s(100)), 10)}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(200 * 6 + 100));
}

// Every fifteenth time the host holds for 11 s: an iteration is kept.
TEST(Standstill, IsNoneWhereSomethingIsKept) {
  JobLifecycleSettings settings = fails_again_and_again(0);
  std::int64_t at = 0;
  for (int i = 1; i <= 150; ++i) {
    at += i % 15 == 0 ? 11 : 5;
    settings.failures.log.push_back(host_fails(at, 0, 1));
    at += 1;
  }
  const FinishedRun run = run_jobs({in_iterations(job("A", 0, 4, Duration::s(200)), 20)}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(at + 100));
}

// B needs longer than A's host needs to fail 1,000 times, and writes no checkpoint; A gets B's
// host.
TEST(Standstill, IsNoneWhileAnotherJobRuns) {
  JobLifecycleSettings settings = fails_again_and_again(1'000);
  const FinishedRun run = run_jobs({in_iterations(job("A", 0, 4, Duration::s(100)), 10), job("B", 1, 4, Duration::s(10'000))},
                                   ClusterState(2, 4), std::move(settings));
  EXPECT_EQ(run.records[1].end, at_s(10'001));
  EXPECT_EQ(run.records[0].end, at_s(6'000 + 100)) << "when its host fails no more";
}

// The job needs both hosts. One is drained until 3,000 s, while the other fails 400 times and
// nobody can run.
TEST(Standstill, IsNoneWhileHostsComeBack) {
  JobLifecycleSettings settings = fails_again_and_again(400);
  settings.maintenance.drains = {{at_s(0), HostId(1), Duration::s(3'000)}};
  const FinishedRun run = run_jobs({job("A", 1, 8, Duration::s(50))}, ClusterState(2, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(3'050));
}

// The same, as the other host is repaired in 3,000 s.
TEST(Standstill, IsNoneWhileRepairsThatTakeLongAreUnderWay) {
  JobLifecycleSettings settings = fails_again_and_again(400);
  settings.failures.log.insert(settings.failures.log.begin(), host_fails(1, 1, 2'999));
  const FinishedRun run = run_jobs({job("A", 2, 8, Duration::s(50))}, ClusterState(2, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(3'050));
}

TEST(Standstill, IsNoneBeforeTheLastJobHasCome) {
  const FinishedRun run = run_jobs({job("A", 0, 4, Duration::s(1)), job("B", 10'000, 4, Duration::s(50))}, ClusterState(1, 4),
                                   fails_again_and_again(1'000));
  EXPECT_EQ(run.records[1].end, at_s(10'050));
}

// What fails by a log alone ends with it: the job runs when it is over.
TEST(Standstill, IsNoneWhereALogEnds) {
  JobLifecycleSettings settings = fails_again_and_again(1'000);
  settings.failures.mtbf_h = {};
  const FinishedRun run = run_jobs({in_iterations(job("A", 0, 4, Duration::s(100)), 10)}, ClusterState(1, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(6'000 + 100));
}

// All hosts fail at once, and work again 10 s later, when it is known that they failed, and 60 s
// later. The job comes meanwhile.
TEST(Standstill, IsNoneForAJobThatHasJustCome) {
  JobLifecycleSettings settings = fails_again_and_again(0);
  settings.failures.detection = Duration::s(600);
  for (std::uint32_t host = 0; host < 100; ++host) settings.failures.log.push_back(host_fails(100, host, 60));
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(50)), job("B", 200, 4, Duration::s(50))}, ClusterState(100, 4), std::move(settings));
  EXPECT_EQ(run.records[1].end, at_s(100 + 600 + 60 + 50));
}

// The job needs two hosts. One never works again, and the other fails again and again while the
// spare boots.
TEST(Standstill, IsNoneWhileASpareBoots) {
  JobLifecycleSettings settings = fails_again_and_again(400);
  settings.failures.cold_spares = 1;
  settings.failures.cold_start = Duration::s(3'000);
  settings.failures.log.insert(settings.failures.log.begin(), {at_s(1), {PartKind::host, 1}, Duration::max()});
  const FinishedRun run = run_jobs({job("A", 2, 8, Duration::s(50))}, ClusterState(3, 4), std::move(settings));
  EXPECT_EQ(run.records[0].end, at_s(3'001 + 50));
}

// The drained host's job runs for 1,000 s; the work on it takes 2,000 s from there, while the other
// host fails 400 times.
TEST(Standstill, IsNoneWhileADrainHasWaited) {
  JobLifecycleSettings settings = fails_again_and_again(0);
  for (int i = 0; i < 400; ++i) settings.failures.log.push_back(host_fails(1'005 + 5 * i, 0, 1));
  settings.maintenance.moves_jobs = false;
  settings.maintenance.drains = {{at_s(10), HostId(1), Duration::s(2'000)}};
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(1'000)), job("B", 1, 4, Duration::s(1'000)), job("C", 2, 8, Duration::s(50))},
               ClusterState(2, 4), std::move(settings));
  EXPECT_GE(*run.records[2].end, at_s(3'000 + 50));
}

// Of two hosts that the job needs one is out at any time: it never runs. It came during the first
// 20 failures, of which the last, at 39 s, is mended at 42 s. 20 more come by 81 s, mended at 84 s,
// and one meanwhile.
TEST(Standstill, IsFoundWhereNobodyRuns) {
  JobLifecycleSettings settings = fails_again_and_again(0);
  for (int i = 0; i < 1'000; ++i) settings.failures.log.push_back(host_fails(1 + 2 * i, static_cast<std::uint32_t>(i % 2), 3));
  const FinishedRun run = run_jobs_as_far_as_they_get({job("A", 2, 8, Duration::s(50))}, ClusterState(2, 4), std::move(settings));
  ASSERT_TRUE(run.standstill);
  EXPECT_EQ(run.standstill->why.message, "no job gets on: in the last 42 s 21 parts failed; job \"A\" waits for 8 GPUs");
}

// Expected time of W of work in segments of tau, each but the last with a checkpoint of delta,
// restarts of R (the first start as well) that may fail too, failures exponential with mean M and
// repaired at once: phases follow each other, and one of length s takes M (e^(s/M) - 1) on the mean
// if a failure leads to it again after a restart, which makes it M e^(R/M) (e^(s/M) - 1) (Daly, "A
// higher order estimate of the optimum checkpoint interval for restart dumps", 2006, equation 20).
double expected_h(double work, double tau, double delta, double restart, double mtbf) {
  double sum = mtbf * std::expm1(restart / mtbf);
  for (double done = 0; done < work - 1e-9; done += tau) {
    const bool last = done + tau >= work - 1e-9;
    sum += mtbf * std::exp(restart / mtbf) * std::expm1((last ? work - done : tau + delta) / mtbf);
  }
  return sum;
}

double simulated_h(double work, double tau, double delta, double restart, double mtbf) {
  const auto hours = [](double h) { return Duration::from_seconds(3600 * h); };
  constexpr std::uint32_t hosts = 2000;
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = hours(restart);
  settings.checkpoints.interval = hours(tau);
  settings.checkpoints.write = hours(delta);
  settings.failures.mtbf_h[static_cast<std::size_t>(PartKind::host)] = mtbf;
  settings.seed = 3;
  const std::vector<JobSpec> jobs(hosts, job("job", 0, 1, hours(work)));
  const FinishedRun run = run_jobs(jobs, ClusterState(hosts, 1), std::move(settings));
  double sum = 0;
  for (const JobRecord& record : run.records) {
    EXPECT_EQ(record.useful(), hours(work));
    sum += record.completion().in_s() / 3600;
  }
  return sum / hosts;
}

TEST(FailingClusters, CompletionIsThatOfDaly) {
  struct Case {
    double tau, delta, restart, mtbf;
  };
  for (const Case& c : {Case{1, 1.0 / 12, 1.0 / 6, 8}, Case{2, 0.1, 0.25, 4}, Case{0.5, 0.05, 0.05, 24}, Case{5, 0.5, 0, 100}}) {
    const double expected = expected_h(50, c.tau, c.delta, c.restart, c.mtbf);
    // The bar is 3 %; 2,000 jobs are precise to about half a percent.
    EXPECT_NEAR(simulated_h(50, c.tau, c.delta, c.restart, c.mtbf) / expected, 1, 0.015) << c.tau << " " << c.mtbf;
  }
}

// Daly's first-order optimum, sqrt(2 delta M) - delta, is better than a third of it and three times
// as much.
TEST(FailingClusters, TheBestIntervalIsDalys) {
  const double delta = 0.05;
  const double mtbf = 10;
  const double best = std::sqrt(2 * delta * mtbf) - delta;  // 0.95 h
  const double at_best = simulated_h(50, best, delta, 0.1, mtbf);
  EXPECT_LT(at_best, 0.97 * simulated_h(50, best / 3, delta, 0.1, mtbf));
  EXPECT_LT(at_best, 0.97 * simulated_h(50, best * 3, delta, 0.1, mtbf));
}

// --- Random traces on random failing clusters, every policy --------------------------------------

class EveryPolicyWithFailures : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryPolicyWithFailures, testing::ValuesIn(policy_names()),
                         [](const auto& given) { return given.param; });

TEST_P(EveryPolicyWithFailures, FinishesExactlyTheWork) {
  std::uint64_t elastic_restarts = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t hosts = 2 + random() % 4;
    const std::uint32_t size = 1 + random() % 4;
    const std::uint32_t spares = random() % 2 == 0 ? 0 : random() % (hosts - 1);
    const std::uint32_t hot = spares == 0 ? 0 : random() % (spares + 1);
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 30; ++i) {
      jobs.push_back(
          job("job" + std::to_string(i), random() % 60, 1 + random() % ((hosts - spares) * size), Duration::s(random() % 20)));
      jobs.back().priority = static_cast<std::int32_t>(random() % 3);
      if (random() % 2 == 0) jobs.back().iterations = 1 + random() % 20;
      if (jobs.back().gpus > 1 && random() % 3 == 0) jobs.back().min_gpus = 1 + random() % (jobs.back().gpus - 1);
    }
    sort_by_submission(jobs);
    const ClusterState cluster(hosts, size);
    std::vector<LoggedFailure> log;
    for (int i = 0; i < 12; ++i) {
      const auto kind = part_kinds[random() % 3];
      log.push_back({at_s(random() % 150),
                     {kind, static_cast<std::uint32_t>(random() % part_count(kind, cluster))},
                     Duration::s(random() % 40)});
    }
    std::vector<Drain> drains;
    for (int i = 0; i < 3; ++i) {
      drains.push_back({at_s(random() % 150), HostId(random() % hosts), Duration::s(random() % 40)});
    }
    std::sort(drains.begin(), drains.end(), [](const Drain& a, const Drain& b) { return a.at < b.at; });
    const Duration notice = Duration::s(random() % 2 == 0 ? 0 : random() % 30);
    const bool moves_jobs = random() % 2 == 0;
    const FailureScope scope = random() % 2 == 0 ? FailureScope::gpu : FailureScope::host;
    const Duration detection = Duration::s(random() % 5);
    const Duration overhead = Duration::s(random() % 3);
    const CheckpointPlan plan{random() % 5, Duration::s(random() % 6), Duration::s(random() % 3)};
    Attempts attempts;
    const auto settings = [&](JobObserver* observer) {
      JobLifecycleSettings result = settings_with(policy_called(GetParam()), observer);
      const auto& placer = placers()[seed % placers().size()];
      result.placer = placer.make(ParamSet(std::string(placer.info.name), placer.info.params), {});
      result.start_overhead = overhead;
      result.checkpoints = plan;
      result.failures.scope = scope;
      result.failures.detection = detection;
      result.failures.cold_start = Duration::s(7);
      result.failures.hot_spares = hot;
      result.failures.cold_spares = spares - hot;
      result.failures.log = log;
      result.maintenance = {drains, notice, moves_jobs};
      return result;
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    const FinishedRun run = run_jobs(jobs, cluster, settings(&attempts));

    double of_jobs_gpu_s = 0;
    for (const JobRecord& record : run.records) of_jobs_gpu_s += record.run_whole.in_s() * record.gpus;
    EXPECT_NEAR(run.counters.busy_gpu_s, of_jobs_gpu_s, 1e-6);
    std::set<JobId> have_run;
    for (const AttemptLog::Entry& attempt : attempts.entries()) {
      const JobSpec& spec = jobs[attempt.job.index()];
      const bool is_restart = !have_run.insert(attempt.job).second;
      EXPECT_TRUE(attempt.gpus.size() == spec.gpus || (is_restart && spec.min_gpus > 0 && attempt.gpus.size() >= spec.min_gpus));
      for (const LoggedFailure& failure : log) {
        const Time known = failure.at + detection;
        const Time works = known + *failure.repair;
        bool needs_it = false;
        for (const GpuSlot slot : gpus_without(failure.part, scope, cluster)) {
          for (const auto& [host, local] : attempt.gpus) needs_it |= cluster.slot(HostId(host), local) == slot;
        }
        if (!needs_it) continue;
        EXPECT_FALSE(attempt.start >= failure.at && attempt.start < works) << "starts on GPUs that are out of service";
        const bool is_hit = attempt.start < failure.at && attempt.end > failure.at;
        EXPECT_TRUE(!is_hit || attempt.end <= known) << "goes on after a failure";
      }
      for (const Drain& drain : drains) {
        const bool is_there =
            std::any_of(attempt.gpus.begin(), attempt.gpus.end(), [&](const auto& gpu) { return gpu.first == drain.host.index(); });
        if (!is_there) continue;
        EXPECT_FALSE(attempt.start >= drain.at - notice && attempt.start < drain.at + drain.duration) << "starts on a drained host";
        const bool is_hit = moves_jobs && attempt.start < drain.at && attempt.end > drain.at;
        // A failure while it writes is known later.
        EXPECT_TRUE(!is_hit || attempt.end <= drain.at + plan.write + detection) << "stays on a drained host";
      }
    }
    EXPECT_EQ(attempts.double_booking(), "");
    EXPECT_NEAR(run.counters.busy_gpu_s, attempts.gpu_s(), 1e-6);
    const auto [busy, stranded, waited] = attempts.integrals(run.counters.last_end);
    EXPECT_NEAR(busy, run.counters.busy_gpu_s, 1e-6);
    EXPECT_NEAR(stranded, run.counters.stranded_gpu_s, 1e-6);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobRecord& record = run.records[i];
      if (record.elastic_restarts == 0) {
        EXPECT_EQ(record.useful(), jobs[i].duration.mean()) << "job " << i;
        EXPECT_EQ(record.run_whole, record.run) << "job " << i;
      } else {
        EXPECT_NEAR(record.useful().in_s(), jobs[i].duration.mean().in_s(), 1e-8) << "job " << i;
        EXPECT_LT(record.run_whole, record.run) << "job " << i;
      }
      EXPECT_EQ(record.completion(), record.wait + record.run) << "job " << i;
      EXPECT_EQ(record.overhead > Duration::zero(), overhead > Duration::zero()) << "job " << i;
      EXPECT_LE(record.restarts, record.preemptions + record.failures + record.moves) << "job " << i;
    }
    EXPECT_EQ(run_jobs(jobs, cluster, settings(nullptr), 2).report.fingerprint.value(), run.report.fingerprint.value());
    elastic_restarts += run.counters.elastic_restarts;
  }
  EXPECT_GT(elastic_restarts, 10U);
}

}  // namespace
}  // namespace weft::failing_clusters_test
