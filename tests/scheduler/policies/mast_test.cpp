// SPDX-License-Identifier: Apache-2.0
// Mast by hand, one rule at a time, and its promises on random traces.
#include "scheduler/policies/mast.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/scheduler_run.hpp"

namespace weft::mast_test {
namespace {

using testing_scheduler::FinishedRun;
using testing_scheduler::gpus_of_text;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::run_jobs;
using testing_scheduler::settings_with;

using Settings = std::vector<std::pair<std::string, std::string>>;

FinishedRun run_mast(std::vector<JobSpec> jobs, ClusterState cluster, const Settings& settings) {
  return run_jobs(std::move(jobs), std::move(cluster), settings_with(policy_called("mast", settings)));
}

std::vector<double> starts_s(const FinishedRun& run) {
  std::vector<double> starts;
  for (const JobRecord& record : run.records) starts.push_back(record.start->in_s());
  return starts;
}

JobSpec with_priority(JobSpec job, std::int32_t priority) {
  job.priority = priority;
  return job;
}
JobSpec of_group(JobSpec job, const std::string& group) {
  job.group = group;
  return job;
}
JobSpec with_data_in(JobSpec job, std::uint32_t region) {
  job.data_region = region;
  return job;
}

/// Rank by submission alone.
Settings in_order(Settings more = {}) {
  more.insert(more.end(), {{"large_first", "0s"}, {"long_first", "0s"}});
  return more;
}

// A holds all 8 GPUs until 10; B, of 4, came before C, of 8.
TEST(Mast, LargeJobsGoBeforeThoseThatFillGaps) {
  const std::vector<JobSpec> jobs{job("A", 0, 8, Duration::s(10)), job("B", 1, 4, Duration::s(4)), job("C", 2, 8, Duration::s(5))};
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), {})), (std::vector<double>{0, 15, 10}));
  // One doubling is worth half a second only, C came a second later.
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), {{"large_first", "500ms"}, {"long_first", "0s"}})),
            (std::vector<double>{0, 10, 14}));
}

// 4 s and 8 s are one doubling apart.
TEST(Mast, LongJobsGoBeforeShortOnes) {
  const std::vector<JobSpec> jobs{job("A", 0, 8, Duration::s(10)), job("B", 1, 8, Duration::s(4)), job("C", 2, 8, Duration::s(8))};
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), {})), (std::vector<double>{0, 18, 10}));
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), in_order())), (std::vector<double>{0, 10, 14}));
}

// One step of priority is worth 5 s: of two jobs that wait for A, the higher one goes first if it
// came within 5 s of the other.
TEST(Mast, WaitingMakesUpForPriority) {
  for (const auto& [submit, low_starts, high_starts] : {std::tuple(5, 12, 10), std::tuple(7, 10, 12)}) {
    const FinishedRun run = run_mast({job("A", 0, 8, Duration::s(10)), job("low", 1, 8, Duration::s(2)),
                                      with_priority(job("high", submit, 8, Duration::s(2)), 1)},
                                     ClusterState(1, 8), in_order({{"ageing", "5s"}, {"preempt", "false"}}));
    EXPECT_EQ(starts_s(run), (std::vector<double>{0, double(low_starts), double(high_starts)})) << submit;
  }
}

// The job of priority 1 takes the place of whom of priority 0 started last; the one of priority 2
// runs on.
TEST(Mast, TakesGpusOfLowerPriorities) {
  const std::vector<JobSpec> jobs{with_priority(job("A", 0, 2, Duration::s(20)), 2), job("B", 0, 3, Duration::s(20)),
                                  job("C", 1, 3, Duration::s(20)), with_priority(job("D", 5, 2, Duration::s(4)), 1)};
  const FinishedRun run = run_mast(jobs, ClusterState(1, 8), {});
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 0, 1, 5}));
  EXPECT_EQ(run.records[1].preemptions, 0U);
  EXPECT_EQ(run.records[2].preemptions, 1U);
  EXPECT_EQ(run.counters.preempted, 1U);
  const FinishedRun patient = run_mast(jobs, ClusterState(1, 8), {{"preempt", "false"}});
  EXPECT_EQ(starts_s(patient), (std::vector<double>{0, 0, 1, 20}));
}

// Research may hold 4 of 8 GPUs, and holds them all while nobody else wants any. For an ads job
// that needs 4 the later of its jobs stops; then research is within its quota, and the next ads job
// waits; but it goes before what stopped.
TEST(Mast, WhoIsBeyondTheQuotaMakesRoom) {
  const FinishedRun run =
      run_mast({of_group(job("r1", 0, 4, Duration::s(100)), "research"), of_group(job("r2", 1, 4, Duration::s(100)), "research"),
                of_group(job("a1", 5, 4, Duration::s(10)), "ads"), of_group(job("a2", 6, 4, Duration::s(10)), "ads")},
               ClusterState(1, 8), in_order({{"quotas", "research:0.5"}}));
  EXPECT_EQ(starts_s(run), (std::vector<double>{0, 1, 5, 15}));
  EXPECT_EQ(run.records[0].preemptions, 0U);
  EXPECT_EQ(run.records[1].preemptions, 1U);
  EXPECT_EQ(run.records[1].end->in_s(), 25 + 96);  // it had run for 4 s
}

