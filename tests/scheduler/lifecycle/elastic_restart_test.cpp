// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/elastic_restart.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/placement/first_fit.hpp"
#include "tests/scheduler/pretend_host.hpp"

namespace weft::elastic_restart_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::HostedRun;
using testing_scheduler::Iterations;
using testing_scheduler::IterationTime;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::run_jobs;
using testing_scheduler::run_on_hosts;
using testing_scheduler::settings_with;
using testing_scheduler::workload_job;

JobSpec elastic(std::string name, std::int64_t submit_s, std::uint32_t gpus, std::uint32_t min_gpus, Duration duration) {
  JobSpec spec = job(std::move(name), submit_s, gpus, duration);
  spec.min_gpus = min_gpus;
  return spec;
}

/// With workloads of as many ranks instead.
JobSpec elastic_workload(std::string name, std::uint32_t gpus, const std::vector<std::uint32_t>& smaller,
                         std::uint64_t iterations) {
  JobSpec spec = workload_job(std::move(name), at_s(0), gpus, iterations);
  for (const std::uint32_t ranks : smaller) spec.smaller_workloads.push_back(workload_job("", at_s(0), ranks, 1).workload);
  return spec;
}

LoggedFailure host_fails(std::int64_t at, std::uint32_t host, std::int64_t repair) {
  return {at_s(at), {PartKind::host, host}, Duration::s(repair)};
}

TEST(ElasticRestart, TimesKeepTheGpuTime) {
  EXPECT_EQ(time_on_fewer(Duration::s(30), 8, 8), Duration::s(30));
  EXPECT_EQ(time_on_fewer(Duration::s(30), 8, 6), Duration::s(40));
  EXPECT_EQ(time_on_all(Duration::s(40), 8, 6), Duration::s(30));
  // Rounded up, and back again to the same.
  EXPECT_EQ(time_on_fewer(Duration::ticks(10), 8, 7), Duration::ticks(12));
  EXPECT_EQ(time_on_all(Duration::ticks(12), 8, 7), Duration::ticks(10));
  EXPECT_EQ(time_on_fewer(Duration::max(), 2, 1), Duration::max());
}

TEST(ElasticRestart, TakesTheMostThatFits) {
  ClusterState cluster(2, 4);
  const FirstFit placer(false);
  cluster.take(JobId(0), {{GpuSlot(0), GpuSlot(1), GpuSlot(2)}});
  const auto found = [&](const JobSpec& spec) {
    const auto placement = place_smaller(spec, cluster, placer);
    return placement ? placement->gpus.size() : 0;
  };
  EXPECT_EQ(found(elastic("A", 0, 8, 2, Duration::s(1))), 5U);
  EXPECT_EQ(found(elastic("A", 0, 8, 5, Duration::s(1))), 5U);
  EXPECT_EQ(found(elastic("A", 0, 8, 6, Duration::s(1))), 0U);
  EXPECT_EQ(found(elastic("A", 0, 4, 2, Duration::s(1))), 3U);  // never all
  EXPECT_EQ(found(job("A", 0, 4, Duration::s(1))), 0U);
  EXPECT_EQ(found(elastic_workload("A", 8, {6, 4, 2}, 1)), 4U);
  EXPECT_EQ(found(elastic_workload("A", 8, {6}, 1)), 0U);
}

TEST(ElasticRestart, KnowsWhatAJobMayRestartOn) {
  const JobSpec timed = elastic("A", 0, 8, 3, Duration::s(1));
  EXPECT_EQ(least_gpus(timed), 3U);
  EXPECT_TRUE(may_restart_on(timed, 3) && may_restart_on(timed, 7) && may_restart_on(timed, 8));
  EXPECT_FALSE(may_restart_on(timed, 2) || may_restart_on(timed, 9));
  EXPECT_EQ(least_gpus(job("A", 0, 8, Duration::s(1))), 8U);
  const JobSpec ranks = elastic_workload("A", 8, {6, 2}, 1);
  EXPECT_EQ(least_gpus(ranks), 2U);
  EXPECT_TRUE(may_restart_on(ranks, 6) && may_restart_on(ranks, 2) && may_restart_on(ranks, 8));
  EXPECT_FALSE(may_restart_on(ranks, 4));
  EXPECT_EQ(workload_on(ranks, 6)->rank_count, 6U);
  EXPECT_EQ(workload_on(ranks, 8), ranks.workload);
}

