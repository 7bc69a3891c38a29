// SPDX-License-Identifier: Apache-2.0
#include "host/memory/benchmark_projection.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "host/memory/activation_memory.hpp"

namespace weft {

namespace {

Bytes share_of(Bytes bytes, double share) { return Bytes::of(std::llround(static_cast<double>(bytes.count()) * share)); }

double measured_over_calculated(const std::optional<MeasuredLayer>& layer, const PartActivations& calculated) {
  const bool is_known = layer && layer->activations > Bytes::zero() && calculated.kept > Bytes::zero();
  return is_known ? static_cast<double>(layer->activations.count()) / static_cast<double>(calculated.kept.count()) : 1.0;
}

}  // namespace

std::string_view to_text(MemoryFit fit) {
  constexpr std::array<std::string_view, 3> names = {"FITS", "AT-RISK", "OOM"};
  return names[static_cast<std::size_t>(fit)];
}

MemoryEstimate calculated_estimate(const StageMemory& stage, double margin) {
  return {stage.total(), stage.total() + share_of(stage.total(), margin)};
}

MemoryEstimate BenchmarkResidual::estimate(const StageMemory& stage, double margin) const {
  const Bytes point = stage.total() + residual();
  return {point, point + share_of(residual(), margin)};
}

BenchmarkResidual benchmark_residual(const LayerBenchmark& benchmark, const ReducedPlan& reduced) {
  const ActivationMemory parts = activation_memory(reduced.model, reduced.plan);
  BenchmarkResidual result;
  result.correction.dense_layer = measured_over_calculated(benchmark.of(BenchmarkLayer::dense), parts.dense_layer);
  result.correction.expert_layer = measured_over_calculated(benchmark.of(BenchmarkLayer::expert), parts.expert_layer);
  const MemoryProjection projection = project_memory(reduced.model, reduced.plan, result.correction);
  const StageMemory& bench = projection.stages.front();
  // Communicators are no tensors.
  result.calculated = bench.total() - bench.communicators;
  result.overhead = std::max(Bytes::zero(), benchmark.peak_reserved - benchmark.peak_allocated - bench.communicators);
  result.excess = std::max(Bytes::zero(), benchmark.peak_allocated - result.calculated);
  return result;
}

}  // namespace weft
