// SPDX-License-Identifier: Apache-2.0
// Measured clock: layers of the benchmark take what was measured, and those of the plan in
// proportion.
#include "host/projections/measured_clock.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"
#include "host/projections/iteration_estimate.hpp"
#include "tests/host/projections/small_training.hpp"
#include "workloads/plans/pass_cost.hpp"

namespace weft::measured_clock_test {
namespace {

const SourcePlace place = SourcePlace::named("test");

/// A tick per operation, and 1 us more.
Duration by_operations(const Operator& op, OperatorPass pass) {
  return Duration::us(1) + Duration::ticks(static_cast<std::int64_t>(product_operations(op.shape, pass) / 1e3));
}

AxisClock network(Duration collective) {
  return {[collective](PlanAxis, CollectiveType, Bytes) { return collective; },
          [collective](PlanAxis, Bytes) { return collective; }};
}

struct Bench {
  TransformerModel model = small_training::model(8);
  ParallelPlan plan = small_training::plan(model, {});
  ReducedPlan reduced;
  LayerBenchmark layers;

  explicit Bench(std::uint64_t gpus) {
    reduced = std::get<ReducedPlan>(reduced_plan(model, plan, {.gpus = gpus}));
    layers = planned_benchmark("small", reduced);
  }
  std::optional<MeasuredLayer>& of(BenchmarkLayer layer) { return layers.layers[static_cast<std::size_t>(layer)]; }
  MeasuredLayers measured(Duration collective) const {
    return measured_layers(layers, reduced, by_operations, network(collective), place);
  }
};

// One GPU, a layer forward twice and backward three times as long as the clock says, embedding and
// output as it says: then all layers of the whole plan take that much more.
TEST(MeasuredClock, PlanTakesInProportion) {
  Bench bench(1);
  const LayerTimes calculated = timed_layers(bench.reduced.model, bench.reduced.plan, by_operations, network({}));
  bench.of(BenchmarkLayer::dense) = MeasuredLayer{1, calculated.dense_layer.forward * 2, calculated.dense_layer.backward * 3, {}};
  bench.of(BenchmarkLayer::embedding) = MeasuredLayer{1, calculated.input.forward, calculated.input.backward, {}};
  bench.of(BenchmarkLayer::output) = MeasuredLayer{1, calculated.output.forward, calculated.output.backward, {}};
  const MeasuredLayers layers = bench.measured({});
  EXPECT_EQ(layers.measured.dense_layer.forward, calculated.dense_layer.forward * 2);
  EXPECT_EQ(layers.calculated.dense_layer.forward, calculated.dense_layer.forward);
  const LayerTimes whole = timed_layers(bench.model, bench.plan, layers.clocks, network({}));
  const LayerTimes by_clock = timed_layers(bench.model, bench.plan, by_operations, network({}));
  EXPECT_NEAR(whole.dense_layer.forward.in_us(), by_clock.dense_layer.forward.in_us() * 2, 1e-3);
  EXPECT_NEAR(whole.dense_layer.backward.in_us(), by_clock.dense_layer.backward.in_us() * 3, 1e-3);
  EXPECT_NEAR(whole.output.forward.in_us(), by_clock.output.forward.in_us(), 1e-3);
  // The layer's norm is slower, the same norm before the output is not.
  EXPECT_GT(layers.clocks.of(UnitKind::dense_layer)(TrainingSteps(bench.model, bench.plan).optimizer(1), OperatorPass::forward),
            layers.clocks.all()(TrainingSteps(bench.model, bench.plan).optimizer(1), OperatorPass::forward));
}

// A benchmark that measured what the clock says changes nothing.
TEST(MeasuredClock, TheClocksOwnTimesChangeNothing) {
  Bench bench(1);
  const LayerTimes calculated = timed_layers(bench.reduced.model, bench.reduced.plan, by_operations, network({}));
  const auto as_calculated = [](const PartTimes& times) { return MeasuredLayer{1, times.forward, times.backward, {}}; };
  bench.of(BenchmarkLayer::dense) = as_calculated(calculated.dense_layer);
  bench.of(BenchmarkLayer::embedding) = as_calculated(calculated.input);
  bench.of(BenchmarkLayer::output) = as_calculated(calculated.output);
  const AxisClock slow = network(Duration::us(20));
  const IterationEstimate measured = estimate_iteration(bench.model, bench.plan, bench.measured({}).clocks, slow, place);
  const IterationEstimate by_clock = estimate_iteration(bench.model, bench.plan, by_operations, slow, place);
  EXPECT_EQ(measured.iteration, by_clock.iteration);
}

// Two GPUs of tensor parallelism measure the sums, too, two of 5 us forward: what is left of the
// time is computation.
TEST(MeasuredClock, CommunicationOfTheBenchIsTakenOff) {
  Bench bench(2);
  ASSERT_EQ(bench.reduced.plan.tensor, 2U);
  const Duration sum = Duration::us(5);
  const TrainingPass forward = TrainingSteps(bench.reduced.model, bench.reduced.plan).layer(false).forward;
  const Duration computes = cost_of(forward, by_operations, network({})).compute;
  for (auto& layer : bench.layers.layers) {
    if (layer) *layer = {1, Duration::ms(1), Duration::ms(2), {}};
  }
  bench.of(BenchmarkLayer::dense)->forward = computes * 2 + sum * 2;
  const MeasuredLayers layers = bench.measured(sum);
  EXPECT_NEAR(cost_of(forward, layers.clocks.of(UnitKind::dense_layer), network({})).compute.in_us(), computes.in_us() * 2, 1e-3);
  bench.of(BenchmarkLayer::dense)->forward = sum;
  try {
    bench.measured(sum);
    FAIL() << "a layer is faster than its communication";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("bad-benchmark"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::measured_clock_test
