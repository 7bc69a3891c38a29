// SPDX-License-Identifier: Apache-2.0
// The flags that say which GPU a command calculates for.
//
// Where it sits: `weft workload make` and `weft project`.
// Threads: pure functions; the command line is its caller's.
#pragma once

#include <string>

#include "core/text/diagnostics.hpp"
#include "host/op_times/gpu.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft {

struct GpuFlags {
  std::string gpu = "h100_sxm";

  SourcePlace place() const;
};

/// Adds --gpu with the preset that stands where none is named. `meaning`: what the command takes
/// from it.
CLI::Option* add_gpu_flag(CLI::App& command, GpuFlags& flags, const std::string& meaning);

/// Throws InputError [bad-value] as gpu_named() does.
Gpu flagged_gpu(const GpuFlags& flags);

}  // namespace weft
