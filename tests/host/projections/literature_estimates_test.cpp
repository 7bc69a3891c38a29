// SPDX-License-Identifier: Apache-2.0
// Literature estimates: a plan that all of them know by hand.
#include "host/projections/literature_estimates.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"
#include "host/projections/hardware_network.hpp"
#include "host/projections/iteration_estimate.hpp"
#include "host/projections/model_operations.hpp"
#include "tests/host/projections/small_training.hpp"
#include "workloads/plans/pass_cost.hpp"

namespace weft::literature_estimates_test {
namespace {

const SourcePlace place = SourcePlace::named("test");

/// Products take a tick per operation, all else nothing but the optimizer's 1 ms.
Duration products(const Operator& op, OperatorPass pass) {
  if (std::holds_alternative<OptimizerStep>(op.shape)) return Duration::ms(1);
  return Duration::ticks(static_cast<std::int64_t>(product_operations(op.shape, pass)));
}

HardwareConfig fast_hardware() {
  return {.name = "fast",
          .origin = {},
          .inside = {Bandwidth::gbps(1'000'000), Duration::zero(), 1.0},
          .between = {Bandwidth::gbps(1'000'000), Duration::zero(), 1.0},
          .message_overhead = Duration::zero()};
}

struct Asked {
  TransformerModel model = small_training::model(8);
  ParallelPlan plan;
  HardwareConfig hardware = fast_hardware();
  PartClocks clocks = products;
  AxisClock network;

  explicit Asked(std::vector<std::string> settings) : plan(small_training::plan(model, std::move(settings))) {
    network = hardware_clock(hardware, plan);
  }
  EstimatedPlan of() const { return {model, plan, clocks, network, hardware}; }
};

// One GPU: everything is M (F + B), of which the composition also has the optimizer and, as
// published, another F; the last stage's layers are all layers.
TEST(LiteratureEstimates, OneGpu) {
  const Asked asked({"tensor_parallel=1", "pipeline_parallel=1", "data_parallel=1"});
  const IterationEstimate own = estimate_iteration(asked.model, asked.plan, asked.clocks, asked.network, place);
  const auto composition = composition_estimates(asked.of(), nullptr, place);
  ASSERT_EQ(composition.size(), 2U);
  EXPECT_NEAR(composition[1].right->in_us(), own.iteration.in_us(), 0.1);
  const TrainingSteps steps(asked.model, asked.plan);
  const Duration forward = cost_of(steps.layer(false).forward, products, asked.network).compute * 8;
  EXPECT_NEAR((*composition[0].published - *composition[0].right).in_us(), (forward * 16).in_us(), 0.1);
  const auto precision = precision_estimates(asked.of());
  EXPECT_NEAR(precision[0].right->in_us(), own.compute.in_us(), 0.1);
  const LayerTimes times = timed_layers(asked.model, asked.plan, asked.clocks, asked.network);
  const LiteratureEstimate nodes = nodes_estimate(asked.of(), asked.plan, times, place);
  EXPECT_NEAR(nodes.right->in_us(), own.compute.in_us(), 0.1);
}

// PP 4 and M 16 on a network that takes no time: dependencies alone decide, and all that are right
// agree with the estimate but for the optimizer and the slowest stage's slots.
TEST(LiteratureEstimates, PipelinesAgree) {
  const Asked asked({"tensor_parallel=1", "data_parallel=2", "global_batch=32"});
  const IterationEstimate own = estimate_iteration(asked.model, asked.plan, asked.clocks, asked.network, place);
  const auto composition = composition_estimates(asked.of(), nullptr, place);
  EXPECT_NEAR(composition[1].right->in_us() / own.iteration.in_us(), 1, 1e-3);
  const LayerTimes times = timed_layers(asked.model, asked.plan, asked.clocks, asked.network);
  const LiteratureEstimate nodes = nodes_estimate(asked.of(), asked.plan, times, place);
  ASSERT_TRUE(nodes.right) << nodes.rule;
  EXPECT_NEAR(nodes.right->in_us() / (own.iteration - own.optimizer).in_us(), 1, 1e-3);
  // As published eq. 4 has all of the computation three times more.
  const auto precision = precision_estimates(asked.of());
  EXPECT_GT(*precision[0].published, own.iteration * 3);
  EXPECT_NEAR(precision[0].right->in_us() / own.iteration.in_us(), 1, 0.2);
}

TEST(LiteratureEstimates, SayWhatTheyDoNotKnow) {
  Asked asked({"tensor_parallel=1", "pipeline_parallel=2", "expert_parallel=1"});
  asked.model.experts = ExpertBlock{.count = 4, .top_k = 2, .width = 128, .first_dense_layers = 0, .load_shares = {}};
  const auto composition = composition_estimates(asked.of(), nullptr, place);
  ASSERT_EQ(composition.size(), 1U);
  EXPECT_FALSE(composition[0].published);
  EXPECT_FALSE(composition[0].rule.empty());
  // Twelve GPUs are a node and a half; four fill a smaller one.
  ParallelPlan twelve = asked.plan;
  twelve.data = 6;
  EXPECT_EQ(std::get<std::string>(filled_nodes(asked.hardware, twelve)), "12 GPUs are no whole number of nodes of 8");
  EXPECT_EQ(std::get<HardwareConfig>(filled_nodes(asked.hardware, asked.plan)).gpus_per_node, 4U);
  const LayerTimes times = timed_layers(asked.model, asked.plan, asked.clocks, asked.network);
  ParallelPlan bench = asked.plan;
  bench.context = 2;
  EXPECT_NE(nodes_estimate(asked.of(), bench, times, place).rule.find("context_parallel"), std::string::npos);
}

// 6 operations for each parameter of a product and token: hidden 64, MLP 256, no key-value groups.
TEST(ModelOperations, SixForEachParameterAndToken) {
  const TransformerModel model = small_training::model(8);
  const ParallelPlan plan = small_training::plan(model, {});
  const double layer = 4 * 64.0 * 64 + 2 * 64.0 * 256;
  const double output = 64.0 * 1024;
  const double tokens = 16 * 128;
  // Causal attention: two products of 128 x 128 / 2 x 64 forward, and twice as much backward or, in
  // one kernel, two and a half times.
  const double attention_forward = 16 * 2 * 2 * 128.0 * (128 * 0.5) * 64;
  const double linear = 6 * (8 * layer + output) * tokens;
  const double all = model_operations(model, plan);
  EXPECT_GE(all, linear + 8 * 3 * attention_forward * 0.99);
  EXPECT_LE(all, linear + 8 * 3.5 * attention_forward * 1.02);
  // The plan does not change it, nor what is computed again.
  for (const char* setting : {"tensor_parallel=4", "context_parallel=1", "recompute.kind=UNIFORM", "pipeline_parallel=2"})
    EXPECT_NEAR(model_operations(model, small_training::plan(model, {setting})) / all, 1, 1e-9) << setting;
}

}  // namespace
}  // namespace weft::literature_estimates_test
