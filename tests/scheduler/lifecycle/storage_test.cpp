// SPDX-License-Identifier: Apache-2.0
// Where data and checkpoints lie, what jobs fetch of them, and when their ranks begin.
#include "scheduler/lifecycle/storage.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "tests/scheduler/pretend_host.hpp"

namespace weft::storage_test {
namespace {

using testing_scheduler::at_s;
using testing_scheduler::fcfs_first_fit;
using testing_scheduler::FinishedRun;
using testing_scheduler::HostedRun;
using testing_scheduler::IterationTime;
using testing_scheduler::job;
using testing_scheduler::policy_called;
using testing_scheduler::run_jobs;
using testing_scheduler::run_on_hosts;
using testing_scheduler::settings_with;
using testing_scheduler::workload_job;

constexpr std::int64_t gigabyte = 1'000'000'000;
const IterationTime ten_seconds = [](JobId, RankId, std::uint32_t) { return Duration::s(10); };

/// One gigabyte a second.
StorageSettings on_host(std::uint32_t host) { return {{HostId(host)}, Bandwidth::gbps(8)}; }

TEST(Storage, HostsServeInTurnWithAllTheirGpus) {
  const ClusterState cluster(std::vector<std::uint32_t>{2, 1, 3});
  const std::vector<HostId> hosts{HostId(0), HostId(2)};
  EXPECT_EQ(stores_on(hosts, cluster), (std::vector{GpuSlot(0), GpuSlot(3), GpuSlot(1), GpuSlot(4), GpuSlot(5)}));
  EXPECT_TRUE(stores_on({}, cluster).empty());
}

/// rank, store, bytes
using Fetched = std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>>;

Fetched fetched(const JobSpec& spec, std::vector<GpuSlot> gpus, bool has_checkpoint, const StorageSettings& storage,
                const ClusterState& cluster) {
  Fetched result;
  for (const RankData& part : data_to_fetch(spec, Placement{std::move(gpus)}, has_checkpoint, storage, cluster))
    result.emplace_back(part.rank.index(), part.store.index(), part.size.count());
  return result;
}

// Three hosts of two GPUs; ranks 0 and 1 on host 0, rank 2 on host 1. Ten bytes are 4, 3 and 3; of
// two bytes rank 2 has none.
TEST(Storage, RanksFetchEqualParts) {
  const ClusterState cluster(3, 2);
  const std::vector<GpuSlot> gpus{GpuSlot(0), GpuSlot(1), GpuSlot(2)};
  JobSpec spec = job("A", 0, 3, Duration::s(1));
  EXPECT_EQ(fetched(spec, gpus, true, on_host(2), cluster), Fetched());
  spec.data = Bytes::of(10);
  spec.checkpoint = Bytes::of(2);
  EXPECT_EQ(fetched(spec, gpus, false, on_host(2), cluster), (Fetched{{0, 4, 4}, {1, 5, 3}, {2, 4, 3}}));
  EXPECT_EQ(fetched(spec, gpus, true, on_host(2), cluster), (Fetched{{0, 4, 4}, {1, 5, 3}, {2, 4, 3}, {0, 4, 1}, {1, 5, 1}}));
  // What lies on a rank's own host is there; checkpoints lie where all jobs' do.
  spec.data_hosts = {HostId(0)};
  EXPECT_EQ(fetched(spec, gpus, true, on_host(2), cluster), (Fetched{{2, 0, 3}, {0, 4, 1}, {1, 5, 1}}));
}

TEST(Storage, TakesTimeByItsRate) {
  const std::vector<RankData> data{{RankId(0), GpuSlot(0), Bytes::of(gigabyte)}, {RankId(1), GpuSlot(0), Bytes::of(gigabyte / 2)}};
  EXPECT_EQ(fetching_time(data, on_host(0)), Duration::ms(1500));
  EXPECT_EQ(fetching_time(data, {{HostId(0)}, Bandwidth::zero()}), Duration::zero());
  // A third of a second is rounded up to a tick.
  const std::vector<RankData> bit{{RankId(0), GpuSlot(0), Bytes::of(1)}};
  EXPECT_EQ(fetching_time(bit, {{}, Bandwidth::bps(24)}), Duration::ticks(Duration::ticks_per_s / 3 + 1));
}

// 5 s to start, 3 s for 3 GB; after 20 s the host fails and is back at once. Two of the ten parts
// of 4 s are done and kept, and 3 GB and a checkpoint of 2 GB are fetched.
TEST(Storage, JobModeWaitsForData) {
  JobSpec spec = job("A", 0, 2, Duration::s(40));
  spec.iterations = 10;
  spec.data = Bytes::of(3 * gigabyte);
  spec.checkpoint = Bytes::of(2 * gigabyte);
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(5);
  settings.storage = on_host(0);
  settings.failures.log = {{at_s(20), {PartKind::host, 1}, Duration::zero()}};
  const FinishedRun run = run_jobs({spec}, ClusterState(2, 2), std::move(settings));
  EXPECT_EQ(run.records[0].placement, "host1:0-1");  // storage hosts run no jobs
  EXPECT_EQ(run.records[0].overhead, Duration::s(5 + 3 + 5 + 3 + 2));
  EXPECT_EQ(run.records[0].lost_to_failures, Duration::s(20 - 8 - 12));
  EXPECT_EQ(run.records[0].end, at_s(20 + 10 + 40 - 12));
}

// As above with ranks that run, and four messages of 10 us: to the storage host, of what arrives
// from it, to the ranks, and of the last iteration's end.
TEST(Storage, RanksBeginWhenAllHasArrived) {
  JobSpec spec = workload_job("A", at_s(0), 2, 4);
  spec.data = Bytes::of(3 * gigabyte);
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.start_overhead = Duration::s(5);
  settings.storage = on_host(0);
  const HostedRun run = run_on_hosts({spec}, 2, 2, ten_seconds, std::move(settings));
  ASSERT_EQ(run.failure, "");
  EXPECT_EQ(run.records[0].end, at_s(5 + 3 + 40) + Duration::us(40));
  EXPECT_EQ(run.records[0].overhead, Duration::s(8) + Duration::us(20));
  EXPECT_EQ(run.records[0].mean_iteration, Duration::s(10));
}

// B takes the GPUs at 2 s, while A fetches 3 GB. A begins anew at 12 s.
TEST(Storage, WhoStopsFetchingBeginsAnew) {
  JobSpec first = workload_job("A", at_s(0), 2, 1);
  first.data = Bytes::of(3 * gigabyte);
  JobSpec second = workload_job("B", at_s(2), 2, 1);
  second.priority = 1;
  JobLifecycleSettings settings = settings_with(policy_called("priority"));
  settings.storage = on_host(0);
  const HostedRun run = run_on_hosts({first, second}, 2, 2, ten_seconds, std::move(settings));
  ASSERT_EQ(run.failure, "");
  EXPECT_EQ(run.records[1].end, at_s(12) + Duration::us(20));
  EXPECT_EQ(run.records[0].end, at_s(12 + 3 + 10) + Duration::us(20 + 40));
  EXPECT_EQ(run.records[0].lost_to_preemptions, Duration::zero());
  EXPECT_EQ(run.records[0].overhead, Duration::s(2 + 3) + Duration::us(20));
}

}  // namespace
}  // namespace weft::storage_test
