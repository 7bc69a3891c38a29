// SPDX-License-Identifier: Apache-2.0
// Each policy by hand, and what holds for every schedule of any of them.
#include "scheduler/policies/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/scheduler_run.hpp"

namespace weft::policies_test {
namespace {

using testing_scheduler::Attempts;
using testing_scheduler::FinishedRun;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::policy_names;
using testing_scheduler::run_jobs;
using testing_scheduler::settings_with;

/// Another policy, watched: `after` sees every pass when the policy is done with it.
class Watched final : public SchedulingPolicy {
 public:
  Watched(std::unique_ptr<SchedulingPolicy> policy, std::function<void(SchedulingPass&)> before,
          std::function<void(SchedulingPass&)> after)
      : policy_(std::move(policy)), before_(std::move(before)), after_(std::move(after)) {}
  void schedule(SchedulingPass& pass) override {
    before_(pass);
    policy_->schedule(pass);
    after_(pass);
  }

 private:
  std::unique_ptr<SchedulingPolicy> policy_;
  std::function<void(SchedulingPass&)> before_;
  std::function<void(SchedulingPass&)> after_;
};

std::vector<double> starts_s(const FinishedRun& run) {
  std::vector<double> starts;
  for (const JobRecord& record : run.records) starts.push_back(record.start->in_s());
  return starts;
}
std::vector<double> ends_s(const FinishedRun& run) {
  std::vector<double> ends;
  for (const JobRecord& record : run.records) ends.push_back(record.end->in_s());
  return ends;
}

// One host of 8. A holds 4 until 10. B wants 8, C and D 2 each, for 20 and 5 s; E wants 4 for 3 s.
std::vector<JobSpec> mixed() {
  return {job("A", 0, 4, Duration::s(10)), job("B", 1, 8, Duration::s(10)), job("C", 2, 2, Duration::s(20)),
          job("D", 3, 2, Duration::s(5)), job("E", 4, 4, Duration::s(3))};
}

TEST(Policies, FcfsWaitsForTheHead) {
  const FinishedRun run = run_jobs(mixed(), ClusterState(1, 8), settings_with(policy_called("fcfs")));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 10, 20, 20, 20}));
}

// C and D take what A leaves, E what they and A leave behind: B waits for all of them.
TEST(Policies, FcfsFillStartsTheFirstThatFits) {
  const FinishedRun run = run_jobs(mixed(), ClusterState(1, 8), settings_with(policy_called("fcfs_fill")));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 22, 2, 3, 10}));
}

// B can start at 10 at the earliest. C would end at 22 and needs what B needs; D ends at 8, and E,
// beside D, does not fit until then: at 8 it would end at 11, too late.
TEST(Policies, BackfillLetsPassWhoDoesNotDelayTheHead) {
  const FinishedRun run = run_jobs(mixed(), ClusterState(1, 8), settings_with(policy_called("backfill")));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 10, 20, 3, 20}));
}

// Two hosts of 4: A holds host 0 until 10, so B is promised host 0, and C may have a GPU of host 1
// for as long as it likes.
TEST(Policies, BackfillKeepsOffReservedGpusOnly) {
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(10)), job("a", 0, 2, Duration::s(50)), job("B", 1, 4, Duration::s(10)),
                job("C", 2, 1, Duration::s(100)), job("D", 3, 2, Duration::s(100))},
               ClusterState(2, 4), settings_with(policy_called("backfill")));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 0, 10, 2, 20}));
}

TEST(Policies, SjfStartsTheShortest) {
  const std::vector<JobSpec> jobs{job("A", 0, 8, Duration::s(10)), job("B", 1, 8, Duration::s(7)), job("C", 2, 8, Duration::s(3)),
                                  job("D", 3, 2, Duration::s(5))};
  EXPECT_EQ(starts_s(run_jobs(jobs, ClusterState(1, 8), settings_with(policy_called("sjf")))),
            (std::vector<double>{0, 18, 10, 13}));
  EXPECT_EQ(starts_s(run_jobs(jobs, ClusterState(1, 8), settings_with(policy_called("sjf", {{"by", "gpus"}})))),
            (std::vector<double>{0, 15, 22, 10}));
  // GPU-seconds: B 56, C 24, D 10.
  EXPECT_EQ(starts_s(run_jobs(jobs, ClusterState(1, 8), settings_with(policy_called("sjf", {{"by", "gpu_time"}})))),
            (std::vector<double>{0, 18, 15, 10}));
}