TEST(ElasticRestart, RefusesWhatIsNotSmaller) {
  const auto errors_of = [](const JobSpec& spec) {
    Diagnostics diagnostics;
    check_elastic(spec, diagnostics);
    std::vector<std::string> codes;
    for (const Diagnostic& diagnostic : diagnostics.all()) codes.push_back(diagnostic.code);
    return codes;
  };
  EXPECT_EQ(errors_of(elastic("A", 0, 8, 7, Duration::s(1))), std::vector<std::string>{});
  EXPECT_EQ(errors_of(elastic("A", 0, 8, 8, Duration::s(1))), std::vector<std::string>{"min-gpus"});
  EXPECT_EQ(errors_of(elastic_workload("A", 8, {4, 2}, 1)), std::vector<std::string>{});
  EXPECT_EQ(errors_of(elastic_workload("A", 8, {8}, 1)), std::vector<std::string>{"elastic-ranks"});
  EXPECT_EQ(errors_of(elastic_workload("A", 8, {2, 4, 1}, 1)), std::vector<std::string>{"elastic-ranks"});
}

// At 50 s half of the GPUs fail for long; the other half does the second half of the work in 100 s.
TEST(ElasticRestart, TheSameWorkTakesLonger) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.log = {host_fails(50, 1, 10'000)};
  const FinishedRun run = run_jobs({elastic("A", 0, 8, 4, Duration::s(100))}, ClusterState(2, 4), std::move(settings));
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(150));
  EXPECT_EQ(record.placement, "host0:0-3");
  EXPECT_EQ(record.elastic_restarts, 1U);
  EXPECT_EQ(record.run, Duration::s(150));
  EXPECT_EQ(record.run_whole, Duration::s(100));
  EXPECT_EQ(record.useful(), Duration::s(100));
  EXPECT_EQ(run.counters.elastic_restarts, 1U);
  EXPECT_DOUBLE_EQ(run.counters.busy_gpu_s, 8 * 100.0);
}

// Iterations of 10 s, a checkpoint after each second one. Host 1 fails at 45 s: 5 s are lost. On
// host 0 an iteration takes 20 s; it fails at 95, with two more kept and 10 s on half of the GPUs
// lost. From 105 on host 1 works again, and does the other four by 185.
TEST(ElasticRestart, CountsWhatIsLostByTheGpusHeld) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.checkpoints.every = 2;
  settings.failures.log = {host_fails(45, 1, 60), host_fails(95, 0, 1'000)};
  std::vector<JobSpec> jobs = {elastic("A", 0, 8, 2, Duration::s(100))};
  jobs[0].iterations = 10;
  const FinishedRun run = run_jobs(jobs, ClusterState(2, 4), std::move(settings));
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(185));
  EXPECT_EQ(record.placement, "host1:0-3");
  EXPECT_EQ(record.restarts, 2U);
  EXPECT_EQ(record.elastic_restarts, 2U);
  EXPECT_EQ(record.run, Duration::s(45 + 50 + 80));
  EXPECT_EQ(record.run_whole, Duration::s(45 + 25 + 40));
  EXPECT_EQ(record.lost_to_failures, Duration::s(5 + 5));
  EXPECT_EQ(record.mean_iteration, Duration::s(10));
  EXPECT_DOUBLE_EQ(run.counters.lost_to_failures_gpu_s, 8 * 10.0);
}

// B holds a GPU until 30 s. A has not run before and waits for all of its own.
TEST(ElasticRestart, StartsWhole) {
  const FinishedRun run =
      run_jobs({job("B", 0, 1, Duration::s(30)), elastic("A", 1, 4, 2, Duration::s(10))}, ClusterState(1, 4), fcfs_first_fit());
  EXPECT_EQ(run.records[1].start, at_s(30));
  EXPECT_EQ(run.records[1].elastic_restarts, 0U);
}

// A job grows again when it restarts and finds all of its GPUs: host 1 works again at 60 s, and at
// 70 host 0 is drained.
TEST(ElasticRestart, GrowsAtItsNextRestart) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.log = {host_fails(20, 1, 40)};
  settings.maintenance.drains = {{at_s(70), HostId(0), Duration::s(10)}};
  const FinishedRun run = run_jobs({elastic("A", 0, 8, 4, Duration::s(100))}, ClusterState(3, 4), std::move(settings));
  // 20 s on hosts 0 and 1; then on 0 and 2, all that it wants.
  EXPECT_EQ(run.records[0].elastic_restarts, 0U);
  EXPECT_EQ(run.records[0].placement, "host1-2:0-3");
  EXPECT_EQ(run.records[0].end, at_s(100));
}

