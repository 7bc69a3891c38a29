// SPDX-License-Identifier: Apache-2.0
// Placers that look at the fabric: which hosts are near each other, as few tiers as can be, the
// least contention, and equal rails.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "scheduler/placement/group_placement.hpp"
#include "scheduler/placement/packed.hpp"
#include "scheduler/placement/rail_aware.hpp"
#include "scheduler/placement/topology_aware.hpp"
#include "topologies/builders.hpp"

namespace weft::group_placers_test {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<const Topology> topology_of(const std::string& builder, const Settings& settings) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(topology_builders(), builder, place);
  ParamSet params(builder, module.info.params);
  for (const auto& [name, value] : settings) params.set(name, value, place);
  return module.make(params, place);
}

/// 16 hosts of 4 GPUs: 2 below a leaf, 2 leaves in a pod, so 4 pods.
std::shared_ptr<const Topology> small_clos() {
  return topology_of("clos", {{"hosts", "16"},
                              {"gpus_per_host", "4"},
                              {"hosts_per_leaf", "2"},
                              {"leafs_per_pod", "2"},
                              {"aggs_per_pod", "2"},
                              {"spines", "2"}});
}

/// Takes all GPUs of these hosts for a job.
void occupy(ClusterState& cluster, std::uint32_t job, const std::vector<std::uint32_t>& hosts) {
  Placement placement;
  for (const std::uint32_t host : hosts) {
    for (const GpuSlot gpu : cluster.gpus(HostId(host))) placement.gpus.push_back(gpu);
  }
  cluster.take(JobId(job), placement);
}

TEST(HostGroups, AreLeavesPodsAndAll) {
  const auto topology = small_clos();
  const ClusterState cluster(*topology);
  const HostGroups groups(cluster, *topology);
  ASSERT_EQ(groups.tier_count(), 3U);
  EXPECT_EQ(groups.group_count(0), 8U);
  EXPECT_EQ(groups.group_count(1), 4U);
  EXPECT_EQ(groups.group_count(2), 1U);
  for (std::uint32_t host = 0; host < 16; ++host) {
    EXPECT_EQ(groups.group_of(0, HostId(host)), host / 2);
    EXPECT_EQ(groups.group_of(1, HostId(host)), host / 4);
  }
  // A leaf has a cable of 400 Gb/s to each of the 2 aggregation switches; each of these, as 2
  // spines are shared out among 2, one to a spine.
  EXPECT_EQ(groups.rate_out(0, 0), 800e9);
  EXPECT_EQ(groups.rate_out(1, 0), 800e9);
  const auto spanned = [&](const std::vector<std::uint32_t>& gpus) {
    Placement placement;
    for (const std::uint32_t gpu : gpus) placement.gpus.emplace_back(gpu);
    return groups.tiers_spanned(cluster, placement);
  };
  EXPECT_EQ(spanned({0, 3}), 0U);
  EXPECT_EQ(spanned({0, 4}), 1U);
  EXPECT_EQ(spanned({0, 8}), 2U);
  EXPECT_EQ(spanned({0, 16}), 3U);
}

// All NICs of 4 hosts hang on the same set of rail switches, which only spines join to the next
// set.
TEST(HostGroups, OfRailsAreGroupsOfHosts) {
  const auto topology = topology_of("rail_optimized", {{"hosts", "12"}, {"hosts_per_leaf_group", "4"}, {"spines", "4"}});
  const HostGroups groups(ClusterState(*topology), *topology);
  ASSERT_EQ(groups.tier_count(), 2U);
  EXPECT_EQ(groups.group_count(0), 3U);
  EXPECT_EQ(groups.group_of(0, HostId(7)), 1U);
  // 8 rail switches with 4 cables of 400 Gb/s each.
  EXPECT_EQ(groups.rate_out(0, 2), 8 * 4 * 400e9);
}

TEST(HostGroups, OfOneSwitchAndOfAClusterWithoutTopology) {
  const auto topology = topology_of("single_switch", {{"hosts", "5"}});
  EXPECT_EQ(HostGroups(ClusterState(*topology), *topology).tier_count(), 1U);
  const ClusterState cluster(5, 4);
  const HostGroups pairs(cluster, 2);
  EXPECT_EQ(pairs.tier_count(), 2U);
  EXPECT_EQ(pairs.group_count(0), 3U);
  EXPECT_EQ(pairs.rate_out(0, 0), 8);
  EXPECT_EQ(pairs.rate_out(0, 2), 4);
  EXPECT_EQ(HostGroups(cluster, 8).tier_count(), 1U);
}

