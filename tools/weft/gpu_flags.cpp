// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/gpu_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace weft {

SourcePlace GpuFlags::place() const { return SourcePlace::named(fmt::format("--gpu={}", gpu)); }

CLI::Option* add_gpu_flag(CLI::App& command, GpuFlags& flags, const std::string& meaning) {
  return command.add_option("--gpu", flags.gpu, fmt::format("{}: one of `weft modules gpu`", meaning))
      ->type_name("GPU")
      ->capture_default_str();
}

Gpu flagged_gpu(const GpuFlags& flags) { return gpu_named(flags.gpu, flags.place()); }

}  // namespace weft
