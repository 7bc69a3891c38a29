// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/cluster_state.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/check.hpp"

namespace weft::cluster_state_test {
namespace {

Placement slots(std::initializer_list<std::uint32_t> indices) {
  Placement placement;
  for (const std::uint32_t index : indices) placement.gpus.emplace_back(index);
  return placement;
}

TEST(ClusterState, NumbersGpusHostByHost) {
  const std::vector<std::uint32_t> sizes{4, 2, 8};
  const ClusterState cluster(sizes);
  EXPECT_EQ(cluster.host_count(), 3U);
  EXPECT_EQ(cluster.gpu_count(), 14U);
  EXPECT_EQ(cluster.free_gpus(), 14U);
  EXPECT_EQ(cluster.host_gpus_max(), 8U);
  EXPECT_EQ(cluster.gpu_count(HostId(1)), 2U);
  EXPECT_EQ(cluster.host_of(GpuSlot(5)), HostId(1));
  EXPECT_EQ(cluster.local_index(GpuSlot(5)), 1U);
  EXPECT_EQ(cluster.slot(HostId(2), 3), GpuSlot(9));
  EXPECT_TRUE(cluster.holder(GpuSlot(9)).is_none());
}

TEST(ClusterState, TakesAndReleases) {
  ClusterState cluster(2, 4);
  cluster.take(JobId(7), slots({1, 2, 4}));
  EXPECT_EQ(cluster.free_gpus(), 5U);
  EXPECT_EQ(cluster.free_gpus(HostId(0)), 2U);
  EXPECT_EQ(cluster.holder(GpuSlot(2)), JobId(7));
  EXPECT_FALSE(cluster.is_wholly_free(HostId(1)));
  std::vector<GpuSlot> free;
  cluster.append_free(HostId(0), 2, free);
  EXPECT_EQ(free, (std::vector{GpuSlot(0), GpuSlot(3)}));
  cluster.release(JobId(7), slots({1, 2, 4}));
  EXPECT_EQ(cluster.free_gpus(), 8U);
  EXPECT_TRUE(cluster.is_wholly_free(HostId(0)));
}

TEST(ClusterState, RefusesDoubleBookingAndForeignRelease) {
  ClusterState cluster(1, 4);
  cluster.take(JobId(0), slots({0, 1}));
  EXPECT_THROW(cluster.take(JobId(1), slots({1, 2})), CheckFailure);
  EXPECT_THROW(cluster.release(JobId(2), slots({0})), CheckFailure);
  EXPECT_THROW(cluster.release(JobId(0), slots({3})), CheckFailure);
  cluster.release(JobId(0), slots({0}));
  EXPECT_THROW(cluster.release(JobId(0), slots({0})), CheckFailure);
  EXPECT_THROW(cluster.take(JobId(3), slots({9})), CheckFailure);
  EXPECT_THROW(cluster.take(JobId(4), slots({3, 3})), CheckFailure);
}

TEST(ClusterState, WritesPlacementsCompactly) {
  const ClusterState cluster(8, 8);
  const auto text = [&](std::initializer_list<std::uint32_t> indices) { return cluster.to_text(slots(indices)); };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({3}), "host0:3");
  EXPECT_EQ(text({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), "host0:0-7,host1:0-3");
  EXPECT_EQ(text({40, 42, 43}), "host5:0+2-3");
  // Hosts 1 and 2 alike, host 4 alike too but not their neighbour.
  EXPECT_EQ(text({8, 9, 16, 17, 32, 33}), "host1-2:0-1,host4:0-1");
  // The text names the GPUs held, whatever the order of the ranks.
  EXPECT_EQ(text({9, 0, 8}), "host0:0,host1:0-1");
}

/// The tree's answers against a walk over all hosts, after every one of many random changes.
TEST(ClusterState, FindsTheSameHostsAsALinearSearch) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::uint32_t> sizes(1 + random() % 20);
    for (std::uint32_t& size : sizes) size = 1 + random() % 9;
    ClusterState cluster(sizes);
    std::vector<std::pair<JobId, Placement>> held;
    std::uint32_t next_job = 0;
    for (int step = 0; step < 60; ++step) {
      if (!held.empty() && random() % 2 == 0) {
        const std::size_t victim = random() % held.size();
        cluster.release(held[victim].first, held[victim].second);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
      } else {
        Placement placement;
        for (std::uint32_t slot = 0; slot < cluster.gpu_count(); ++slot) {
          if (cluster.holder(GpuSlot(slot)).is_none() && random() % 4 == 0) placement.gpus.emplace_back(slot);
        }
        std::shuffle(placement.gpus.begin(), placement.gpus.end(), random);
        cluster.take(JobId(next_job), placement);
        held.emplace_back(JobId(next_job++), placement);
      }
      std::uint32_t fragmented = 0;
      for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
        fragmented += cluster.is_wholly_free(HostId(host)) ? 0 : cluster.free_gpus(HostId(host));
      }
      ASSERT_EQ(cluster.fragmented_gpus(), fragmented);
      for (std::uint32_t from = 0; from <= cluster.host_count(); ++from) {
        for (std::uint32_t gpus = 1; gpus <= 10; ++gpus) {
          HostId expected = HostId::none();
          for (std::uint32_t host = cluster.host_count(); host-- > from;) {
            std::uint32_t free = 0;
            for (std::uint32_t local = 0; local < sizes[host]; ++local) {
              free += cluster.holder(cluster.slot(HostId(host), local)).is_none() ? 1 : 0;
            }
            ASSERT_EQ(cluster.free_gpus(HostId(host)), free);
            if (free >= gpus) expected = HostId(host);
          }
          ASSERT_EQ(cluster.first_host_with(gpus, HostId(from)), expected);
        }
        HostId expected = HostId::none();
        for (std::uint32_t host = cluster.host_count(); host-- > from;) {
          if (cluster.free_gpus(HostId(host)) == sizes[host]) expected = HostId(host);
        }
        ASSERT_EQ(cluster.first_wholly_free_host(HostId(from)), expected);
      }
    }
  }
}

}  // namespace
}  // namespace weft::cluster_state_test