// Host 0 is busy. Two hosts below one leaf: leaves 1 to 7 are equal, the first of them takes it;
// packed would take hosts 1 and 2, of two leaves. Four hosts in one pod: pod 0 has three, so it is
// pod 1. Five hosts: no pod is enough.
TEST(TopologyAware, SpansTheFewestTiers) {
  const auto topology = small_clos();
  ClusterState cluster(*topology);
  occupy(cluster, 0, {0});
  const TopologyAware placer(topology, 1);
  EXPECT_EQ(cluster.to_text(*Packed().place(cluster, 8)), "host1-2:0-3");
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 8)), "host2-3:0-3");
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 16)), "host4-7:0-3");
  // Pod 0 is left with the fewest, host 1 gives the rest.
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 10)), "host1:0-1,host2-3:0-3");
  EXPECT_EQ(placer.place(cluster, 20)->gpus.size(), 20U);
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 3)), "host1:0-2");
}

// In pod 1 a job has a host below each leaf and so loads their uplinks with 4 rings; in pod 2 two
// jobs have one host each, and load nothing. The other pods are full. A job of two hosts finds no
// leaf free and goes to pod 2.
TEST(TopologyAware, AvoidsLoadedUplinks) {
  const auto topology = small_clos();
  ClusterState cluster(*topology);
  occupy(cluster, 0, {4, 6});
  occupy(cluster, 1, {8});
  occupy(cluster, 2, {10});
  occupy(cluster, 3, {0, 1, 2, 3, 12, 13, 14, 15});
  const HostGroups groups(cluster, *topology);
  const TopologyAware placer(topology, 1);
  const std::optional<Placement> placement = placer.place(cluster, 8);
  ASSERT_TRUE(placement);
  EXPECT_EQ(cluster.to_text(*placement), "host9:0-3,host11:0-3");
  // Its own 4 rings on 800 Gb/s; in pod 1 they would share with 4 others.
  EXPECT_DOUBLE_EQ(estimated_contention(cluster, groups, *placement), 4 / 800e9);
  Placement other;
  for (const std::uint32_t host : {5U, 7U}) cluster.append_free(HostId(host), 4, other.gpus);
  EXPECT_DOUBLE_EQ(estimated_contention(cluster, groups, other), 8 / 800e9);
}

/// Some hosts busy, of others the first GPUs held, some GPUs out of service.
ClusterState random_state(const Topology& topology, std::mt19937& random) {
  ClusterState cluster(topology);
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    Placement placement;
    const bool is_whole = random() % 3 != 0;
    const bool is_busy = random() % 2 == 0;
    const std::uint32_t held = 1 + random() % 3;
    for (const GpuSlot gpu : cluster.gpus(HostId(host))) {
      if (is_whole ? is_busy : cluster.local_index(gpu) < held) placement.gpus.push_back(gpu);
    }
    cluster.take(JobId(random() % 5), placement);
    if (random() % 10 == 0) cluster.withdraw(std::vector{cluster.slot(HostId(host), 0)});
  }
  return cluster;
}

TEST(TopologyAware, SpansNoMoreTiersThanPackedAndTheFewestThatCanBe) {
  const auto topology = small_clos();
  const HostGroups groups(ClusterState(*topology), *topology);
  const TopologyAware placer(topology, 1);
  std::mt19937 random(3);
  std::uint32_t fewer = 0;
  for (int round = 0; round < 300; ++round) {
    const ClusterState cluster = random_state(*topology, random);
    for (std::uint32_t gpus = 1; gpus <= cluster.free_gpus(); ++gpus) {
      const auto packed = Packed().place(cluster, gpus);
      const auto found = placer.place(cluster, gpus);
      ASSERT_EQ(packed.has_value(), found.has_value());
      if (!found) continue;
      const std::uint32_t spanned = groups.tiers_spanned(cluster, *found);
      ASSERT_LE(spanned, groups.tiers_spanned(cluster, *packed));
      fewer += spanned < groups.tiers_spanned(cluster, *packed) ? 1 : 0;
      // Below the tier that it spans no group has room.
      for (std::uint32_t tier = 0; gpus > 4 && tier + 1 < spanned; ++tier) {
        for (std::uint32_t group = 0; group < groups.group_count(tier); ++group)
          ASSERT_FALSE(place_in_group(cluster, groups, tier, group, gpus, HostOrder::by_number));
      }
      // Ranks go group by group: a ring enters each leaf once.
      std::vector<std::uint32_t> leaves;
      for (const GpuSlot gpu : found->gpus) {
        const std::uint32_t leaf = groups.group_of(0, cluster.host_of(gpu));
        if (leaves.empty() || leaves.back() != leaf) leaves.push_back(leaf);
      }
      ASSERT_EQ(std::set(leaves.begin(), leaves.end()).size(), leaves.size());
    }
  }
  EXPECT_GT(fewer, 100U);
}

