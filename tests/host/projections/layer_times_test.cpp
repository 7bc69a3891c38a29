// SPDX-License-Identifier: Apache-2.0
// Layer times: what comes back to a plan is what was taken for the bench.
#include "host/projections/layer_times.hpp"

#include <gtest/gtest.h>

#include "tests/host/projections/small_training.hpp"
#include "workloads/plans/pass_cost.hpp"
#include "workloads/plans/reduced_plan.hpp"

namespace weft::layer_times_test {
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

ReducedPlan reduced(const TransformerModel& model, const ParallelPlan& plan, std::uint64_t gpus) {
  return std::get<ReducedPlan>(reduced_plan(model, plan, {.gpus = gpus}));
}

HardwareConfig hardware() {
  return {.name = "test",
          .origin = {},
          .inside = {Bandwidth::gbps(80), Duration::us(1), 1.0},
          .between = {Bandwidth::gbps(8), Duration::us(10), 1.0},
          .message_overhead = Duration::zero()};
}

LayerTimes test_times() {
  const auto times = [](std::int64_t us) { return PartTimes{Duration::us(us), Duration::us(2 * us)}; };
  return {times(1000), times(2000), times(3000), times(4000)};
}

void expect_equal(const PartTimes& a, const PartTimes& b) {
  EXPECT_EQ(a.forward, b.forward);
  EXPECT_EQ(a.backward, b.backward);
}

TEST(LayerTimesOfParts, NothingReducedIsNothingRestored) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = expert_plan(model);
  const LayerTimes there = restored(test_times(), model, plan, plan, hardware());
  expect_equal(there.input, test_times().input);
  expect_equal(there.dense_layer, test_times().dense_layer);
  expect_equal(there.expert_layer, test_times().expert_layer);
  expect_equal(there.output, test_times().output);
}

// From one GPU to TP 2 a dense layer computes half as long and adds two all-reduces of 128 x 64
// activations of 2 bytes: 16,384 bytes at 10 GB/s take 1.6384 us. Between two ranks each has its
// input once: a + S b = 2.6384 us by Bruck's, which all take.
TEST(LayerTimesOfParts, TensorRanksShareComputation) {
  const TransformerModel model = small_training::model(8);
  const ParallelPlan plan = small_training::plan(model, {});
  const ReducedPlan bench = reduced(model, plan, 1);
  const LayerTimes there = restored(test_times(), model, bench.plan, plan, hardware());
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
TEST(LayerTimesOfParts, ExpertsAddAllToAlls) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1", "expert_parallel=8", "data_parallel=8"});
  EXPECT_EQ(expert_message(model, plan), Bytes::of(32768));
  const LayerTimes there = restored(test_times(), model, reduced(model, plan, 1).plan, plan, hardware());
  EXPECT_NEAR(there.expert_layer.forward.in_us(), 3000 + 2 * 7 * 1.4096, 1e-3);
  EXPECT_NEAR(there.expert_layer.backward.in_us(), 6000 + 2 * 7 * 1.4096, 1e-3);
  expect_equal(there.dense_layer, test_times().dense_layer);
}

// 8 layers on 4 stages, the first layer dense: 2 each.
TEST(LayerTimesOfParts, Positions) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = small_training::plan(model, {"tensor_parallel=1"});
  const std::vector<PositionTimes> positions = position_times(test_times(), model, plan, Duration::us(5), Arithmetic::physical);
  ASSERT_EQ(positions.size(), 4U);
  EXPECT_EQ(positions[0].forward, Duration::us(1000 + 2000 + 3000));
  EXPECT_EQ(positions[1].forward, Duration::us(2 * 3000));
  EXPECT_EQ(positions[3].backward, Duration::us(2 * (2 * 3000 + 4000)));
  EXPECT_EQ(positions[3].backward_input, Duration::us(2 * 3000 + 4000));
  EXPECT_EQ(positions[3].backward_weight, positions[3].backward_input);
  EXPECT_EQ(positions[0].forward_transfer, Duration::us(5));
}

// A layer that is computed again runs forward once more before it goes backward: two of the last
// stage's, one of each chunk of a block recomputation. As published nothing is.
TEST(LayerTimesOfParts, RecomputedLayersRunForwardAgain) {
  const TransformerModel model = expert_model();
  const auto last = [&](const char* kind, Arithmetic arithmetic) {
    const ParallelPlan plan =
        small_training::plan(model, {"tensor_parallel=1", std::string("recompute.kind=") + kind, "recompute.layers=1"});
    return position_times(test_times(), model, plan, Duration::zero(), arithmetic).back().backward;
  };
  const Duration kept = Duration::us(2 * (2 * 3000 + 4000));
  EXPECT_EQ(last("UNIFORM", Arithmetic::physical), kept + Duration::us(2 * 3000));
  EXPECT_EQ(last("BLOCK", Arithmetic::physical), kept + Duration::us(3000));
  EXPECT_EQ(last("UNIFORM", Arithmetic::as_published), kept);
}

// A clock of 1 us per operator: what passes take is what pass_cost.hpp says.
TEST(LayerTimesOfParts, ComeFromClocks) {
  const TransformerModel model = expert_model();
  const ParallelPlan plan = expert_plan(model);
  const OperatorClock clock = [](const Operator&, OperatorPass) { return Duration::us(1); };
  const AxisClock network = {[](PlanAxis, CollectiveType, Bytes) { return Duration::us(10); },
                             [](PlanAxis, Bytes) { return Duration::us(10); }};
  const LayerTimes times = timed_layers(model, plan, clock, network);
  const TrainingSteps steps(model, plan);
  EXPECT_EQ(times.dense_layer.forward, cost_of(steps.layer(false).forward, clock, network).time);
  EXPECT_EQ(times.expert_layer.backward, cost_of(steps.layer(true).backward, clock, network).time);
  EXPECT_GT(times.expert_layer.forward, Duration::us(2 * 10));  // to experts and back
  EXPECT_EQ(times.output.forward, cost_of(steps.output().forward, clock, network).time);
}

}  // namespace
}  // namespace weft::layer_times_test