// A has 8 s left when B comes with 3, and 5 when C comes with 6.
TEST(Policies, SrtfPreemptsWhoHasMoreLeft) {
  const FinishedRun run =
      run_jobs({job("A", 0, 8, Duration::s(10)), job("B", 2, 8, Duration::s(3)), job("C", 8, 8, Duration::s(6))},
               ClusterState(1, 8), settings_with(policy_called("srtf")));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 2, 13}));
  EXPECT_EQ(ends_s(run), (std::vector<double>{13, 5, 19}));
  EXPECT_EQ(run.records[0].preemptions, 1U);
  EXPECT_EQ(run.records[0].restarts, 1U);
  EXPECT_EQ(run.records[0].wait, Duration::s(3));
  EXPECT_EQ(run.records[0].run, Duration::s(10));
  EXPECT_EQ(run.counters.preempted, 1U);
  EXPECT_EQ(run.counters.started, 4U);
}

// Whole iterations count: A has done 2 of 10 after 2.5 s, and half a second is lost. Each start
// takes 1 s more, of which B pays one, A two.
TEST(Policies, PreemptedJobsKeepWholeIterations) {
  std::vector<JobSpec> jobs{job("A", 0, 8, Duration::s(10)), job("B", 4, 8, Duration::s(3))};
  jobs[0].iterations = 10;
  jobs[0].submit = Time::zero() + Duration::ms(500);
  JobLifecycleSettings settings = settings_with(policy_called("srtf"));
  settings.start_overhead = Duration::s(1);
  const FinishedRun run = run_jobs(jobs, ClusterState(1, 8), std::move(settings));
  EXPECT_EQ(ends_s(run), (std::vector<double>{8 + 1 + 8, 8}));
  EXPECT_EQ(run.records[0].lost_to_preemptions, Duration::ms(500));
  EXPECT_EQ(run.records[0].run, Duration::ms(3500) + Duration::s(9));
  EXPECT_EQ(*run.records[0].mean_iteration, Duration::s(1));
}

// With rounds of 4 s B comes in at 4, though GPUs are asked for at 2 and free at 5, and A goes on
// at 8.
TEST(Policies, RoundsDelayWhatThePolicyDoes) {
  JobLifecycleSettings settings = settings_with(policy_called("srtf"));
  settings.round = Duration::s(4);
  const FinishedRun run =
      run_jobs({job("A", 0, 8, Duration::s(10)), job("B", 2, 8, Duration::s(1))}, ClusterState(1, 8), std::move(settings));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 4}));
  EXPECT_EQ(ends_s(run), (std::vector<double>{8 + 6, 5}));
  EXPECT_EQ(run.counters.stranded_gpu_s, 8 * 3.0);  // from 5 to 8, while A waits
}

// B's priority is higher than A's; C's is not, and waits though it came before D.
TEST(Policies, PriorityPreemptsLowerOnesOnly) {
  std::vector<JobSpec> jobs{job("A", 0, 4, Duration::s(10)), job("C", 1, 8, Duration::s(1)), job("B", 2, 8, Duration::s(3)),
                            job("D", 3, 8, Duration::s(2))};
  jobs[2].priority = 2;
  jobs[3].priority = 1;
  EXPECT_EQ(ends_s(run_jobs(jobs, ClusterState(1, 8), settings_with(policy_called("priority")))),
            (std::vector<double>{15, 16, 5, 7}));
  EXPECT_EQ(ends_s(run_jobs(jobs, ClusterState(1, 8), settings_with(policy_called("priority", {{"preempt", "false"}})))),
            (std::vector<double>{10, 16, 13, 15}));
}

// 8 GPUs, threshold 80 GPU-s = 10 s of all of them. A falls to the second queue at 10, when B,
// which came at 4, goes first; C, new at 15, goes after B, which started before it, as long as both
// are in the first queue; B ends at 18. Then C (5 s), then A.
TEST(Policies, TiresiasFavoursWhoHasHadLittle) {
  const FinishedRun run =
      run_jobs({job("A", 0, 8, Duration::s(30)), job("B", 4, 8, Duration::s(8)), job("C", 15, 8, Duration::s(5))},
               ClusterState(1, 8), settings_with(policy_called("tiresias", {{"queues", "2"}, {"threshold", "80s"}})));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 10, 18}));
  EXPECT_EQ(ends_s(run), (std::vector<double>{43, 18, 23}));
}

// One queue: C fills the GPUs that B cannot use, and keeps them when A ends at 10.
TEST(Policies, JobsOfOneQueueOfTiresiasDoNotStopEachOther) {
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(10)), job("B", 1, 8, Duration::s(5)), job("C", 2, 4, Duration::s(10))},
               ClusterState(1, 8), settings_with(policy_called("tiresias", {{"queues", "1"}})));
  EXPECT_EQ(ends_s(run), (std::vector<double>{10, 17, 12}));
  EXPECT_EQ(run.counters.preempted, 0U);
}

