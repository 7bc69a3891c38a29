// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/fleet.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "scheduler/failures/part.hpp"

namespace weft::fleet_test {
namespace {

std::vector<GpuSlot> gpus(const ClusterState& cluster, std::uint32_t host) {
  return gpus_without({PartKind::host, host}, FailureScope::host, cluster);
}

TEST(Fleet, GpusThatNeedTwoPartsWaitForBoth) {
  ClusterState cluster(2, 2);
  Fleet fleet(cluster, 0, 0);
  const std::vector<GpuSlot> one = {GpuSlot(1)};
  fleet.take_out(one);
  EXPECT_EQ(cluster.free_gpus(), 3U);
  fleet.take_out(gpus(cluster, 0));
  EXPECT_EQ(cluster.free_gpus(), 2U);
  fleet.report(HostId(0));
  EXPECT_FALSE(fleet.find_stand_in()) << "there are no spares";
  fleet.bring_back(gpus(cluster, 0));
  EXPECT_EQ(cluster.free_gpus(), 3U);
  EXPECT_EQ(cluster.fragmented_gpus(), 1U);
  fleet.bring_back(one);
  EXPECT_EQ(cluster.free_gpus(), 4U);
  EXPECT_TRUE(cluster.is_wholly_free(HostId(0)));
}

// Hosts 0 and 1 serve, 2 is a cold spare, 3 a hot one.
TEST(Fleet, SparesStandInHotOnesFirst) {
  ClusterState cluster(4, 2);
  Fleet fleet(cluster, 1, 1);
  EXPECT_EQ(cluster.gpus_in_service(), 4U);
  fleet.take_out(std::vector<GpuSlot>{GpuSlot(0)});
  fleet.report(HostId(0));
  EXPECT_FALSE(fleet.find_stand_in()) << "it has a GPU that works";
  fleet.bring_back(std::vector<GpuSlot>{GpuSlot(0)});

  fleet.take_out(gpus(cluster, 0));
  EXPECT_FALSE(fleet.find_stand_in()) << "nobody knows yet";
  fleet.report(HostId(0));
  const auto first = fleet.find_stand_in();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->host, HostId(3));
  EXPECT_EQ(first->kind, Fleet::Spare::hot);
  EXPECT_FALSE(fleet.find_stand_in()) << "it has its spare";
  EXPECT_EQ(cluster.gpus_in_service(), 2U);
  fleet.join(HostId(3));
  EXPECT_EQ(cluster.gpus_in_service(), 4U);

  fleet.take_out(gpus(cluster, 1));
  fleet.report(HostId(1));
  const auto second = fleet.find_stand_in();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->host, HostId(2));
  EXPECT_EQ(second->kind, Fleet::Spare::cold);
  // The cold spare fails while it comes up, and joins all the same. No spare is left until host 0,
  // which is one now, works again: a hot one.
  fleet.take_out(gpus(cluster, 2));
  fleet.report(HostId(2));
  fleet.join(HostId(2));
  EXPECT_FALSE(fleet.find_stand_in());
  EXPECT_EQ(cluster.gpus_in_service(), 2U);
  fleet.bring_back(gpus(cluster, 0));
  EXPECT_EQ(cluster.gpus_in_service(), 2U) << "it does not serve by itself";
  const auto third = fleet.find_stand_in();
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->host, HostId(0));
  EXPECT_EQ(third->kind, Fleet::Spare::hot);
}

TEST(Fleet, HeldGpusComeBackWhenTheirJobLeaves) {
  ClusterState cluster(1, 2);
  Fleet fleet(cluster, 0, 0);
  const Placement placement{{GpuSlot(0), GpuSlot(1)}};
  cluster.take(JobId(0), placement);
  fleet.take_out(gpus(cluster, 0));
  EXPECT_EQ(cluster.held_gpus(), 2U);
  cluster.release(JobId(0), placement);
  EXPECT_EQ(cluster.free_gpus(), 0U);
  cluster.restore(gpus(cluster, 0));
  EXPECT_EQ(cluster.free_gpus(), 2U);
}

// Host 0 stores data: when it fails, the spare, host 2, stays what it is, and stands in for host 1.
TEST(Fleet, NobodyStandsInForWhoNeverServes) {
  ClusterState cluster(3, 2);
  Fleet fleet(cluster, 1, 0);
  fleet.set_aside(HostId(0));
  EXPECT_EQ(cluster.gpus_in_service(), 2U);
  fleet.take_out(gpus(cluster, 0));
  fleet.report(HostId(0));
  EXPECT_FALSE(fleet.find_stand_in());
  fleet.bring_back(gpus(cluster, 0));
  EXPECT_EQ(cluster.gpus_in_service(), 2U);
  fleet.take_out(gpus(cluster, 1));
  fleet.report(HostId(1));
  ASSERT_TRUE(fleet.find_stand_in());
}

}  // namespace
}  // namespace weft::fleet_test
