// SPDX-License-Identifier: Apache-2.0
// Node reduction: what is given up first, and that what comes back is what was taken.
#include "host/projections/node_reduction.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "tests/host/projections/small_training.hpp"

namespace weft::node_reduction_test {
namespace {

/// Eight experts in all layers but the first.
TransformerModel expert_model() {
  TransformerModel model = small_training::model(8);
  model.experts = ExpertBlock{.count = 8, .top_k = 2, .width = 128, .first_dense_layers = 1, .load_shares = {}};
  return model;
}

ParallelPlan expert_plan(const TransformerModel& model) {
  return small_training::plan(model, {"tensor_parallel=8", "sequence_parallel=true", "expert_parallel=8", "data_parallel=8"});
}

ReducedTraining reduced(const TransformerModel& model, const ParallelPlan& plan, std::uint64_t gpus) {
  return std::get<ReducedTraining>(reduce_to(model, plan, gpus));
}

// TP 8, PP 4, EP 8, where experts share the ranks of tensor parallelism. 8 GPUs hold a stage; 4
// hold it with half of the experts and, since that is not enough, half of the tensor ranks; and so
// on. The published example: on one GPU all degrees are 1.
TEST(NodeReduction, PipelineThenExpertsThenTensor) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = expert_plan(model);
  ASSERT_EQ(ranks_min(plan), 32U);
  const ReducedTraining whole = reduced(model, plan, 64);
  EXPECT_EQ(whole.plan.pipeline, 4U);
  EXPECT_EQ(whole.plan.data, 2U);
  const ReducedTraining stage = reduced(model, plan, 8);
  EXPECT_EQ(stage.plan.pipeline, 1U);
  EXPECT_EQ(stage.plan.expert, 8U);
  EXPECT_EQ(stage.plan.tensor, 8U);
  EXPECT_EQ(stage.plan.layout, (PipelineLayout{{0, 8}}));
  EXPECT_EQ(stage.model.experts->count, 8U);
  const ReducedTraining one = reduced(model, plan, 1);
  EXPECT_EQ(one.plan.pipeline, 1U);
  EXPECT_EQ(one.plan.expert, 1U);
  EXPECT_EQ(one.plan.tensor, 1U);
  EXPECT_EQ(one.plan.data, 1U);
  EXPECT_FALSE(one.plan.sequence_parallel);
  EXPECT_EQ(one.model.experts->count, 1U);
  EXPECT_EQ(one.plan.microbatches(), plan.microbatches());
}

// TP 1: experts go before tensor parallelism has anything to give. 16 experts over 8 ranks are 2
// for each, and stay 2.
TEST(NodeReduction, ExpertsPerRankStay) {
  TransformerModel model = expert_model();
  model.experts->count = 16;
  model.experts->load_shares = std::vector<double>(16, 0.0625);
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1", "expert_parallel=8", "data_parallel=8"});
  for (const std::uint64_t gpus : {1U, 2U, 3U, 4U, 7U, 8U}) {
    const ReducedTraining bench = reduced(model, plan, gpus);
    EXPECT_LE(bench.plan.ranks(), gpus);
    EXPECT_EQ(bench.plan.expert, std::bit_floor(gpus));
    EXPECT_EQ(bench.model.experts->count, 2 * bench.plan.expert);
    EXPECT_EQ(bench.model.experts->load_shares.empty(), bench.plan.expert < 8) << gpus;
  }
}

TEST(NodeReduction, ContextStays) {
  const TransformerModel model = small_training::model(8);
  const ParallelPlan plan = small_training::plan(model, {"context_parallel=4"});
  EXPECT_EQ(reduced(model, plan, 4).plan.context, 4U);
  EXPECT_EQ(reduced(model, plan, 4).plan.tensor, 1U);
  EXPECT_EQ(std::get<std::string>(reduce_to(model, plan, 2)),
            "context_parallel = 4 needs 4 GPUs, and the bench has 2: it is not reduced");
}

HardwareConfig hardware() {
  return {.name = "test",
          .origin = {},
          .inside = {Bandwidth::gbps(80), Duration::us(1), 1.0},
          .between = {Bandwidth::gbps(8), Duration::us(10), 1.0},
          .message_overhead = Duration::zero()};
}

LayerTimes layer_times() {
  const auto times = [](std::int64_t us) { return PartTimes{Duration::us(us), Duration::us(2 * us)}; };
  return {times(1000), times(2000), times(3000), times(4000)};
}

void expect_equal(const PartTimes& a, const PartTimes& b) {
  EXPECT_EQ(a.forward, b.forward);
  EXPECT_EQ(a.backward, b.backward);
}

TEST(NodeReduction, NothingReducedIsNothingRestored) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = expert_plan(model);
  const LayerTimes there = restored(layer_times(), model, plan, plan, hardware());
  expect_equal(there.input, layer_times().input);
  expect_equal(there.dense_layer, layer_times().dense_layer);
  expect_equal(there.expert_layer, layer_times().expert_layer);
  expect_equal(there.output, layer_times().output);
}

