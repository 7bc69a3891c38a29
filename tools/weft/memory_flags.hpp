// SPDX-License-Identifier: Apache-2.0
// The flags of `weft project memory`, and the projection that they ask for.
//
// Where it sits: the command fills them from its line, the Python module from keywords.
// Threads: pure functions, but where the sampler is started (benchmark_flags.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "host/memory/primus_memory.hpp"
#include "tools/weft/benchmark_flags.hpp"
#include "tools/weft/gpu_flags.hpp"
#include "tools/weft/memory_text.hpp"
#include "tools/weft/plan_flags.hpp"

namespace weft {

struct MemoryFlags {
  PlanFlags plan;
  GpuFlags gpu;
  std::string cluster;
  std::set<std::string> given;  ///< flags on the command line, "--gpu"
  std::uint64_t target_nodes = 0;
  std::string mode = "simulate";
  std::string as = "weft";
  std::optional<std::uint32_t> stage;
  BenchmarkFlags benchmark;
  double margin = 0.05;

  bool needs_benchmark() const { return mode != "simulate"; }
};

struct ProjectedMemory {
  MemoryReport report;
  std::optional<PrimusMemory> primus;  ///< of --as=seed
};

/// Throws InputError: what readers of models, plans and clusters do, [unused-flag] for flags that
/// do nothing, [no-gpu], [too-few-gpus], [out-of-range], [too-large], [bad-plan].
ProjectedMemory projected_memory(const MemoryFlags& flags);

}  // namespace weft
