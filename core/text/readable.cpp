// SPDX-License-Identifier: Apache-2.0
#include "core/text/readable.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>

namespace weft {

namespace {

struct Scale {
  double limit;  ///< below which it suits
  double unit;
  const char* name;
};

std::string scaled(double value, std::span<const Scale> scales) {
  for (const Scale& scale : scales) {
    if (!(value < scale.limit)) continue;
    const double shown = value / scale.unit;
    return shown < 9999.5 ? fmt::format("{:.4g} {}", shown, scale.name) : fmt::format("{:.0f} {}", shown, scale.name);
  }
  return "never";
}

constexpr double endless = std::numeric_limits<double>::infinity();

}  // namespace

std::string readable(double seconds) {
  static constexpr std::array<Scale, 6> times = {
      {{1e-6, 1e-9, "ns"}, {1e-3, 1e-6, "us"}, {1, 1e-3, "ms"}, {600, 1, "s"}, {3600, 60, "min"}, {1e18, 3600, "h"}}};
  return scaled(seconds, times);
}

std::string readable_bytes(double bytes) {
  static constexpr std::array<Scale, 6> sizes = {
      {{1e3, 1, "B"}, {1e6, 1e3, "kB"}, {1e9, 1e6, "MB"}, {1e12, 1e9, "GB"}, {1e15, 1e12, "TB"}, {endless, 1e15, "PB"}}};
  return scaled(bytes, sizes);
}

std::string readable_share(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string readable_gpu_time(double gpu_s) {
  static constexpr std::array<Scale, 2> times = {{{36'000, 1, "GPU-s"}, {endless, 3600, "GPU-h"}}};
  return scaled(gpu_s, times);
}

}  // namespace weft
