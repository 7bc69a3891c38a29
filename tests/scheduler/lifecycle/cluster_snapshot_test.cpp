// SPDX-License-Identifier: Apache-2.0
// Runs that go on from a snapshot of another one.
#include "scheduler/lifecycle/cluster_snapshot.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/scheduler/pretend_host.hpp"

namespace weft::cluster_snapshot_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::gpus_of_text;
using testing_scheduler::HostedRun;
using testing_scheduler::IterationTime;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::policy_names;
using testing_scheduler::run_jobs;
using testing_scheduler::run_on_hosts;
using testing_scheduler::settings_with;
using testing_scheduler::workload_job;
using State = ClusterSnapshot::State;

/// Some have iterations, so that checkpoints count; all are there after 40 s.
std::vector<JobSpec> random_jobs(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<JobSpec> jobs;
  for (std::uint32_t i = 0; i < 30; ++i) {
    JobSpec& spec =
        jobs.emplace_back(job("job" + std::to_string(i), random() % 40, 1 + random() % 9, Duration::s(1 + random() % 60)));
    spec.iterations = random() % 2 == 0 ? 0 : 1 + random() % 20;
    spec.priority = static_cast<std::int32_t>(random() % 3);
    if (spec.gpus > 1 && random() % 3 == 0) spec.min_gpus = 1 + random() % (spec.gpus - 1);
  }
  sort_by_submission(jobs);
  return jobs;
}

JobLifecycleSettings with_checkpoints(const std::string& policy) {
  JobLifecycleSettings settings = settings_with(policy_called(policy));
  settings.start_overhead = Duration::s(2);
  settings.checkpoints.every = 3;
  settings.checkpoints.interval = Duration::s(7);
  settings.checkpoints.write = Duration::s(1);
  return settings;
}

/// `when`: of the snapshot, which is put there.
JobLifecycleSettings watched(JobLifecycleSettings settings, Time when, std::shared_ptr<ClusterSnapshot>& taken) {
  settings.snapshot_at = when;
  settings.on_snapshot = [&taken](const ClusterSnapshot& snapshot) { taken = std::make_shared<ClusterSnapshot>(snapshot); };
  return settings;
}

JobLifecycleSettings from(JobLifecycleSettings settings, const std::shared_ptr<ClusterSnapshot>& snapshot) {
  settings.from = snapshot;
  return settings;
}

void expect_same(const std::vector<JobRecord>& whole, const std::vector<JobRecord>& continued) {
  for (std::size_t i = 0; i < whole.size(); ++i) {
    SCOPED_TRACE("job " + std::to_string(i));
    EXPECT_EQ(continued[i].end, whole[i].end);
    EXPECT_EQ(continued[i].start, whole[i].start);
    EXPECT_EQ(continued[i].placement, whole[i].placement);
    EXPECT_EQ(continued[i].wait, whole[i].wait);
    EXPECT_EQ(continued[i].run, whole[i].run);
    EXPECT_EQ(continued[i].run_whole, whole[i].run_whole);
    EXPECT_EQ(continued[i].checkpointing, whole[i].checkpointing);
    EXPECT_EQ(continued[i].iterations, whole[i].iterations);
    EXPECT_EQ(continued[i].preemptions, whole[i].preemptions);
  }
}

class EveryPolicyGoesOn : public testing::TestWithParam<std::string> {};

// What had been decided stays, and as nothing else happens, what is decided later is the same.
TEST_P(EveryPolicyGoesOn, FromASnapshotAsIfNothingHadHappened) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<JobSpec> jobs = random_jobs(seed);
    const Time when = at_s(40 + seed % 7 * 10) + Duration::ms(seed % 2 * 500);
    std::shared_ptr<ClusterSnapshot> snapshot;
    const FinishedRun whole = run_jobs(jobs, ClusterState(3, 4), watched(with_checkpoints(GetParam()), when, snapshot));
    ASSERT_NE(snapshot, nullptr);
    EXPECT_EQ(snapshot->at, when);
    const FinishedRun continued = run_jobs(jobs, ClusterState(3, 4), from(with_checkpoints(GetParam()), snapshot));
    expect_same(whole.records, continued.records);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicyGoesOn, testing::ValuesIn(policy_names()),
                         [](const auto& policy) { return policy.param; });