// At 10 there is room for one of the two. Research would be at 8 of 4 GPUs, ads at 4.
TEST(Mast, WhoIsBeyondTheQuotaComesLast) {
  const std::vector<JobSpec> jobs{
      of_group(job("r0", 0, 4, Duration::s(100)), "research"), of_group(job("x", 0, 4, Duration::s(10)), "ads"),
      of_group(job("r1", 1, 4, Duration::s(20)), "research"), of_group(job("a1", 2, 4, Duration::s(20)), "ads")};
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), in_order({{"default_quota", "0.5"}}))),
            (std::vector<double>{0, 0, 30, 10}));
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), in_order())), (std::vector<double>{0, 0, 10, 30}));
}

// Two regions of two hosts with 4 GPUs each. A and B leave two GPUs in either, which is enough for
// C only over the border. D, of 10, is larger than a region, and may cross it.
TEST(Mast, JobsDoNotCrossRegions) {
  const std::vector<JobSpec> jobs{job("A", 0, 6, Duration::s(10)), job("B", 1, 6, Duration::s(20)), job("C", 2, 4, Duration::s(1)),
                                  job("D", 30, 10, Duration::s(1))};
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(4, 4), in_order({{"regions", "2"}}))), (std::vector<double>{0, 1, 10, 30}));
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(4, 4), in_order())), (std::vector<double>{0, 1, 2, 30}));
}

// A leaves half a host of region 0: B makes it whole rather than break into one of region 1.
TEST(Mast, TheRegionThatIsLeftLeastFragmentedIsTaken) {
  const FinishedRun run = run_mast({with_data_in(job("A", 0, 2, Duration::s(10)), 1), job("B", 1, 2, Duration::s(10))},
                                   ClusterState(4, 4), in_order({{"regions", "2"}}));
  EXPECT_EQ(run.records[0].placement, "host2:0-1");
  EXPECT_EQ(run.records[1].placement, "host2:2-3");
}

// The data of A and B is in region 1, where A takes everything until 100. B looks for another place
// after 30 s of waiting, and not before.
TEST(Mast, JobsGoToTheirDataOrWait) {
  const std::vector<JobSpec> jobs{with_data_in(job("A", 0, 8, Duration::s(100)), 1),
                                  with_data_in(job("B", 10, 4, Duration::s(10)), 1)};
  const FinishedRun away = run_mast(jobs, ClusterState(4, 4), {{"regions", "2"}, {"remote_after", "30s"}});
  EXPECT_EQ(away.records[0].placement, "host2-3:0-3");
  EXPECT_EQ(away.records[1].placement, "host0:0-3");
  EXPECT_EQ(starts_s(away), (std::vector<double>{0, 40}));
  const FinishedRun home = run_mast(jobs, ClusterState(4, 4), {{"regions", "2"}, {"remote_after", "200s"}});
  EXPECT_EQ(home.records[1].placement, "host2:0-3");
  EXPECT_EQ(starts_s(home), (std::vector<double>{0, 100}));
}

// One host of 8. A holds 4 until 10. B wants 8 and is passed by C and D, but with reservations only
// by D, which ends before 10; not by E, which fits at 8 only.
TEST(Mast, ReservationsHoldUpWhoWouldDelayThem) {
  const std::vector<JobSpec> jobs{job("A", 0, 4, Duration::s(10)), job("B", 1, 8, Duration::s(10)), job("C", 2, 2, Duration::s(20)),
                                  job("D", 3, 2, Duration::s(5)), job("E", 4, 4, Duration::s(3))};
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), in_order({{"reserve_after", "0s"}}))),
            (std::vector<double>{0, 10, 20, 3, 20}));
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(1, 8), in_order())), (std::vector<double>{0, 22, 2, 3, 10}));
}

// Two hosts of 4: A holds host 0 until 10, and B is promised it. C, which would run for long, may
// start beside on host 1 unless it is of low priority.
TEST(Mast, LowPrioritiesAreDelayed) {
  const std::vector<JobSpec> jobs{with_priority(job("A", 0, 4, Duration::s(10)), 1),
                                  with_priority(job("a", 0, 2, Duration::s(50)), 1),
                                  with_priority(job("B", 1, 4, Duration::s(10)), 1), job("C", 2, 1, Duration::s(100))};
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(2, 4), in_order({{"reserve_after", "0s"}}))), (std::vector<double>{0, 0, 10, 10}));
  EXPECT_EQ(starts_s(run_mast(jobs, ClusterState(2, 4), in_order({{"reserve_after", "0s"}, {"low_priority", "-1"}}))),
            (std::vector<double>{0, 0, 10, 2}));
}

