// SPDX-License-Identifier: Apache-2.0
// Jobs that run workloads, on hosts that only pretend: each rank's iteration takes a time given by
// a formula.
#include <gtest/gtest.h>

#include <random>

#include "core/values/fingerprint.hpp"
#include "tests/scheduler/pretend_host.hpp"

namespace weft::workload_jobs_test {
namespace {

using testing_scheduler::fcfs_first_fit;
using testing_scheduler::find_double_booking;
using testing_scheduler::HostedRun;
using testing_scheduler::IterationTime;
using testing_scheduler::job;
using testing_scheduler::PretendHost;
using testing_scheduler::run_on_hosts;
using testing_scheduler::workload_job;

Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

// Two hosts of two GPUs; three ranks for two iterations; rank r takes (r+1) x (100 + 10 i) us for
// iteration i; messages take 10 us.
//   start at 0; the hosts hear of it at 10.
//   rank 0: 10 -> 110 -> 220;  rank 1: 10 -> 210 -> 430;  rank 2: 10 -> 310 -> 640.
//   iteration 0 is 10 .. 310, iteration 1 is 110 (rank 0 begins) .. 640; the last report arrives at
//   650.
TEST(WorkloadJobs, FollowATimelineByHand) {
  const IterationTime time = [](JobId, RankId rank, std::uint32_t iteration) {
    return Duration::us((rank.index() + 1) * (100 + 10 * iteration));
  };
  const HostedRun run = run_on_hosts({workload_job("A", Time::zero(), 3, 2)}, 2, 2, time);
  ASSERT_EQ(run.failure, "");
  ASSERT_EQ(run.iterations.size(), 2U);
  EXPECT_EQ(run.iterations[0].start, at_us(10));
  EXPECT_EQ(run.iterations[0].end, at_us(310));
  EXPECT_EQ(run.iterations[0].exposed_communication, Duration::us(20));  // (10 + 20 + 30) / 3
  EXPECT_EQ(run.iterations[1].start, at_us(110));
  EXPECT_EQ(run.iterations[1].end, at_us(640));
  EXPECT_EQ(run.iterations[1].exposed_communication, Duration::us(22));  // (11 + 22 + 33) / 3
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.start, Time::zero());
  EXPECT_EQ(record.end, at_us(650));
  EXPECT_EQ(record.iterations, 2U);
  EXPECT_EQ(record.mean_iteration, Duration::us(315));  // (640 - 10) / 2
  EXPECT_EQ(record.exposed_communication, Duration::us(42));
  EXPECT_EQ(record.placement, "host0:0-1,host1:0");
  EXPECT_EQ(run.starts, (std::vector{1, 1}));
  EXPECT_NEAR(run.counters.busy_gpu_s, 3 * 650e-6, 1e-15);
}

TEST(WorkloadJobs, GpusServeTheNextJobOnceTheLastReportIsIn) {
  const IterationTime time = [](JobId, RankId, std::uint32_t) { return Duration::us(100); };
  JobSpec timed = job("timed", 0, 2, Duration::us(7));
  timed.submit = at_us(1);
  const HostedRun run = run_on_hosts({workload_job("A", Time::zero(), 2, 1), timed, workload_job("B", at_us(1), 2, 1)}, 1, 2, time);
  EXPECT_EQ(run.records[0].end, at_us(120));    // 10 + 100 + 10
  EXPECT_EQ(run.records[1].start, at_us(120));  // job mode beside workloads
  EXPECT_EQ(run.records[2].start, at_us(127));
  EXPECT_EQ(run.records[2].end, at_us(247));
  EXPECT_EQ(run.starts, std::vector{2});
}

TEST(WorkloadJobs, ARankThatNeverReportsIsNamed) {
  // Rank 1 would need longer than the run lasts: it stands for one that waits for a message for
  // ever.
  const std::vector<JobSpec> jobs{workload_job("stuck", Time::zero(), 2, 3)};
  JobTable table;
  const IterationTime time = [](JobId, RankId rank, std::uint32_t) { return rank.index() == 0 ? Duration::us(1) : Duration::s(1); };
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.wiring = {{EntityId(0)}, {NodeId(0), NodeId(1)}, EntityId::none(), &table};
  EngineBuilder builder;
  builder.add_entity(std::make_unique<PretendHost>(NodeId(0), 2, table, settings.control_delay, jobs, time), "host0");
  const EntityId id = JobLifecycle::add_to(builder, std::make_unique<JobLifecycle>(jobs, ClusterState(1, 2), std::move(settings)));
  Engine engine = std::move(builder).build({});
  RunControl control;
  control.until = at_us(500);
  engine.run(control);
  try {
    engine.entity_as<JobLifecycle>(id).require_all_finished();
    FAIL();
  } catch (const CheckFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("job \"stuck\" waits for rank 1, which has finished 0 of 3 iterations"),
              std::string::npos)
        << failure.what();
  }
}

