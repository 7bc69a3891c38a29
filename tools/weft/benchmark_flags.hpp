// SPDX-License-Identifier: Apache-2.0
// The flags that say where measured layers come from: a file, or the sampler, which measures them
// now.
//
// Where it sits: `weft project memory` and `weft project training` anchor on the same benchmark.
// Threads: one at a time, as the sampler shares the terminal.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "tools/weft/plan_flags.hpp"

namespace CLI {
class App;
}

namespace weft {

struct BenchmarkFlags {
  std::string load;
  std::string save;
  std::uint64_t gpus = 1;
  std::string sampler = "python3 tools/kernel_sampler";
};

/// Adds --load-benchmark, --save-benchmark, --benchmark-gpus and --sampler.
void add_benchmark_flags(CLI::App& command, BenchmarkFlags& flags);

/// Throws InputError [unused-flag] for those of them among `given` that do nothing. `mode`: the
/// flag that asks for a benchmark, "--mode".
void check_benchmark_uses(const std::set<std::string>& given, std::string_view mode, bool needs_benchmark);

/// The benchmark that flags name, or that the sampler makes now, and where it is from. `asked_by`:
/// "--mode=both"; `command`: "weft project memory". Throws InputError [no-benchmark], and what
/// reading it does.
std::pair<LayerBenchmark, SourcePlace> flagged_benchmark(const BenchmarkFlags& flags, const PlannedModel& planned,
                                                         std::string_view asked_by, const std::string& command);

}  // namespace weft
