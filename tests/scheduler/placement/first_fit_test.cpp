// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/first_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace weft::first_fit_test {
namespace {

/// Takes what first fit gives, so that the next question meets a fuller cluster; the text of the
/// placement, or "none".
std::string start(ClusterState& cluster, const Placer& placer, std::uint32_t job, std::uint32_t gpus) {
  const std::optional<Placement> placement = placer.place(cluster, gpus);
  if (!placement) return "none";
  cluster.take(JobId(job), *placement);
  return cluster.to_text(*placement);
}

TEST(FirstFit, SmallJobsGoToTheFirstHostWithRoom) {
  ClusterState cluster(2, 4);
  const FirstFit placer;
  EXPECT_EQ(start(cluster, placer, 0, 3), "host0:0-2");
  EXPECT_EQ(start(cluster, placer, 1, 2), "host1:0-1");  // one left on host 0 is too few
  EXPECT_EQ(start(cluster, placer, 2, 1), "host0:3");
  EXPECT_EQ(start(cluster, placer, 3, 4), "none");  // two free, but not on one host with four
  EXPECT_EQ(start(cluster, placer, 4, 2), "host1:2-3");
  EXPECT_EQ(start(cluster, placer, 5, 1), "none");
}

TEST(FirstFit, KeepsAJobThatFitsIntoOneHostTogether) {
  ClusterState cluster(2, 4);
  const FirstFit placer;
  start(cluster, placer, 0, 2);
  cluster.take(JobId(1), {{GpuSlot(4), GpuSlot(5)}});
  // Four GPUs are free, two and two: together they would do, but the job fits into one host and
  // waits for one.
  EXPECT_EQ(start(cluster, placer, 2, 4), "none");
  EXPECT_EQ(start(cluster, FirstFit(true), 3, 4), "host0-1:2-3");
}

TEST(FirstFit, LargeJobsTakeWhollyFreeHostsAndARest) {
  ClusterState cluster(4, 8);
  const FirstFit placer;
  EXPECT_EQ(start(cluster, placer, 0, 2), "host0:0-1");
  // Hosts 1 and 2 are wholly free and come first; the four left over go to the first host with
  // room, which is host 0.
  EXPECT_EQ(start(cluster, placer, 1, 20), "host0:2-5,host1-2:0-7");
  // host 3 is wholly free, but nobody has room for the other three
  EXPECT_EQ(start(cluster, placer, 2, 11), "none");
  EXPECT_EQ(start(cluster, placer, 3, 10), "host0:6-7,host3:0-7");
}

TEST(FirstFit, RanksFillWholeHostsFirst) {
  ClusterState cluster(3, 2);
  cluster.take(JobId(0), {{GpuSlot(0)}});
  const std::optional<Placement> placement = FirstFit().place(cluster, 5);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->gpus, (std::vector{GpuSlot(2), GpuSlot(3), GpuSlot(4), GpuSlot(5), GpuSlot(1)}));
}

TEST(FirstFit, HostsMayDiffer) {
  const std::vector<std::uint32_t> sizes{4, 8, 2};
  ClusterState cluster(sizes);
  const FirstFit placer;
  // Six fit into the largest host, so the job waits for it rather than take 4 + 2.
  EXPECT_EQ(start(cluster, placer, 0, 6), "host1:0-5");
  EXPECT_EQ(start(cluster, placer, 1, 6), "none");
  cluster.release(JobId(0), {{GpuSlot(4), GpuSlot(5), GpuSlot(6), GpuSlot(7), GpuSlot(8), GpuSlot(9)}});
  // Nine: host 0 whole (5 missing); host 1 is larger than that, so it is passed over; host 2 whole
  // (3 missing); the rest on host 1.
  EXPECT_EQ(start(cluster, placer, 2, 9), "host0:0-3,host1:0-2,host2:0-1");
}

/// On an empty cluster every job with no more GPUs than the cluster has finds a place, or jobs
/// could wait for ever.
TEST(FirstFit, AnythingUpToTheClusterFitsAnEmptyCluster) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> sizes(1 + random() % 8);
    for (std::uint32_t& size : sizes) size = 1 + random() % 9;
    const ClusterState cluster(sizes);
    for (std::uint32_t gpus = 1; gpus <= cluster.gpu_count(); ++gpus) {
      EXPECT_TRUE(FirstFit(false).place(cluster, gpus));
      EXPECT_TRUE(FirstFit(true).place(cluster, gpus));
    }
    EXPECT_FALSE(FirstFit(false).place(cluster, cluster.gpu_count() + 1));
    EXPECT_FALSE(FirstFit(true).place(cluster, cluster.gpu_count() + 1));
  }
}

/// On random occupations: as many distinct free GPUs as asked for; one host if it fits; scattered
/// whenever enough are free.
TEST(FirstFit, PlacementsAreValidOnRandomClusters) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint32_t> sizes(1 + random() % 8);
    for (std::uint32_t& size : sizes) size = 1 + random() % 9;
    ClusterState cluster(sizes);
    Placement occupied;
    for (std::uint32_t slot = 0; slot < cluster.gpu_count(); ++slot) {
      if (random() % 3 == 0) occupied.gpus.emplace_back(slot);
    }
    cluster.take(JobId(0), occupied);
    for (std::uint32_t gpus = 1; gpus <= cluster.gpu_count(); ++gpus) {
      for (const bool scatter : {false, true}) {
        const std::optional<Placement> placement = FirstFit(scatter).place(cluster, gpus);
        if (scatter) {
          EXPECT_EQ(placement.has_value(), gpus <= cluster.free_gpus());
        } else if (gpus <= cluster.host_gpus_max()) {
          EXPECT_EQ(placement.has_value(), !cluster.first_host_with(gpus).is_none());
        }
        if (!placement) continue;
        std::set<GpuSlot> distinct(placement->gpus.begin(), placement->gpus.end());
        std::set<HostId> hosts;
        EXPECT_EQ(distinct.size(), gpus);
        for (const GpuSlot gpu : distinct) {
          EXPECT_TRUE(cluster.holder(gpu).is_none());
          hosts.insert(cluster.host_of(gpu));
        }
        if (!scatter && gpus <= cluster.host_gpus_max()) {
          EXPECT_EQ(hosts.size(), 1U);
        }
        if (!scatter && gpus > cluster.host_gpus_max()) {
          const auto partly = std::count_if(hosts.begin(), hosts.end(), [&](HostId host) {
            return std::count_if(distinct.begin(), distinct.end(), [&](GpuSlot gpu) { return cluster.host_of(gpu) == host; }) !=
                   static_cast<std::ptrdiff_t>(cluster.gpu_count(host));
          });
          EXPECT_LE(partly, 1);  // only the rest's host is shared
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::first_fit_test