// Threshold 80 GPU-s = 10 s of all GPUs. A falls to the second queue at 10, B at 20, and goes
// behind A, which runs from 20 until C comes at 25. When that is done at 30, A goes on, as it was
// stopped: its other 85 s, then B's 90.
TEST(Policies, TiresiasGoesOnWithWhomItStopped) {
  const FinishedRun run =
      run_jobs({job("A", 0, 8, Duration::s(100)), job("B", 0, 8, Duration::s(100)), job("C", 25, 8, Duration::s(5))},
               ClusterState(1, 8), settings_with(policy_called("tiresias", {{"queues", "2"}, {"threshold", "80s"}})));
  EXPECT_EQ(ends_s(run), (std::vector<double>{115, 205, 30}));
}

// Host 1 fails at 10 for 10 h. The head of the queue needs both hosts; what waits behind it uses
// what is left, without any reservation.
TEST(Policies, BackfillGoesOnWhereGpusAreOutOfService) {
  JobLifecycleSettings settings = settings_with(policy_called("backfill"));
  settings.failures.detection = Duration::zero();
  settings.failures.log = {{Time::zero() + Duration::s(10), {PartKind::host, 1}, Duration::s(36'000)}};
  const FinishedRun run =
      run_jobs({job("A", 0, 4, Duration::s(100)), job("head", 20, 16, Duration::s(5)), job("B", 30, 1, Duration::s(60))},
               ClusterState(2, 8), std::move(settings));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 36'010, 30}));
}

struct Case {
  std::vector<std::uint32_t> hosts;
  std::vector<JobSpec> jobs;
};

Case random_case(std::uint32_t seed, bool alike_hosts) {
  std::mt19937 random(seed);
  Case result;
  result.hosts.resize(1 + random() % 6);
  const std::uint32_t size = 1 + random() % 8;
  std::uint32_t gpus = 0;
  for (std::uint32_t& host : result.hosts) gpus += host = alike_hosts ? size : 1 + random() % 8;
  const std::uint32_t span_s = 1 + random() % 100;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const std::uint32_t wanted = random() % 3 == 0 ? 1 + random() % gpus : 1 + random() % std::min(gpus, 4U);
    result.jobs.push_back(job("job" + std::to_string(i), random() % span_s, wanted, Duration::s(random() % 12)));
    result.jobs.back().priority = static_cast<std::int32_t>(random() % 3);
    if (random() % 2 == 0) result.jobs.back().iterations = 1 + random() % 20;
    if (random() % 3 == 0) result.jobs.back().group = "east";
    if (random() % 3 == 0) result.jobs.back().data_region = random() % 2;
  }
  sort_by_submission(result.jobs);
  return result;
}

class EveryPolicy : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, testing::ValuesIn(policy_names()), [](const auto& given) { return given.param; });

// Nobody holds a GPU that another holds; every job does exactly its work, whatever it lost; time
// and GPU time add up; and runs repeat.
TEST_P(EveryPolicy, GivesASchedule) {
  std::uint64_t preempted = 0;
  for (std::uint32_t seed = 0; seed < (WEFT_SANITIZED ? 40 : 150); ++seed) {
    const Case problem = random_case(seed, seed % 2 == 0);
    Attempts attempts;
    const auto settings = [&](JobObserver* observer) {
      std::vector<std::pair<std::string, std::string>> params;
      if (GetParam() == "tiresias") params = {{"queues", "3"}, {"threshold", "5s"}, {"growth", "4"}};
      if (GetParam() == "mast") {
        params = {{"ageing", "20s"},      {"large_first", "5s"}, {"reserve_after", "30s"},
                  {"quotas", "east:0.5"}, {"regions", "2"},      {"remote_after", "7s"}};
      }
      JobLifecycleSettings made = settings_with(policy_called(GetParam(), params), observer);
      made.start_overhead = Duration::ms(seed % 3 * 700);
      if (seed % 5 == 0) made.round = Duration::s(3);
      return made;
    };
    const FinishedRun run = run_jobs(problem.jobs, ClusterState(problem.hosts), settings(&attempts));
    EXPECT_EQ(attempts.double_booking(), "") << "seed " << seed;
    preempted += run.counters.preempted;
    double busy_gpu_s = 0;
    double waited_s = 0;
    for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
      const JobRecord& record = run.records[i];
      EXPECT_EQ(record.wait + record.run, record.completion());
      EXPECT_EQ(record.run, problem.jobs[i].duration.mean() + record.lost_to_preemptions + record.overhead)
          << "seed " << seed << " job " << i;
      // Of an iteration that was cut off, no more than the whole.
      const Duration longest =
          problem.jobs[i].iterations == 0
              ? Duration::zero()
              : Duration::ticks(problem.jobs[i].duration.mean().in_ticks() / static_cast<std::int64_t>(problem.jobs[i].iterations) +
                                1);
      EXPECT_LE(record.lost_to_preemptions, longest * std::int64_t{record.preemptions}) << "seed " << seed << " job " << i;
      EXPECT_LE(record.overhead, Duration::ms(seed % 3 * 700) * std::int64_t{record.restarts + 1});
      EXPECT_EQ(record.restarts, record.preemptions);
      busy_gpu_s += record.run.in_s() * record.gpus;
      waited_s += record.wait.in_s();
    }
    EXPECT_NEAR(attempts.gpu_s(), busy_gpu_s, 1e-9 * (1 + busy_gpu_s));
    const auto [busy, stranded, waited] = attempts.integrals(run.counters.last_end);
    EXPECT_NEAR(busy, busy_gpu_s, 1e-9 * (1 + busy_gpu_s));
    EXPECT_NEAR(stranded, run.counters.stranded_gpu_s, 1e-9 * (1 + stranded));
    EXPECT_NEAR(waited, waited_s, 1e-9 * (1 + waited_s));
    EXPECT_NEAR(run.counters.busy_gpu_s, busy_gpu_s, 1e-9 * (1 + busy_gpu_s));
    EXPECT_NEAR(run.counters.queue_length_mean * run.counters.last_end.in_s(), waited_s, 1e-9 * (1 + waited_s));
    EXPECT_EQ(run.report.fingerprint.to_text(),
              run_jobs(problem.jobs, ClusterState(problem.hosts), settings(nullptr), 2).report.fingerprint.to_text());
  }
  EXPECT_EQ(preempted > 0, policy_called(GetParam())->preempts());
}