// Groups of 4 hosts: 0-3, 4-7, 8-11. Two hosts of group 0 and three of group 1 are busy.
TEST(RailAware, TakesWholeHostsOfFewGroups) {
  const auto topology = topology_of("rail_optimized", {{"hosts", "12"}, {"hosts_per_leaf_group", "4"}, {"spines", "4"}});
  ClusterState cluster(*topology);
  occupy(cluster, 0, {1, 2});
  occupy(cluster, 1, {4, 5, 6});
  const RailAware placer(topology, 1, false);
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 16)), "host0:0-7,host3:0-7");
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 24)), "host8-10:0-7");
  // Five hosts: all of group 2, which gives the most, and the one of group 1, which is left with
  // the fewest.
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 40)), "host7-11:0-7");
}

// Four hosts of 4 GPUs, each with one GPU busy: number 0 on host 0, number 1 on the others. There
// are no whole hosts. Jobs of 6 take 3 of each of two hosts that have the same three free.
TEST(RailAware, TakesEqualRailsOfPartlyUsedHosts) {
  ClusterState cluster(4, 4);
  cluster.take(JobId(0), {{GpuSlot(0), GpuSlot(5), GpuSlot(9), GpuSlot(13)}});
  const RailAware placer(nullptr, 2, false);
  // 0, 2 and 3 on hosts 1 to 3; hosts 2 and 3 are one group.
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 6)), "host2-3:0+2-3");
  EXPECT_FALSE(RailAware(nullptr, 2, true).place(cluster, 6));
  // Nine GPUs: three on each of hosts 1, 2 and 3.
  EXPECT_EQ(cluster.to_text(*placer.place(cluster, 9)), "host1-3:0+2-3");
  // Five: one on each of five hosts, of which there are not as many.
  EXPECT_FALSE(placer.place(cluster, 5));
}

TEST(RailAware, JobsOfSeveralHostsHaveTheSameGpusOnEach) {
  const auto topology = topology_of("rail_optimized", {{"hosts", "8"}, {"hosts_per_leaf_group", "4"}, {"spines", "4"}});
  const RailAware placer(topology, 1, false);
  std::mt19937 random(8);
  std::uint32_t partly = 0;
  for (int round = 0; round < 300; ++round) {
    const ClusterState cluster = random_state(*topology, random);
    for (std::uint32_t gpus = 16; gpus <= cluster.free_gpus(); gpus += 8) {
      const auto placement = placer.place(cluster, gpus);
      // Whole hosts are best for jobs of whole hosts.
      ASSERT_TRUE(placement || !Packed().place(cluster, gpus));
      if (!placement) continue;
      std::map<HostId, std::vector<std::uint32_t>> rails;
      for (const GpuSlot gpu : placement->gpus) rails[cluster.host_of(gpu)].push_back(cluster.local_index(gpu));
      for (const auto& [host, of_host] : rails) ASSERT_EQ(of_host, rails.begin()->second);
      const auto k = static_cast<std::uint32_t>(rails.begin()->second.size());
      partly += k < 8 ? 1 : 0;
      for (std::uint32_t rank = k; rank < gpus; ++rank)
        ASSERT_EQ(cluster.local_index(placement->gpus[rank]), cluster.local_index(placement->gpus[rank - k]));
    }
  }
  EXPECT_GT(partly, 50U);
}

}  // namespace
}  // namespace weft::group_placers_test
