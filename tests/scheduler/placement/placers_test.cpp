// SPDX-License-Identifier: Apache-2.0
// What every placer keeps to, and what is particular to each (first_fit has a file of its own).
#include "scheduler/placement/placer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "scheduler/placement/fragmentation_gradient.hpp"
#include "scheduler/placement/packed.hpp"
#include "scheduler/placement/spread.hpp"

namespace weft::placers_test {
namespace {

const std::vector<std::uint32_t> kJobSizes = {1, 1, 1, 2, 2, 4, 8, 8, 16};

std::unique_ptr<Placer> placer_called(const std::string& name) {
  const auto& module = find_module(placers(), name, SourcePlace::named("test"));
  return module.make(ParamSet(name, module.info.params), {kJobSizes, nullptr});
}

/// Some GPUs held, some out of service.
ClusterState random_cluster(std::mt19937& random) {
  std::vector<std::uint32_t> sizes(1 + random() % 8);
  for (std::uint32_t& size : sizes) size = 1 + random() % 9;
  ClusterState cluster(sizes);
  Placement occupied;
  for (std::uint32_t slot = 0; slot < cluster.gpu_count(); ++slot) {
    const std::vector<GpuSlot> gpu = {GpuSlot(slot)};
    if (random() % 3 == 0) occupied.gpus.emplace_back(slot);
    if (random() % 8 == 0) cluster.withdraw(gpu);
  }
  cluster.take(JobId(0), occupied);
  return cluster;
}

std::map<HostId, std::uint32_t> gpus_by_host(const ClusterState& cluster, const Placement& placement) {
  std::map<HostId, std::uint32_t> counts;
  for (const GpuSlot gpu : placement.gpus) ++counts[cluster.host_of(gpu)];
  return counts;
}

class EveryPlacer : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryPlacer, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& module : placers()) names.emplace_back(module.info.name);
                           return names;
                         }()),
                         [](const auto& given) { return given.param; });

TEST_P(EveryPlacer, GivesFreeGpusAllOrNothing) {
  const std::unique_ptr<Placer> placer = placer_called(GetParam());
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const ClusterState cluster = random_cluster(random);
    for (std::uint32_t gpus = 1; gpus <= cluster.gpu_count() + 1; ++gpus) {
      const std::optional<Placement> placement = placer->place(cluster, gpus);
      if (!placement) continue;
      const std::set<GpuSlot> distinct(placement->gpus.begin(), placement->gpus.end());
      ASSERT_EQ(placement->gpus.size(), gpus);
      ASSERT_EQ(distinct.size(), gpus);
      for (const GpuSlot gpu : distinct) ASSERT_TRUE(cluster.holder(gpu).is_none() && cluster.is_in_service(gpu));
    }
  }
}

/// Or jobs could wait for ever.
TEST_P(EveryPlacer, FindsAPlaceOnAnEmptyCluster) {
  const std::unique_ptr<Placer> placer = placer_called(GetParam());
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> sizes(1 + random() % 8);
    for (std::uint32_t& size : sizes) size = 1 + random() % 9;
    const ClusterState cluster(sizes);
    for (std::uint32_t gpus = 1; gpus <= cluster.gpu_count(); ++gpus) ASSERT_TRUE(placer->place(cluster, gpus));
    ASSERT_FALSE(placer->place(cluster, cluster.gpu_count() + 1));
  }
}

TEST(Packed, TakesTheFullestHostWithRoom) {
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    const ClusterState cluster = random_cluster(random);
    for (std::uint32_t gpus = 1; gpus <= cluster.host_gpus_max(); ++gpus) {
      const std::optional<Placement> placement = Packed().place(cluster, gpus);
      std::uint32_t least = UINT32_MAX;
      for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
        const std::uint32_t free = cluster.free_gpus(HostId(host));
        if (free >= gpus) least = std::min(least, free);
      }
      ASSERT_EQ(placement.has_value(), least != UINT32_MAX);
      if (!placement) continue;
      ASSERT_EQ(cluster.free_gpus(gpus_by_host(cluster, *placement).begin()->first), least);
    }
  }
}