// The head of the queue has to start by the time at which it could if nobody else started any more,
// running jobs ending as they declare.
TEST(Policies, BackfillNeverDelaysTheHead) {
  std::uint64_t overtaken = 0;
  for (std::uint32_t seed = 0; seed < (WEFT_SANITIZED ? 80 : 300); ++seed) {
    const Case problem = random_case(seed, seed % 2 == 0);
    std::map<JobId, Time> latest;
    const auto before = [&](SchedulingPass& pass) {
      if (pass.queue().empty()) return;
      const JobId head = pass.queue().front();
      std::vector<std::pair<Time, JobId>> ends;
      for (const JobId running : pass.running())
        ends.emplace_back(*pass.job(running).since + problem.jobs[running.index()].duration.mean(), running);
      std::sort(ends.begin(), ends.end());
      ClusterState later = pass.cluster();
      Time at = pass.now();
      for (std::size_t i = 0; !pass.place(later, head); ++i) {
        ASSERT_LT(i, ends.size());
        later.release(ends[i].second, pass.placement(ends[i].second));
        at = std::max(at, ends[i].first);
      }
      const auto [known, is_new] = latest.emplace(head, at);
      known->second = std::min(known->second, at);
    };
    const FinishedRun run =
        run_jobs(problem.jobs, ClusterState(problem.hosts),
                 settings_with(std::make_unique<Watched>(policy_called("backfill"), before, [](SchedulingPass&) {})));
    for (const auto& [head, at] : latest)
      EXPECT_LE(*run.records[head.index()].start, at) << "seed " << seed << " job " << head.index();
    for (std::size_t i = 1; i < run.records.size(); ++i) overtaken += run.records[i].start < run.records[i - 1].start ? 1 : 0;
  }
  EXPECT_GT(overtaken, 300U);
}

// J needs what R holds and what is free, and S, which ranks behind R, keeps its GPUs.
TEST(Policies, OnlyThoseStopThatHaveTo) {
  std::vector<JobSpec> jobs{job("S", 0, 2, Duration::s(1000)), job("R", 0, 4, Duration::s(500)), job("J", 90, 5, Duration::s(10))};
  for (std::size_t i = 0; i < 3; ++i) jobs[i].priority = static_cast<std::int32_t>(i);
  const FinishedRun run = run_jobs(jobs, ClusterState(1, 8), settings_with(policy_called("priority")));
  EXPECT_EQ(ends_s(run), (std::vector<double>{1000, 510, 100}));
  EXPECT_EQ(run.counters.preempted, 1U);
}

