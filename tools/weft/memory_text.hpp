// SPDX-License-Identifier: Apache-2.0
// What `weft project memory` prints: tables and JSON.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "host/memory/benchmark_projection.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "host/memory/memory_projection.hpp"
#include "host/memory/primus_memory.hpp"
#include "host/op_times/gpu.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

/// A projection that a benchmark corrected, and the benchmark.
struct AnchoredMemory {
  LayerBenchmark benchmark;
  ReducedPlan reduced;
  BenchmarkResidual residual;
  MemoryProjection projection;
};

struct MemoryReport {
  std::string model;
  std::uint64_t parameters = 0;  ///< of the model
  ParallelPlan plan;
  Gpu gpu;
  std::string gpu_origin;  ///< "of hgx_h100"; empty: as it was named
  double margin = 0.0;
  std::optional<std::uint32_t> stage;  ///< that is shown; none: the one that needs most
  MemoryProjection calculated;
  bool shows_calculated = true;            ///< else only what is anchored
  std::optional<AnchoredMemory> anchored;  ///< on a benchmark

  /// What the verdict is of.
  const MemoryProjection& projection() const { return anchored ? anchored->projection : calculated; }
  MemoryEstimate estimate() const;
  MemoryFit fit() const { return estimate().fit(gpu.memory); }
};

std::string memory_page(const MemoryReport& report);
nlohmann::ordered_json memory_json(const MemoryReport& report);

/// Primus' arithmetic beside its correction and beside what Weft finds for the first stage.
std::string primus_page(const MemoryReport& report, const PrimusMemory& primus);
nlohmann::ordered_json primus_json(const MemoryReport& report, const PrimusMemory& primus);

}  // namespace weft