// After the failure A, of a higher priority, takes B's GPUs rather than fewer; without a priority
// it takes the four that are free.
TEST(ElasticRestart, TakesAllFromOthersRatherThanFewer) {
  for (const std::int32_t priority : {1, 0}) {
    JobLifecycleSettings settings = settings_with(policy_called("priority"));
    settings.failures.log = {host_fails(20, 1, 10'000)};
    std::vector<JobSpec> jobs = {elastic("A", 0, 8, 4, Duration::s(100)), job("B", 0, 4, Duration::s(1'000))};
    jobs[0].priority = priority;
    const FinishedRun run = run_jobs(jobs, ClusterState(3, 4), std::move(settings));
    EXPECT_EQ(run.records[0].end, at_s(priority > 0 ? 100 : 20 + 160)) << priority;
    EXPECT_EQ(run.records[1].preemptions, priority > 0 ? 1U : 0U);
  }
}

// Only half of the cluster is left for good. Strict FCFS would wait for ever.
TEST(ElasticRestart, EveryPolicyRestartsThem) {
  for (const std::string& policy : testing_scheduler::policy_names()) {
    JobLifecycleSettings settings = settings_with(policy_called(policy));
    settings.failures.log = {{at_s(50), {PartKind::host, 1}, Duration::max()}};
    const std::vector<JobSpec> jobs = {elastic("A", 0, 8, 3, Duration::s(100)), elastic("B", 10, 4, 3, Duration::s(40))};
    const FinishedRun run = run_jobs(jobs, ClusterState(2, 4), std::move(settings));
    EXPECT_GT(run.records[0].elastic_restarts, 0U) << policy;
    EXPECT_EQ(run.records[0].useful(), Duration::s(100)) << policy;
    EXPECT_EQ(run.records[1].useful(), Duration::s(40)) << policy;
  }
}

// Host 1 fails for good at 20 s, and A waits for six GPUs of host 0: B, which holds four, declares
// to end at 100. C would hold the others until 130 and waits until A has ended; D ends in time.
TEST(ElasticRestart, BackfillReservesTheFewest) {
  JobLifecycleSettings settings = settings_with(policy_called("backfill"));
  settings.failures.detection = Duration::s(2);
  settings.failures.log = {{at_s(20), {PartKind::host, 1}, Duration::max()}};
  // B takes its GPUs when A has failed and nobody knows yet that A will need them: A asks for more
  // than there are.
  const std::vector<JobSpec> jobs = {job("B", 0, 4, Duration::s(100)), elastic("A", 1, 12, 6, Duration::s(60)),
                                     job("C", 30, 4, Duration::s(100)), job("D", 40, 4, Duration::s(50))};
  const FinishedRun run = run_jobs(jobs, ClusterState(2, 8), std::move(settings));
  EXPECT_EQ(run.records[1].last_start, at_s(100));
  EXPECT_EQ(run.records[1].placement, "host0:0-7");
  EXPECT_EQ(run.records[3].start, at_s(40));
  // A has done 19 of its 60 s, and 41 s of 12 GPUs are 61.5 s of eight.
  EXPECT_EQ(run.records[1].end, at_s(100) + Duration::ms(61'500));
  EXPECT_EQ(run.records[2].start, run.records[1].end);
}

const IterationTime ten_seconds = [](JobId, RankId, std::uint32_t) { return Duration::s(10); };

// Iterations of 10 s, on two GPUs of 20 s. Host 1 fails at 35 s: three iterations are kept, and
// five more take 100 s.
TEST(ElasticRestart, OfWorkloadsASmallerOne) {
  Iterations observer;
  JobLifecycleSettings settings = fcfs_first_fit(&observer);
  settings.failures.log = {host_fails(35, 1, 10'000)};
  const HostedRun run = run_on_hosts({elastic_workload("A", 4, {3, 2}, 8)}, 2, 2, ten_seconds, std::move(settings));
  ASSERT_EQ(run.failure, "");
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.end, at_s(135) + Duration::us(20));
  EXPECT_EQ(record.placement, "host0:0-1");
  EXPECT_EQ(record.iterations, 8U);
  EXPECT_EQ(record.elastic_restarts, 1U);
  ASSERT_EQ(observer.records.size(), 8U);
  EXPECT_EQ(observer.records[3].iteration, 3U);
  EXPECT_EQ(observer.records[3].end - observer.records[3].start, Duration::s(20));
  // What it ran, whatever it ran it on.
  EXPECT_EQ(record.mean_iteration, Duration::ticks((Duration::s(3 * 10 + 5 * 20).in_ticks() + 4) / 8));
}

TEST(ElasticRestart, OfWorkloadsASmallerOneFastForwarded) {
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.fast_forward = 2;
  settings.failures.log = {host_fails(355, 1, 10'000)};
  const HostedRun run = run_on_hosts({elastic_workload("A", 4, {2}, 80)}, 2, 2, ten_seconds, std::move(settings));
  ASSERT_EQ(run.failure, "");
  EXPECT_EQ(run.records[0].end, at_s(355 + 45 * 20) + Duration::us(20));
  EXPECT_GT(run.fast_forward.skipped, 70U);
  EXPECT_EQ(run.fast_forward.jct_risk_mean_s, 0);
}

}  // namespace
}  // namespace weft::elastic_restart_test
