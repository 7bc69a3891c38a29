// SPDX-License-Identifier: Apache-2.0
// Network formula: messages by hand, collectives as the tuner has them, and that the slowest group
// counts.
#include "host/projections/network_formula.hpp"

#include <gtest/gtest.h>

#include "host/projections/plan_network.hpp"
#include "tests/host/projections/small_cluster.hpp"
#include "tests/host/projections/small_training.hpp"

namespace weft::network_formula_test {
namespace {

// 64 MiB more at the rate of the links: 3,600 Gb/s of NVLink, and 400 Gb/s of a NIC less the
// headers that each packet has.
TEST(NetworkFormula, MessagesGoAtTheRateOfTheirLinks) {
  const auto topology = small_cluster::hosts(2);
  const NetworkFormula formula = small_cluster::formula(*topology);
  const FlowSettings flow = small_cluster::flow_settings();
  const auto more_s = [&](std::uint64_t to) {
    return (formula.message_between(0, to, Bytes::mib(128)) - formula.message_between(0, to, Bytes::mib(64))).in_s();
  };
  EXPECT_NEAR(more_s(1), Bytes::mib(64).in_bits() / 3600e9, 1e-9);
  const Bytes wire = flow.wire_bytes(Bytes::mib(128), false) - flow.wire_bytes(Bytes::mib(64), false);
  EXPECT_GT(wire, Bytes::mib(64));
  EXPECT_NEAR(more_s(8), wire.in_bits() / 400e9, 1e-9);
}

// A ring of all ranks goes from host to host, pairs of neighbours do not.
TEST(NetworkFormula, TheWorstMessageCounts) {
  const auto topology = small_cluster::hosts(2);
  NetworkFormula formula = small_cluster::formula(*topology);
  EXPECT_EQ(formula.message({16, 1}, Bytes::mib(1)), formula.message_between(7, 8, Bytes::mib(1)));
  EXPECT_EQ(formula.message({2, 1}, Bytes::mib(1)), formula.message_between(0, 1, Bytes::mib(1)));
  EXPECT_GT(formula.message({2, 8}, Bytes::mib(1)), formula.message({2, 1}, Bytes::mib(1)));
}

// Pairs of neighbours share a host; pairs 8 apart do not. What stays inside is what does so in all
// groups of the cluster: six in a row reach from one host to the next.
TEST(NetworkFormula, KnowsWhatStaysInside) {
  const auto topology = small_cluster::hosts(3);
  NetworkFormula formula = small_cluster::formula(*topology);
  EXPECT_TRUE(formula.stays_inside({2, 1}));
  EXPECT_TRUE(formula.stays_inside({4, 2}));
  EXPECT_TRUE(formula.stays_inside({8, 1}));
  EXPECT_FALSE(formula.stays_inside({2, 8}));
  EXPECT_FALSE(formula.stays_inside({6, 1}));
  EXPECT_FALSE(formula.stays_inside({24, 1}));
}

TEST(NetworkFormula, CollectivesAreTheTunersBest) {
  const auto topology = small_cluster::hosts(2);
  NetworkFormula formula = small_cluster::formula(*topology);
  std::vector<NodeId> members(topology->endpoints().begin(), topology->endpoints().begin() + 8);
  const GroupLayout layout(*topology, members);
  const ParamSet nccl("nccl", nccl_params());
  for (const CollectiveType type : {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::all_to_all}) {
    const double us = NcclTuner(nccl).choices({.type = type, .bytes = Bytes::mib(32), .layout = &layout}).front().time_us;
    EXPECT_NEAR(formula.collective({8, 1}, type, Bytes::mib(32)).in_us(), us, 1e-3);
  }
  EXPECT_EQ(formula.collective({1, 1}, CollectiveType::all_reduce, Bytes::mib(32)), Duration::zero());
}

// TP 2, CP 2, DP 2 on PP 2 x 8 ranks: groups have the strides of parallel_plan.hpp.
TEST(PlanNetwork, AxesAreStridedGroups) {
  const TransformerModel model = small_training::model(8);
  const ParallelPlan plan = small_training::plan(model, {"context_parallel=2", "pipeline_parallel=2"});
  ASSERT_EQ(plan.ranks(), 16U);
  const auto topology = small_cluster::hosts(2);
  NetworkFormula formula = small_cluster::formula(*topology);
  const AxisClock clock = axis_clock(formula, plan);
  const auto all_reduce = [&](PlanAxis axis) { return clock.collective(axis, CollectiveType::all_reduce, Bytes::mib(4)); };
  const auto of = [&](std::uint64_t size, std::uint64_t stride) {
    return formula.collective({size, stride}, CollectiveType::all_reduce, Bytes::mib(4));
  };
  EXPECT_EQ(all_reduce(PlanAxis::tensor), of(2, 1));
  EXPECT_EQ(all_reduce(PlanAxis::context), of(2, 2));
  EXPECT_EQ(all_reduce(PlanAxis::replicas), of(4, 2));
  EXPECT_EQ(all_reduce(PlanAxis::world), of(16, 1));
  EXPECT_EQ(clock.message(PlanAxis::pipeline, Bytes::mib(4)), formula.message({2, 8}, Bytes::mib(4)));
  EXPECT_EQ(clock.message(PlanAxis::context, Bytes::mib(4)), formula.message({2, 2}, Bytes::mib(4)));
}

TEST(PlanNetwork, UnevenExpertsAreNotInside) {
  TransformerModel model = small_training::model(8);
  model.experts = ExpertBlock{.count = 8, .top_k = 2, .width = 128, .first_dense_layers = 0, .load_shares = {}};
  const ParallelPlan plan =
      small_training::plan(model, {"tensor_parallel=1", "pipeline_parallel=2", "expert_parallel=8", "data_parallel=8"});
  const auto topology = small_cluster::hosts(2);
  NetworkFormula formula = small_cluster::formula(*topology);
  const auto is_inside = [&](PlanAxis axis) { return inside_axes(formula, model, plan).is_inside[static_cast<std::size_t>(axis)]; };
  EXPECT_TRUE(is_inside(PlanAxis::expert));
  EXPECT_FALSE(is_inside(PlanAxis::pipeline));
  model.experts->load_shares = {0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  EXPECT_FALSE(is_inside(PlanAxis::expert));
}

}  // namespace
}  // namespace weft::network_formula_test
