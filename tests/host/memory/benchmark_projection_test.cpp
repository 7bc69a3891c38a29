// SPDX-License-Identifier: Apache-2.0
// Projections that are anchored on a benchmark: terms of the residual and the verdict.
#include "host/memory/benchmark_projection.hpp"

#include <gtest/gtest.h>

#include <variant>

#include "host/memory/activation_memory.hpp"
#include "tests/host/memory/memory_testing.hpp"

namespace weft::benchmark_projection_test {

namespace {

using namespace memory_testing;

/// A benchmark of a layer of the small model on one GPU, as if it had been calculated exactly.
class Anchored : public testing::Test {
 protected:
  Anchored()
      : model(small_model()),
        plan(plan_named("llama3_8b_nemo", model, {"context_parallel=1", "pipeline_parallel=4", "global_batch=8"}, 4)),
        reduced(std::get<ReducedPlan>(reduced_plan(model, plan, {.gpus = 1}))),
        layer(activation_memory(reduced.model, reduced.plan).dense_layer.kept),
        calculated(project_memory(reduced.model, reduced.plan).stages.front().total()) {
    benchmark = planned_benchmark("small", reduced);
    benchmark.layers[static_cast<std::size_t>(BenchmarkLayer::dense)]->activations = layer;
    benchmark.peak_allocated = calculated;
    benchmark.peak_reserved = calculated;
  }

  TransformerModel model;
  ParallelPlan plan;
  ReducedPlan reduced;
  Bytes layer;
  Bytes calculated;
  LayerBenchmark benchmark;
};

}  // namespace

TEST_F(Anchored, AddsNothingWhereTheCalculationIsRight) {
  const BenchmarkResidual residual = benchmark_residual(benchmark, reduced);
  EXPECT_DOUBLE_EQ(residual.correction.dense_layer, 1.0);
  EXPECT_EQ(residual.residual(), Bytes::zero());
  EXPECT_EQ(residual.calculated, calculated);
}

// One GPU has no communicators: all that is reserved and not allocated is overhead.
TEST_F(Anchored, SplitsTheResidual) {
  benchmark.peak_allocated = calculated + Bytes::of(3'000);
  benchmark.peak_reserved = calculated + Bytes::of(10'000);
  const BenchmarkResidual residual = benchmark_residual(benchmark, reduced);
  EXPECT_EQ(residual.excess, Bytes::of(3'000));
  EXPECT_EQ(residual.overhead, Bytes::of(7'000));
  const StageMemory stage = project_memory(model, plan).worst();
  const MemoryEstimate estimate = residual.estimate(stage, 0.05);
  EXPECT_EQ(estimate.point, stage.total() + Bytes::of(10'000));
  EXPECT_EQ(estimate.upper, estimate.point + Bytes::of(500));
}

// Activations of the layer were 1.5 times those that are calculated. What they are more is no
// excess: the correction comes first.
TEST_F(Anchored, CorrectsActivationsBeforeTheExcess) {
  const Bytes half = Bytes::of(layer.count() / 2);
  benchmark.layers[static_cast<std::size_t>(BenchmarkLayer::dense)]->activations = layer + half;
  benchmark.peak_allocated = calculated + half;
  benchmark.peak_reserved = benchmark.peak_allocated;
  const BenchmarkResidual residual = benchmark_residual(benchmark, reduced);
  EXPECT_NEAR(residual.correction.dense_layer, 1.5, 1e-6);
  EXPECT_EQ(residual.excess, Bytes::zero());
  // 3 layers of 4 microbatches on the first of 4 stages; rounding is within a byte of each item.
  const StageMemory plain = project_memory(model, plan).stages.front();
  const StageMemory corrected = project_memory(model, plan, residual.correction).stages.front();
  EXPECT_NEAR(static_cast<double>((corrected.activations - plain.activations).count()),
              0.5 * 3 * 4 * static_cast<double>(layer.count()), 3 * 4 * 8);
}

// Where the calculation says more than was measured, nothing is taken off.
TEST_F(Anchored, NeverSubtracts) {
  benchmark.peak_allocated = Bytes::of(calculated.count() / 2);
  benchmark.peak_reserved = benchmark.peak_allocated;
  EXPECT_EQ(benchmark_residual(benchmark, reduced).residual(), Bytes::zero());
}

TEST(MemoryFit, IsOfBothEstimates) {
  const MemoryEstimate estimate{.point = Bytes::of(100), .upper = Bytes::of(105)};
  EXPECT_EQ(estimate.fit(Bytes::of(105)), MemoryFit::fits);
  EXPECT_EQ(estimate.fit(Bytes::of(104)), MemoryFit::at_risk);
  EXPECT_EQ(estimate.fit(Bytes::of(100)), MemoryFit::at_risk);
  EXPECT_EQ(estimate.fit(Bytes::of(99)), MemoryFit::out_of_memory);
}

// Of a calculation alone the margin is of everything.
TEST(MemoryFit, TakesTheMarginOfACalculation) {
  StageMemory stage;
  stage.parameters = Bytes::of(600);
  stage.activations = Bytes::of(400);
  const MemoryEstimate estimate = calculated_estimate(stage, 0.05);
  EXPECT_EQ(estimate.point, Bytes::of(1000));
  EXPECT_EQ(estimate.upper, Bytes::of(1050));
}

}  // namespace weft::benchmark_projection_test