// A job of the highest priority keeps coming: with ageing, the old one starts all the same. Every 8
// s one of 10 s comes.
TEST(Mast, NobodyStarves) {
  std::vector<JobSpec> jobs{job("first", 0, 8, Duration::s(10)), job("old", 1, 8, Duration::s(10))};
  for (int i = 0; i < 100; ++i) jobs.push_back(with_priority(job("new" + std::to_string(i), 2 + 8 * i, 8, Duration::s(10)), 2));
  const Settings settings = in_order({{"ageing", "50s"}, {"preempt", "false"}});
  const FinishedRun run = run_mast(jobs, ClusterState(1, 8), settings);
  // It goes before all that come 100 s after it or later: those of 2, 10 ... 98 go first, 13 of
  // them, each 10 s long.
  EXPECT_EQ(run.records[1].start->in_s(), 10 + 13 * 10);
}

// No more than the quota is held by a tenant while a job of another, within its own, waits that
// would fit where the tenant's last one started.
TEST(Mast, NobodyIsBeyondTheQuotaWhileOthersWait) {
  constexpr std::uint32_t kGpus = 16;
  std::uint32_t beyond_seen = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 60; ++i) {
      jobs.push_back(of_group(job("job" + std::to_string(i), random() % 60, 1, Duration::s(1 + random() % 12)),
                              std::string(1, static_cast<char>('a' + random() % 3))));
    }
    sort_by_submission(jobs);
    const FinishedRun run = run_mast(jobs, ClusterState(2, 8), {{"default_quota", "0.25"}, {"preempt", "false"}});
    for (std::size_t started = 0; started < jobs.size(); ++started) {
      const Time at = *run.records[started].start;
      std::map<std::string, std::uint32_t> held;
      for (std::size_t i = 0; i < jobs.size(); ++i) held[jobs[i].group] += *run.records[i].start <= at && *run.records[i].end > at;
      if (held[jobs[started].group] <= kGpus / 4) continue;
      ++beyond_seen;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const bool waits = jobs[i].submit <= at && *run.records[i].start > at;
        EXPECT_FALSE(waits && held[jobs[i].group] + 1 <= kGpus / 4) << "seed " << seed << " jobs " << started << " and " << i;
      }
    }
  }
  EXPECT_GT(beyond_seen, 100U);
}

TEST(Mast, RefusesQuotasThatAreNone) {
  for (const auto& [text, message] :
       {std::pair("research", "\"research\" is no tenant with a share"),
        std::pair("research:2", "\"research:2\" has no share from 0 to 1"), std::pair("a:0.5,a:0.2", "\"a\" has two shares"),
        std::pair(":1", "\":1\" is no tenant with a share")}) {
    try {
      (void)policy_called("mast", {{"quotas", text}});
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_EQ(error.diagnostics().front().code, "bad-value");
      EXPECT_EQ(error.diagnostics().front().message, std::string("mast.quotas: ") + message);
    }
  }
}

// Two regions of two hosts; of each, one stores data, so that the job fits into none.
TEST(Mast, RegionsAreAsLargeAsWhatServesInThem) {
  JobLifecycleSettings settings = settings_with(policy_called("mast", {{"regions", "2"}}));
  settings.storage.hosts = {HostId(0), HostId(2)};
  const FinishedRun run = run_jobs({job("A", 0, 16, Duration::s(10))}, ClusterState(4, 8), std::move(settings));
  EXPECT_EQ(run.records[0].placement, "host1:0-7,host3:0-7");
}

// After the failure region 0 has two GPUs free and region 1 fifteen.
TEST(Mast, ElasticJobsTakeTheRegionWithMore) {
  JobLifecycleSettings settings = settings_with(policy_called("mast", {{"regions", "2"}}));
  settings.failures.scope = FailureScope::gpu;
  settings.failures.log = {{testing_scheduler::at_s(20), {PartKind::gpu, 16}, Duration::s(100'000)}};
  std::vector<JobSpec> jobs = {job("A", 0, 16, Duration::s(100)), job("B", 0, 8, Duration::s(1'000)),
                               job("C", 0, 6, Duration::s(1'000))};
  jobs[0].min_gpus = 1;
  const FinishedRun run = run_jobs(jobs, ClusterState(4, 8), std::move(settings));
  EXPECT_EQ(gpus_of_text(run.records[0].placement).size(), 15U);
}

}  // namespace
}  // namespace weft::mast_test
