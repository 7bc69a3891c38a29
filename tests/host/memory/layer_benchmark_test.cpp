// SPDX-License-Identifier: Apache-2.0
// Benchmarks of layers: what is read, what is refused, and which model and plan they are of.
#include "host/memory/layer_benchmark.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/host/memory/memory_testing.hpp"

namespace weft::layer_benchmark_test {

namespace {

using namespace memory_testing;

const std::string head = R"(version: 1 model: "small" gpu: "H100" framework: "PyTorch 2.5.1, CUDA 12.4" world_size: 1
)";
const std::string shape = R"(shape { hidden: 64 heads: 8 key_value_heads: 4 head_width: 8 mlp_width: 192 gated: true
  vocabulary: 1000 }
)";
const std::string plan_text = R"(plan { microbatch: 1 sequence: 128 precision: "megatron_bf16" fused_attention: true }
)";
const std::string layers = R"(layer { kind: DENSE layers: 2 forward_us: 12.5 backward_us: 30 activation_bytes: 1000000 }
layer { kind: OUTPUT layers: 1 forward_us: 7 backward_us: 9 activation_bytes: 500000 }
)";
const std::string peaks = "peak_allocated_bytes: 4000000 peak_reserved_bytes: 9000000\n";

LayerBenchmark read(const std::string& text) { return read_layer_benchmark(SourceText("bench.textproto", text)); }

std::set<std::string> codes_of(const auto& action) {
  std::set<std::string> codes;
  try {
    action();
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) codes.insert(diagnostic.code);
  }
  return codes;
}

std::set<std::string> refused(const std::string& text) {
  return codes_of([&] { read(text); });
}

}  // namespace

TEST(LayerBenchmark, IsRead) {
  const LayerBenchmark benchmark = read(head + shape + plan_text + layers + peaks);
  EXPECT_EQ(benchmark.gpu, "H100");
  EXPECT_EQ(benchmark.tensor, 1U);
  const auto& dense = benchmark.of(BenchmarkLayer::dense);
  ASSERT_TRUE(dense.has_value());
  EXPECT_EQ(dense->layers, 2U);
  EXPECT_EQ(dense->forward, Duration::ns(12'500));
  EXPECT_EQ(dense->activations, Bytes::of(1'000'000));
  EXPECT_FALSE(benchmark.of(BenchmarkLayer::expert).has_value());
  EXPECT_EQ(benchmark.peak_reserved, Bytes::of(9'000'000));
}

TEST(LayerBenchmark, NamesWhatIsWrong) {
  using Codes = std::set<std::string>;
  EXPECT_EQ(refused("version: 2 world_size: 1 " + shape + plan_text + layers + peaks), Codes{"unknown-version"});
  EXPECT_EQ(refused(head + plan_text + layers + peaks), Codes{"missing-field"});
  EXPECT_EQ(refused(head + shape + layers + peaks), Codes{"missing-field"});
  EXPECT_EQ(refused(head + shape + plan_text + peaks), Codes{"missing-field"});
  EXPECT_EQ(refused(head + shape + plan_text + layers + layers + peaks), Codes{"duplicate-name"});
  EXPECT_EQ(refused(head + shape + plan_text + "layer { kind: DENSE layers: 1 forward_us: -1 }" + peaks), Codes{"out-of-range"});
  EXPECT_EQ(refused(head + shape + plan_text + layers + "peak_allocated_bytes: 5 peak_reserved_bytes: 4"), Codes{"out-of-range"});
}

TEST(LayerBenchmark, IsOfOneModelAndPlan) {
  const TransformerModel model = small_model();
  const ParallelPlan plan = plan_named("llama3_8b_nemo", model, {"context_parallel=1", "pipeline_parallel=4", "global_batch=8"}, 4);
  const LayerBenchmark benchmark = read(head + shape + plan_text + layers + peaks);
  const ReducedPlan reduced = plan_of_benchmark(benchmark, model, plan, test_place());
  EXPECT_EQ(reduced.model.layers, 2U);
  EXPECT_EQ(reduced.plan.ranks(), 1U);

  using Codes = std::set<std::string>;
  const auto refused_for = [&](const TransformerModel& other, const ParallelPlan& other_plan) {
    return codes_of([&] { plan_of_benchmark(benchmark, other, other_plan, test_place()); });
  };
  EXPECT_EQ(refused_for(model_named("llama3_8b"), plan_named("llama3_8b_nemo", model_named("llama3_8b"), {"sequence=256"})),
            Codes{"other-model"});
  const TransformerModel with_experts = small_model("experts { count: 8 top_k: 2 width: 64 }");
  EXPECT_EQ(refused_for(with_experts, plan_named("llama3_8b_nemo", with_experts, {"context_parallel=1"})), Codes{"other-model"});
  EXPECT_EQ(refused_for(model, plan_named("llama3_8b_nemo", model, {"context_parallel=1", "microbatch=2"})), Codes{"other-plan"});
  EXPECT_EQ(refused_for(model, plan_named("llama3_8b_nemo", model, {"context_parallel=1", "precision.kind=AMP_BF16"})),
            Codes{"other-plan"});
}

// Half of each sequence on a rank, but the benchmark had all of it.
TEST(LayerBenchmark, HasTheTokensOfARank) {
  const TransformerModel model = small_model();
  const LayerBenchmark benchmark = read(head + shape + plan_text + layers + peaks);
  EXPECT_EQ(codes_of([&] { plan_of_benchmark(benchmark, model, plan_named("llama3_8b_nemo", model), test_place()); }),
            (std::set<std::string>{"other-plan"}));
  EXPECT_NO_THROW(plan_of_benchmark(benchmark, model, plan_named("llama3_8b_nemo", model, {"sequence=256"}), test_place()));
}

TEST(LayerBenchmark, IsPlannedForAReducedPlan) {
  const TransformerModel model = model_named("mixtral_8x22b");
  const ParallelPlan plan = plan_named("mixtral_8x22b_primus", model);
  const auto reduced = std::get<ReducedPlan>(reduced_plan(model, plan, {.gpus = 1}));
  const LayerBenchmark wanted = planned_benchmark("Mixtral", reduced);
  EXPECT_EQ(wanted.experts_of_rank, 1U);
  EXPECT_EQ(wanted.top_k, 1U);
  EXPECT_EQ(wanted.mlp_width, 0U);
  EXPECT_EQ(wanted.head_width, 128U);
  EXPECT_EQ(wanted.precision, "megatron_bf16");
  EXPECT_FALSE(wanted.of(BenchmarkLayer::dense).has_value());
  EXPECT_EQ(wanted.of(BenchmarkLayer::expert)->layers, 1U);
}

}  // namespace weft::layer_benchmark_test
