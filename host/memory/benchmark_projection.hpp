// SPDX-License-Identifier: Apache-2.0
// Benchmark projection: the memory of a plan on a cluster, anchored on what a few layers on a few
// GPUs really took.
//
// Where it sits: `weft project memory --mode=benchmark`.
//
// Model
//   correction  measured activations of a layer / calculated ones, for each kind of layer
//   overhead    max(0, reserved - allocated - communicators of the benchmark): pages of the
//               allocator, the driver's context, workspaces
//   excess      max(0, allocated - calculated for the benchmark, with the correction): tensors that
//               the calculation does not know
//   residual    overhead + excess
//   point       calculated for the whole plan, with the correction, + residual
//   upper bound point + margin x residual
// The verdict: FITS if the upper bound does, AT-RISK if only the point estimate does, else OOM.
// Where nothing was measured, the margin is of the whole estimate.
// Source: Primus, docs/projection.md, "Benchmark-Based Memory Projection".
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/values/units.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "host/memory/memory_projection.hpp"

namespace weft {

enum class MemoryFit : std::uint8_t { fits, at_risk, out_of_memory };

/// "FITS", "AT-RISK", "OOM".
std::string_view to_text(MemoryFit fit);

struct MemoryEstimate {
  Bytes point;
  Bytes upper;

  MemoryFit fit(Bytes memory) const {
    if (upper <= memory) return MemoryFit::fits;
    return point <= memory ? MemoryFit::at_risk : MemoryFit::out_of_memory;
  }
};

/// Of a stage, calculated. Requires: margin >= 0.
MemoryEstimate calculated_estimate(const StageMemory& stage, double margin);

struct BenchmarkResidual {
  ActivationCorrection correction;
  Bytes overhead;
  Bytes excess;
  Bytes calculated;  ///< for the benchmark, with the correction

  Bytes residual() const { return overhead + excess; }
  /// Of a stage of a projection that was made with the correction.
  MemoryEstimate estimate(const StageMemory& stage, double margin) const;
};

/// `reduced`: as plan_of_benchmark() gives it.
BenchmarkResidual benchmark_residual(const LayerBenchmark& benchmark, const ReducedPlan& reduced);

}  // namespace weft