// From one GPU to TP 2 a dense layer computes half as long and adds two all-reduces of 128 x 64
// activations of 2 bytes: 16,384 bytes at 10 GB/s take 1.6384 us. Between two ranks each has its
// input once: a + S b = 2.6384 us by Bruck's, which all take.
TEST(NodeReduction, TensorRanksShareComputation) {
  const TransformerModel model = small_training::model(8);
  const ParallelPlan plan = small_training::plan(model, {});
  const ReducedTraining bench = reduced(model, plan, 1);
  const LayerTimes there = restored(layer_times(), model, bench.plan, plan, hardware());
  EXPECT_NEAR(there.dense_layer.forward.in_us(), 1000 + 2 * 2.6384, 1e-4);
  EXPECT_NEAR(there.dense_layer.backward.in_us(), 2000 + 2 * 2.6384, 1e-4);
  EXPECT_NEAR(there.input.forward.in_us(), 500 + 2.6384, 1e-4);
  EXPECT_NEAR(there.input.backward.in_us(), 1000, 1e-4);
  EXPECT_NEAR(there.output.forward.in_us(), 2000, 1e-4);
  EXPECT_NEAR(there.output.backward.in_us(), 4000 + 2.6384, 1e-4);
  // And back: measured with two ranks, what a bench of one takes.
  const LayerTimes back = restored(there, model, plan, bench.plan, hardware());
  EXPECT_NEAR(back.dense_layer.forward.in_us(), 2000, 1e-3);
  EXPECT_NEAR(back.output.backward.in_us(), 8000, 1e-3);
}

// From one GPU to 8 expert-parallel ranks: two all-to-alls of 128 x 2 x 64 activations of 2 bytes,
// 32,768 bytes: 7 x (1 + 0.4096) us each.
TEST(NodeReduction, ExpertsAddAllToAlls) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1", "expert_parallel=8", "data_parallel=8"});
  EXPECT_EQ(expert_message(model, plan), Bytes::of(32768));
  const LayerTimes there = restored(layer_times(), model, reduced(model, plan, 1).plan, plan, hardware());
  EXPECT_NEAR(there.expert_layer.forward.in_us(), 3000 + 2 * 7 * 1.4096, 1e-3);
  EXPECT_NEAR(there.expert_layer.backward.in_us(), 6000 + 2 * 7 * 1.4096, 1e-3);
  expect_equal(there.dense_layer, layer_times().dense_layer);
}

// 8 layers on 4 stages, the first layer dense: 2 each.
TEST(NodeReduction, Positions) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1"});
  const std::vector<PositionTimes> positions = position_times(layer_times(), model, plan, Duration::us(5));
  ASSERT_EQ(positions.size(), 4U);
  EXPECT_EQ(positions[0].forward, Duration::us(1000 + 2000 + 3000));
  EXPECT_EQ(positions[1].forward, Duration::us(2 * 3000));
  EXPECT_EQ(positions[3].backward, Duration::us(2 * (2 * 3000 + 4000)));
  EXPECT_EQ(positions[3].backward_input, Duration::us(2 * 3000 + 4000));
  EXPECT_EQ(positions[3].backward_weight, positions[3].backward_input);
  EXPECT_EQ(positions[0].forward_transfer, Duration::us(5));
}

}  // namespace
}  // namespace weft::node_reduction_test