TEST(WorkloadJobs, NeedHosts) {
  EXPECT_THROW(JobLifecycle({workload_job("A", Time::zero(), 2, 1)}, ClusterState(1, 2), fcfs_first_fit()), CheckFailure);
}

TEST(WorkloadJobs, AreTheSameForAnyThreadsAndPartition) {
  std::mt19937 random(5);
  std::vector<JobSpec> jobs;
  for (std::uint32_t i = 0; i < 120; ++i) {
    jobs.push_back(workload_job("job" + std::to_string(i), at_us(random() % 20'000), 1 + random() % 20, 1 + random() % 6));
  }
  sort_by_submission(jobs);
  const IterationTime time = [](JobId of, RankId rank, std::uint32_t iteration) {
    const std::uint64_t mixed = mix64((std::uint64_t{of.index()} << 40) ^ (std::uint64_t{rank.index()} << 20) ^ iteration);
    // few values, so that instants are shared
    return Duration::us(static_cast<std::int64_t>(50 + mixed % 4 * 25));
  };
  constexpr std::uint32_t hosts = 8;
  const HostedRun alone = run_on_hosts(jobs, hosts, 4, time);
  ASSERT_EQ(alone.failure, "");
  EXPECT_EQ(find_double_booking(alone.records), "");
  std::vector<EngineOptions> variants(4);
  variants[0].threads = 2;
  variants[1].threads = 8;
  variants[2].threads = 2;
  variants[2].partition = PartitionByZeta{Duration::us(1)};
  variants[3].threads = 8;
  PartitionExplicit halves;
  for (std::uint32_t entity = 0; entity <= hosts; ++entity) halves.lp_of_entity.emplace_back(entity % 2);
  variants[3].partition = halves;
  for (EngineOptions& options : variants) {
    const HostedRun run = run_on_hosts(jobs, hosts, 4, time, std::move(options));
    EXPECT_EQ(run.report.fingerprint.to_text(), alone.report.fingerprint.to_text());
    ASSERT_EQ(run.records.size(), alone.records.size());
    for (std::size_t i = 0; i < run.records.size(); ++i) {
      EXPECT_EQ(run.records[i].start, alone.records[i].start);
      EXPECT_EQ(run.records[i].end, alone.records[i].end);
      EXPECT_EQ(run.records[i].placement, alone.records[i].placement);
      EXPECT_EQ(run.records[i].exposed_communication, alone.records[i].exposed_communication);
    }
    ASSERT_EQ(run.iterations.size(), alone.iterations.size());
    for (std::size_t i = 0; i < run.iterations.size(); ++i) {
      EXPECT_EQ(run.iterations[i].job, alone.iterations[i].job);
      EXPECT_EQ(run.iterations[i].end, alone.iterations[i].end);
    }
  }
}

}  // namespace
}  // namespace weft::workload_jobs_test
