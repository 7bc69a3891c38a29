// SPDX-License-Identifier: Apache-2.0
// The flags of `weft project training`, and the projections that they ask for.
//
// Where it sits: the command fills them from its line, the Python module from keywords.
// Threads: pure functions, but where the sampler is started (benchmark_flags.hpp).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/projections/training_projection.hpp"
#include "tools/simulation/run.hpp"
#include "tools/weft/benchmark_flags.hpp"
#include "tools/weft/operator_time_flags.hpp"
#include "tools/weft/plan_flags.hpp"

namespace weft {

struct TrainingFlags {
  PlanFlags plan;
  OperatorTimeFlags operators;
  BenchmarkFlags benchmark;
  std::vector<std::string> clusters;
  std::set<std::string> given;  ///< flags on the command line, "--gpu"
  std::uint64_t target_nodes = 0;
  std::string mode = "simulate";
  std::string as = "weft";
  std::string hardware;
  std::vector<std::string> estimators;
  std::string components;
  std::vector<std::string> neighbours;  ///< MODEL:PLAN
  bool estimate_only = false;
  bool combine = false;
  std::uint64_t iterations = 2;
  std::uint32_t threads = 1;
  double tokens = 0;

  bool needs_benchmark() const { return mode != "simulate"; }
  bool asks_for(std::string_view estimator) const;
};

/// One for each cluster. `run`: interrupt and progress of what is simulated. Throws InputError:
/// what readers of models, plans and clusters and runs do, [unused-flag] for flags that do nothing.
std::vector<TrainingProjection> projections_of(TrainingFlags flags, const RunOptions& run);

}  // namespace weft