// A declares 100 s on average and takes what it draws: how far it has come counts, so that it is
// not stopped by B and at once back before it.
TEST(Policies, WhatIsLeftIsOnTheScaleOfWhatIsDeclared) {
  for (std::uint64_t seed = 1; seed < (WEFT_SANITIZED ? 12 : 40); ++seed) {
    std::vector<JobSpec> jobs{job("A", 0, 4, Duration::zero()), job("B", 10, 4, Duration::s(60)),
                              job("C", 11, 4, Duration::s(1000))};
    jobs[0].duration = DurationModel::parse("uniform(10s,190s)", SourcePlace::named("test"));
    jobs[0].iterations = 1000;
    JobLifecycleSettings settings = settings_with(policy_called("srtf"));
    settings.seed = seed;
    const FinishedRun run = run_jobs(jobs, ClusterState(1, 4), std::move(settings));
    EXPECT_EQ(run.records[1].preemptions, 0U) << seed;
    // By 10 s A has done 10 s of what it takes, which is so much of 100 s.
    const double takes_s = jobs[0].duration.sample(seed, JobId(0)).in_s();
    EXPECT_EQ(run.records[0].preemptions, 100 - 100 * 10 / takes_s > 60 ? 1U : 0U) << seed << ", " << takes_s << " s";
  }
}

// After 900 s of 4 GPUs each has had its GPU-hour: A gives way to B at 900 s, and B to A, which
// fell first, at 1,800 s. The next threshold, a million GPU-hours, is beyond the clock.
TEST(Policies, TiresiasMayHaveThresholdsBeyondTheClock) {
  const FinishedRun run = run_jobs({job("A", 0, 4, Duration::s(90'000)), job("B", 10, 4, Duration::s(90'000))}, ClusterState(1, 4),
                                   settings_with(policy_called("tiresias", {{"threshold", "1h"}, {"growth", "1000000"}})));
  EXPECT_EQ(ends_s(run), (std::vector<double>{90'900, 180'000}));
  EXPECT_EQ(run.counters.preempted, 2U);
}

// One GPU of three stays free; only the first of ten thousand that want two is tried in each pass,
// so that this takes no time to speak of.
TEST(Policies, ServeLongQueues) {
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 10'000; ++i) jobs.push_back(job("job", 0, 2, Duration::s(1)));
  for (const char* policy : {"fcfs_fill", "sjf", "srtf", "priority"}) {
    EXPECT_EQ(run_jobs(jobs, ClusterState(1, 3), settings_with(policy_called(policy))).counters.makespan(), Duration::s(10'000))
        << policy;
  }
}

// When a pass of SRTF is over, nobody waits who would find a place on free GPUs and those of jobs
// that have more left.
TEST(Policies, SrtfLeavesNobodyWaitingForLongerJobs) {
  for (std::uint32_t seed = 0; seed < (WEFT_SANITIZED ? 40 : 150); ++seed) {
    const Case problem = random_case(seed, true);
    const auto after = [&](SchedulingPass& pass) {
      for (const JobId waiting : pass.queue()) {
        ClusterState without = pass.cluster();
        std::vector<JobId> longer;
        for (const JobId running : pass.running()) {
          if (std::pair(*pass.job(waiting).declared_left, waiting) < std::pair(*pass.job(running).declared_left, running))
            longer.push_back(running);
        }
        for (const JobId running : longer) without.release(running, pass.placement(running));
        EXPECT_FALSE(pass.place(without, waiting)) << "seed " << seed << " job " << waiting.index();
      }
    };
    run_jobs(problem.jobs, ClusterState(problem.hosts),
             settings_with(std::make_unique<Watched>(
                 policy_called("srtf"), [](SchedulingPass&) {}, after)));
  }
}

// All come at once and want equally many GPUs: no order has a lower mean completion time than the
// shortest first (SPT rule).
TEST(Policies, SjfIsNeverWorseThanFcfsForJobsOfOneSize) {
  for (std::uint32_t seed = 0; seed < (WEFT_SANITIZED ? 50 : 200); ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t gpus = 1 + random() % 4;
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 30; ++i) jobs.push_back(job("job" + std::to_string(i), 0, gpus, Duration::s(random() % 40)));
    const auto sum_s = [&](const char* policy) {
      double sum = 0;
      for (const JobRecord& record : run_jobs(jobs, ClusterState(3, 4), settings_with(policy_called(policy))).records)
        sum += record.completion().in_s();
      return sum;
    };
    EXPECT_LE(sum_s("sjf"), sum_s("fcfs")) << seed;
  }
}

}  // namespace
}  // namespace weft::policies_test
