// SPDX-License-Identifier: Apache-2.0
// Hardware network: closed forms by axis, and what a cluster amounts to.
#include "host/projections/hardware_network.hpp"

#include <gtest/gtest.h>

#include "host/projections/collective_formulas.hpp"
#include "tests/host/projections/small_cluster.hpp"
#include "tests/host/projections/small_training.hpp"

namespace weft::hardware_network_test {
namespace {

HardwareConfig hardware() {
  return {.name = "test",
          .origin = {},
          .gpus_per_node = 4,
          .nics_per_node = 4,
          .inside = {Bandwidth::gbps(80), Duration::us(1), 1.0},
          .between = {Bandwidth::gbps(8), Duration::us(10), 1.0},
          .message_overhead = Duration::zero()};
}

// Both halves of an all-reduce by ring or hypercube: 2 lg 4 x 1 us and 2 x 3/4 of 1 MB at 10 GB/s.
TEST(HardwareNetwork, GatheringIsHalfOfAnAllReduce) {
  const Bytes size = Bytes::of(1'000'000);
  const Duration half = gather_time(hardware(), {4, 4}, size);
  EXPECT_NEAR(half.in_us(), 2 * 1 + 0.75 * 100, 1e-6);
  EXPECT_EQ(half * 2, *all_reduce_time(AllReduceFormula::hypercube, hardware().inside_of_gpu(), {}, 4, size));
  // Three ranks have a ring alone: 2 steps.
  EXPECT_NEAR(gather_time(hardware(), {3, 4}, Bytes::of(3'000'000)).in_us(), 2 * 1 + 200, 1e-6);
  // 16 ranks on 4 nodes: 3/4 inside; a quarter of the data between nodes at 1 GB/s.
  EXPECT_NEAR(gather_time(hardware(), {16, 4}, size).in_us(), 2 * 1 + 75 + 2 * 10 + 0.75 * 250, 1e-6);
}

// TP 4 shares a node, DP 2 on the next: inputs of gathers are a rank's share.
TEST(HardwareNetwork, AxesHaveTheirGroups) {
  const TransformerModel model = small_training::model(8);
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=4", "pipeline_parallel=2"});
  const AxisClock clock = hardware_clock(hardware(), plan);
  const Bytes size = Bytes::mib(1);
  EXPECT_EQ(clock.collective(PlanAxis::tensor, CollectiveType::all_reduce, size), best_all_reduce(hardware(), {4, 4}, size).time);
  EXPECT_EQ(clock.collective(PlanAxis::replicas, CollectiveType::all_reduce, size), best_all_reduce(hardware(), {2, 1}, size).time);
  EXPECT_EQ(clock.collective(PlanAxis::tensor, CollectiveType::all_gather, size),
            clock.collective(PlanAxis::tensor, CollectiveType::reduce_scatter, size * 4));
  // One rank.
  EXPECT_EQ(clock.collective(PlanAxis::expert, CollectiveType::all_to_all, size), Duration::zero());
  EXPECT_EQ(clock.message(PlanAxis::pipeline, size), send_time(hardware(), true, size));
  EXPECT_EQ(clock.message(PlanAxis::tensor, size), send_time(hardware(), false, size));
}

// Hosts of 8 H100: 3,600 Gb/s inside, a card of 400 Gb/s for each GPU, less its headers.
TEST(HardwareNetwork, IsWhatMessagesOnTheClusterTake) {
  const auto topology = small_cluster::hosts(2);
  const NetworkFormula formula = small_cluster::formula(*topology);
  const HardwareConfig found = hardware_of(*topology, formula, "cluster");
  EXPECT_EQ(found.gpus_per_node, 8U);
  EXPECT_NEAR(static_cast<double>(found.inside.bandwidth.in_bps()), 3600e9, 3600e9 * 1e-4);
  EXPECT_LT(found.between.bandwidth, Bandwidth::gbps(400));
  EXPECT_GT(found.between.bandwidth, Bandwidth::gbps(360));
  EXPECT_EQ(found.between.latency, formula.message_between(0, 8, Bytes::of(1)));
  // Its messages are those of the formula.
  for (const std::uint64_t to : {1, 8}) {
    const Duration sent = send_time(found, to == 8, Bytes::mib(16));
    EXPECT_NEAR(sent.in_us() / formula.message_between(0, to, Bytes::mib(16)).in_us(), 1, 1e-3);
  }
  // A host alone has its own links for both.
  const auto alone = small_cluster::hosts(1);
  const HardwareConfig one = hardware_of(*alone, small_cluster::formula(*alone), "host");
  EXPECT_EQ(one.between.bandwidth, one.inside.bandwidth);
}

}  // namespace
}  // namespace weft::hardware_network_test
