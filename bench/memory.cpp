// SPDX-License-Identifier: Apache-2.0
// Memory of a plan: how long a search waits for each of its thousands of plans.
//
// 405B, 126 layers, on 16 stages of 128 microbatches; 1F1B, and interleaved 1F1B with 2 and 8
// chunks, without and with their whole orders of passes.
// Argument: chunks. Time: of one projection.
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "host/memory/memory_projection.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/plans/training_workload.hpp"

namespace {

using namespace weft;

struct Planned {
  TransformerModel model;
  ParallelPlan plan;
};

Planned planned(std::int64_t chunks) {
  const SourcePlace place = SourcePlace::named("bench");
  const TransformerModel model = *load_model("llama3_405b", place).transformer();
  const std::vector<std::string> settings = {"context_parallel=1", "pipeline_parallel=16", "global_batch=128",
                                             fmt::format("virtual_pipeline={}", chunks)};
  return {model, load_plan({.name = "llama3_405b_mlperf", .overrides = settings, .gpus = 128}, model, place)};
}

void memory_of_a_plan(benchmark::State& state) {
  const Planned of = planned(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(project_memory(of.model, of.plan).worst().total());
}

void memory_of_an_order(benchmark::State& state) {
  const Planned of = planned(state.range(0));
  const auto clock = [](const Operator&, OperatorPass) { return Duration::us(10); };
  const PipelineOrder order = pipeline_order(of.model, of.plan, clock, SourcePlace::named("bench"));
  for (auto _ : state) benchmark::DoNotOptimize(project_memory(of.model, of.plan, order).worst().total());
}

BENCHMARK(memory_of_a_plan)->Arg(1)->Arg(2)->Arg(8)->Unit(benchmark::kMicrosecond);
BENCHMARK(memory_of_an_order)->Arg(1)->Arg(2)->Arg(8)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
