// SPDX-License-Identifier: Apache-2.0
// Layer benchmark: times and memory of a few layers, measured on a few GPUs (host/benchmark.proto).
//
// Where it sits: `tools/kernel_sampler memory` measures and writes it; projections of memory and of
// training read it and calculate the rest of the cluster.
//
// A benchmark stands for the model and the plan that it was made of: what must be the same is what
// decides a layer's tensors on one rank. Ways of parallelism may be fewer (reduced_plan.hpp).
// Threads: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/source_text.hpp"
#include "core/values/units.hpp"
#include "workloads/models/model.hpp"
#include "workloads/plans/parallel_plan.hpp"
#include "workloads/plans/reduced_plan.hpp"

namespace weft {

/// In the order of the file's enum.
enum class BenchmarkLayer : std::uint8_t { dense, expert, embedding, output };
constexpr std::size_t benchmark_layer_kinds = 4;

/// "dense", "expert", "embedding", "output".
std::string_view to_text(BenchmarkLayer layer);

struct MeasuredLayer {
  std::uint32_t layers = 0;  ///< in the step whose peak was measured
  Duration forward = {};     ///< of one
  Duration backward = {};
  Bytes activations = {};
};

struct LayerBenchmark {
  std::string model;
  std::string gpu;
  std::string framework;
  std::uint32_t world_size = 1;

  // Of the model
  std::uint64_t hidden = 0;
  std::uint64_t heads = 0;
  std::uint64_t key_value_heads = 0;
  std::uint64_t head_width = 0;
  std::uint64_t mlp_width = 0;
  bool is_gated = false;
  std::uint64_t experts_of_rank = 0;
  std::uint64_t top_k = 0;
  std::uint64_t expert_width = 0;
  std::uint64_t vocabulary = 0;

  // Of the plan
  std::uint32_t tensor = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  std::uint64_t microbatch = 1;
  std::uint64_t sequence = 0;
  std::string precision;
  bool fused_attention = true;

  std::array<std::optional<MeasuredLayer>, benchmark_layer_kinds> layers;
  Bytes peak_allocated;
  Bytes peak_reserved;

  const std::optional<MeasuredLayer>& of(BenchmarkLayer layer) const { return layers[static_cast<std::size_t>(layer)]; }
};

/// Throws InputError with every error of the file: those of core/text/textproto, [missing-field],
/// [out-of-range], [duplicate-name], [unknown-version].
LayerBenchmark read_layer_benchmark(const SourceText& source);

/// The benchmark that is to be made of a reduced plan, without measurements.
LayerBenchmark planned_benchmark(const std::string& model_name, const ReducedPlan& reduced);

/// The plan that the benchmark ran, of the whole plan's. Throws InputError [other-model] and
/// [other-plan] at `place` with every rule by which the benchmark is not of this model and plan.
ReducedPlan plan_of_benchmark(const LayerBenchmark& benchmark, const TransformerModel& model, const ParallelPlan& plan,
                              const SourcePlace& place);

}  // namespace weft