TEST(ClusterSnapshots, TellWhereEverybodyIs) {
  // a holds both GPUs from 0 to 10 s, b waits, c comes later, and d has ended at 0.
  const std::vector<JobSpec> jobs = {job("d", 0, 1, Duration::zero()), job("a", 0, 2, Duration::s(10)),
                                     job("b", 3, 1, Duration::s(5)), job("c", 8, 1, Duration::s(5))};
  std::shared_ptr<ClusterSnapshot> snapshot;
  run_jobs(jobs, ClusterState(1, 2), watched(fcfs_first_fit(), at_s(4), snapshot));
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->jobs[0].state, State::ended);
  EXPECT_EQ(snapshot->jobs[1].state, State::runs);
  EXPECT_EQ(snapshot->jobs[1].placement.gpus, (std::vector{GpuSlot(0), GpuSlot(1)}));
  EXPECT_EQ(snapshot->jobs[1].expected_end, at_s(10));
  EXPECT_EQ(snapshot->jobs[2].state, State::waits);
  EXPECT_EQ(snapshot->jobs[2].queued, at_s(3));
  EXPECT_EQ(snapshot->jobs[3].state, State::not_arrived);
}

TEST(ClusterSnapshots, AreNotTakenOfWhatIsOver) {
  std::shared_ptr<ClusterSnapshot> snapshot;
  run_jobs({job("a", 0, 1, Duration::s(10))}, ClusterState(1, 1), watched(fcfs_first_fit(), at_s(11), snapshot));
  EXPECT_EQ(snapshot, nullptr);
}

// The host fails at 5 s, which is known at 15, and stays out: of the 5 s, 4 count. In the other run
// the job waits for the second host's two GPUs, which another job has until 20, and takes 16 s from
// there on.
TEST(ClusterSnapshots, LeaveOutWhatHasFailed) {
  std::vector<JobSpec> jobs = {job("a", 0, 2, Duration::s(20)), job("b", 0, 2, Duration::s(20))};
  jobs[0].iterations = 10;
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.failures.detection = Duration::s(10);
  settings.failures.log = {{at_s(5), {PartKind::host, 0}, Duration::s(1000)}};
  std::shared_ptr<ClusterSnapshot> snapshot;
  run_jobs(jobs, ClusterState(2, 2), watched(std::move(settings), at_s(6), snapshot));
  EXPECT_EQ(snapshot->jobs[0].state, State::waits);
  EXPECT_EQ(snapshot->out_of_service, (std::vector{GpuSlot(0), GpuSlot(1)}));
  const FinishedRun continued = run_jobs(jobs, ClusterState(2, 2), from(fcfs_first_fit(), snapshot));
  EXPECT_EQ(continued.records[1].end, at_s(20));
  EXPECT_EQ(continued.records[0].end, at_s(36));
}

const IterationTime ten_seconds = [](JobId, RankId, std::uint32_t) { return Duration::s(10); };

// Messages take 10 us. Two iterations have ended at 25 s, of which the third is done again.
TEST(ClusterSnapshots, OfSimulatedIterationsKeepThoseThatHaveEnded) {
  const std::vector<JobSpec> jobs = {workload_job("a", at_s(0), 2, 5)};
  std::shared_ptr<ClusterSnapshot> snapshot;
  const HostedRun whole = run_on_hosts(jobs, 1, 2, ten_seconds, watched(fcfs_first_fit(), at_s(25), snapshot));
  EXPECT_EQ(whole.records[0].end, at_s(50) + Duration::us(20));
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->jobs[0].past.whole.iterations, 2U);
  EXPECT_FALSE(snapshot->jobs[0].pace);
  const HostedRun continued = run_on_hosts(jobs, 1, 2, ten_seconds, from(fcfs_first_fit(), snapshot));
  EXPECT_EQ(continued.records[0].end, at_s(25 + 3 * 10) + Duration::us(20));
  EXPECT_EQ(continued.records[0].iterations, 5U);
}

