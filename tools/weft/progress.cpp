// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/text/readable.hpp"

namespace weft {

namespace {

/// Two digits at least.
std::string short_number(double value) {
  const auto [scaled, unit] = value >= 1e6   ? std::pair(value / 1e6, " M")
                              : value >= 1e3 ? std::pair(value / 1e3, " k")
                                             : std::pair(value, "");
  return fmt::format("{:.{}f}{}", scaled, scaled < 10 ? 1 : 0, unit);
}

}  // namespace

bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

std::string progress_text(const RunState& state, double elapsed_wall_s) {
  std::string text;
  if (state.total > 0) text += fmt::format("{:3.0f} % of {} {}  ", state.share() * 100, state.total, state.what);
  text += fmt::format("sim {}", readable(state.sim_time.in_s()));
  if (elapsed_wall_s > 0) text += fmt::format("  {} events/s", short_number(static_cast<double>(state.events) / elapsed_wall_s));
  const double share = state.share();
  if (share > 0 && share <= 1) text += fmt::format("  {} left", readable(elapsed_wall_s * (1 - share) / share));
  return text;
}

ProgressLine::ProgressLine(bool enabled) : enabled_(enabled), started_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(const RunState& state) {
  if (!enabled_) return;
  show(progress_text(state, elapsed_s()));
}

void ProgressLine::show(const std::string& text) {
  if (!enabled_) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

double ProgressLine::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace weft
