// SPDX-License-Identifier: Apache-2.0
// Partition of a topology by zeta, with the numbers of a small Clos derived by hand.
#include <gtest/gtest.h>

#include "topologies/topology_partition.hpp"
#include "topology_help.hpp"

namespace weft::partition_test {
namespace {

/// Two pods of 4 hosts, a leaf each, 2 aggregation switches and 4 spines. Fibres of 10, 150 and
/// 1,000 ns.
std::shared_ptr<const Topology> small_clos() {
  return build_named("clos", {{"hosts", "8"}, {"leafs_per_pod", "4"}, {"aggs_per_pod", "2"}, {"spines", "4"}});
}

TEST(TopologyPartition, AZeroThresholdKeepsHostsWhole) {
  const auto topology = small_clos();
  const PartitionSummary summary = summarize_partition(*topology, partition_topology(*topology, Duration::zero()));
  // 8 hosts + 8 leafs + 4 aggregation switches + 4 spines, each alone; the shortest cable between
  // two is 2 m = 10 ns.
  EXPECT_EQ(summary.lps.size(), 24U);
  EXPECT_EQ(summary.lookahead, Duration::ns(10));
  EXPECT_EQ(summary.cut_cables, 8U + 16U + 8U);
  for (const auto& lp : summary.lps) EXPECT_EQ(lp.hosts + lp.switches, 1U);
}

TEST(TopologyPartition, AThresholdAboveTheRackFibreJoinsHostAndLeaf) {
  const auto topology = small_clos();
  const PartitionSummary summary = summarize_partition(*topology, partition_topology(*topology, Duration::ns(100)));
  EXPECT_EQ(summary.lps.size(), 16U);  // 8 racks, 4 aggregation switches, 4 spines
  EXPECT_EQ(summary.lookahead, Duration::ns(150));
}

TEST(TopologyPartition, AThresholdAboveTheRowFibreJoinsPods) {
  const auto topology = small_clos();
  const PartitionSummary summary = summarize_partition(*topology, partition_topology(*topology, Duration::ns(200)));
  ASSERT_EQ(summary.lps.size(), 6U);  // 2 pods, 4 spines
  EXPECT_EQ(summary.lookahead, Duration::us(1));
  EXPECT_EQ(summary.lps[0].hosts, 4U);
  EXPECT_EQ(summary.lps[0].switches, 6U);
  EXPECT_EQ(summary.lps[0].cables_out, 4U);  // 2 aggregation switches with 2 spines each
  EXPECT_EQ(to_text(summary),
            "6 logical processes, lookahead 1us, 8 cables between them\n"
            "  4 x: 0 hosts, 1 switch, 2 cables to others\n"
            "  2 x: 4 hosts, 6 switches, 4 cables to others\n");
}

TEST(TopologyPartition, AThresholdAboveAllLeavesOne) {
  const auto topology = small_clos();
  const Partition partition = partition_topology(*topology, Duration::ms(1));
  EXPECT_EQ(partition.lp_count, 1U);
  EXPECT_EQ(partition.lookahead, Duration::max());
  EXPECT_EQ(partition.lp_of_node.size(), topology->node_count());
}

TEST(TopologyPartition, AutomaticTakesTheLongestLookaheadWithEnoughProcesses) {
  const auto topology = small_clos();
  EXPECT_EQ(partition_topology_automatically(*topology, 6).lookahead, Duration::us(1));
  EXPECT_EQ(partition_topology_automatically(*topology, 7).lookahead, Duration::ns(150));
}

TEST(TopologyPartition, HostsStayTogetherWithoutAnNvswitch) {
  TopologyBuilder builder("plain");
  const HostId host = builder.add_host();
  const NodeId leaf = builder.add_switch(1);
  const NodeId a = builder.add_endpoint(host, NodeKind::gpu);
  const NodeId b = builder.add_endpoint(host, NodeKind::gpu);
  builder.add_cable(a, leaf, Bandwidth::gbps(1), Duration::us(1));
  builder.add_cable(b, leaf, Bandwidth::gbps(1), Duration::us(1));
  const auto topology = std::move(builder).build(nullptr, {});
  const Partition partition = partition_topology(*topology, Duration::zero());
  EXPECT_EQ(partition.lp_count, 2U);
  EXPECT_EQ(partition.lp_of_node[a.index()], partition.lp_of_node[b.index()]);
}

}  // namespace
}  // namespace weft::partition_test