// After two iterations of 10 s the job is fast-forwarded, and goes on doing so.
TEST(ClusterSnapshots, OfFastForwardedJobsGoOnAtTheirPace) {
  const std::vector<JobSpec> jobs = {workload_job("a", at_s(0), 2, 1000), workload_job("b", at_s(100), 2, 7)};
  const auto settings = [] {
    JobLifecycleSettings result = fcfs_first_fit();
    result.fast_forward = 2;
    result.checkpoints.every = 10;
    result.checkpoints.write = Duration::s(3);
    return result;
  };
  std::shared_ptr<ClusterSnapshot> snapshot;
  const HostedRun whole = run_on_hosts(jobs, 1, 2, ten_seconds, watched(settings(), at_s(3456), snapshot));
  ASSERT_NE(snapshot, nullptr);
  ASSERT_TRUE(snapshot->jobs[0].pace);
  EXPECT_EQ(snapshot->jobs[0].pace->period, Duration::s(10));
  EXPECT_EQ(snapshot->jobs[0].iteration_time, Duration::s(10));
  EXPECT_EQ(snapshot->jobs[0].expected_end, whole.records[0].end);
  const HostedRun continued = run_on_hosts(jobs, 1, 2, ten_seconds, from(settings(), snapshot));
  EXPECT_EQ(continued.failure, "");
  EXPECT_EQ(continued.records[0].end, whole.records[0].end);
  EXPECT_EQ(continued.records[0].checkpointing, whole.records[0].checkpointing);
  EXPECT_EQ(continued.records[1].end, whole.records[1].end);
  EXPECT_EQ(continued.fast_forward.simulated, 2U);  // of b
}

// Told that its pace is old, the job goes on from the end of the iteration that it is in: at 60 s
// and 10 us. Iterations take 20 s from there on: the other four end at 140 s, and control messages
// take 10 us each.
TEST(ClusterSnapshots, OfFastForwardedJobsResumeWhereTheirPaceIsOld) {
  const std::vector<JobSpec> jobs = {workload_job("a", at_s(0), 2, 10)};
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.fast_forward = 2;
  std::shared_ptr<ClusterSnapshot> snapshot;
  run_on_hosts(jobs, 1, 2, ten_seconds, watched(std::move(settings), at_s(55), snapshot));
  ASSERT_TRUE(snapshot->jobs[0].pace);
  snapshot->jobs[0].is_pace_old = true;
  JobLifecycleSettings forked = fcfs_first_fit();
  forked.fast_forward = 2;
  const IterationTime slower = [](JobId, RankId, std::uint32_t) { return Duration::s(20); };
  const HostedRun continued = run_on_hosts(jobs, 1, 2, slower, from(std::move(forked), snapshot));
  EXPECT_NEAR(continued.records[0].end->in_s(), 60 + 4 * 20, 1e-4);
}

// At 1 s, half of A's data, which takes 2 s, is there; from the snapshot all of it is fetched anew.
TEST(ClusterSnapshots, WhoFetchesDataFetchesItAnew) {
  const IterationTime time = [](JobId, RankId, std::uint32_t) { return Duration::s(10); };
  std::vector<JobSpec> jobs = {workload_job("A", at_s(0), 2, 3)};
  jobs[0].data = Bytes::of(2'000'000'000);
  const auto settings = [] {
    JobLifecycleSettings result = fcfs_first_fit();
    result.storage = {{HostId(1)}, Bandwidth::gbps(8)};
    return result;
  };
  std::shared_ptr<ClusterSnapshot> snapshot;
  const HostedRun whole = run_on_hosts(jobs, 2, 2, time, watched(settings(), at_s(1), snapshot));
  ASSERT_NE(snapshot, nullptr);
  EXPECT_TRUE(snapshot->jobs[0].fetches);
  const HostedRun continued = run_on_hosts(jobs, 2, 2, time, from(settings(), snapshot));
  EXPECT_EQ(*continued.records[0].end, *whole.records[0].end + Duration::s(1));
  EXPECT_EQ(continued.records[0].overhead, whole.records[0].overhead + Duration::s(1));
}

}  // namespace
}  // namespace weft::cluster_snapshot_test
