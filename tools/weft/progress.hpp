// SPDX-License-Identifier: Apache-2.0
// Progress line on stderr for long work: share of iterations, transfers or jobs done, events per
// second, time left. Silent when stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "tools/simulation/run.hpp"

namespace weft {

class ProgressLine {
 public:
  /// `enabled` false: never prints.
  explicit ProgressLine(bool enabled);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const RunState& state);
  /// Puts a text in place of what the line says.
  void show(const std::string& text);
  double elapsed_s() const;
  /// Removes the line.
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point started_;
};

/// True when stderr is a terminal.
bool stderr_is_terminal();

/// The line itself, e.g. " 42 % of 120 iterations  sim 1.2 s  3.4 M events/s  12 s left".
std::string progress_text(const RunState& state, double elapsed_wall_s);

}  // namespace weft