// Host 0 has 1 GPU free, host 1 all, host 2 has 3: two large jobs' rest goes where it fills best.
TEST(Packed, PutsTheRestOfLargeJobsWhereItFits) {
  ClusterState cluster(3, 4);
  cluster.take(JobId(0), {{GpuSlot(0), GpuSlot(1), GpuSlot(2), GpuSlot(8)}});
  EXPECT_EQ(cluster.to_text(*Packed().place(cluster, 5)), "host0:3,host1:0-3");
  EXPECT_EQ(cluster.to_text(*Packed().place(cluster, 7)), "host1:0-3,host2:1-3");
}

/// No host gives two more than another that could have given one more.
TEST(Spread, IsEven) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    const ClusterState cluster = random_cluster(random);
    for (std::uint32_t gpus = 1; gpus <= cluster.free_gpus(); ++gpus) {
      const std::optional<Placement> placement = Spread().place(cluster, gpus);
      ASSERT_TRUE(placement);
      const auto counts = gpus_by_host(cluster, *placement);
      std::uint32_t most = 0;
      for (const auto& [host, count] : counts) most = std::max(most, count);
      for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
        const auto given = counts.find(HostId(host));
        const std::uint32_t count = given == counts.end() ? 0 : given->second;
        ASSERT_TRUE(count + 1 >= most || count == cluster.free_gpus(HostId(host)));
      }
      ASSERT_TRUE(std::is_sorted(placement->gpus.begin(), placement->gpus.end())) << "ranks go host by host";
    }
  }
}

TEST(Spread, TakesHostsWithMostFreeGpusFirst) {
  ClusterState cluster(3, 4);
  cluster.take(JobId(0), {{GpuSlot(0), GpuSlot(1), GpuSlot(4)}});
  // Free: 2, 3 and 4.
  EXPECT_EQ(cluster.to_text(*Spread().place(cluster, 1)), "host2:0");
  EXPECT_EQ(cluster.to_text(*Spread().place(cluster, 5)), "host0:2,host1:1-2,host2:0-1");
  EXPECT_EQ(cluster.to_text(*Spread().place(cluster, 9)), "host0:2-3,host1:1-3,host2:0-3");
}

/// By the definition: job by job, what of the free GPUs it could not use.
std::uint64_t unusable(std::uint32_t free, std::uint32_t gpus) {
  std::uint64_t sum = 0;
  for (const std::uint32_t size : kJobSizes) sum += std::min(size, gpus) > free ? free : 0;
  return sum;
}

TEST(FragmentationGradient, AddsLeastToWhatCannotBeUsed) {
  const FragmentationGradient placer(kJobSizes);
  for (std::uint32_t gpus = 1; gpus <= 20; ++gpus) {
    for (std::uint32_t free = 0; free <= gpus; ++free)
      EXPECT_EQ(placer.fragmentation(free, gpus), unusable(free, gpus)) << free << " of " << gpus;
  }
  std::mt19937 random(6);
  for (int round = 0; round < 300; ++round) {
    const ClusterState cluster = random_cluster(random);
    const auto all_unusable = [&](HostId host, std::uint32_t gpus) {
      std::int64_t sum = 0;
      for (std::uint32_t i = 0; i < cluster.host_count(); ++i) {
        const HostId one(i);
        sum += static_cast<std::int64_t>(unusable(cluster.free_gpus(one) - (one == host ? gpus : 0), cluster.gpu_count(one)));
      }
      return sum;
    };
    for (std::uint32_t gpus = 1; gpus <= cluster.host_gpus_max(); ++gpus) {
      const std::optional<Placement> placement = placer.place(cluster, gpus);
      ASSERT_EQ(placement.has_value(), !cluster.first_host_with(gpus).is_none());
      if (!placement) continue;
      const std::int64_t chosen = all_unusable(gpus_by_host(cluster, *placement).begin()->first, gpus);
      for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
        ASSERT_TRUE(cluster.free_gpus(HostId(host)) < gpus || chosen <= all_unusable(HostId(host), gpus));
      }
    }
  }
}

}  // namespace
}  // namespace weft::placers_test
