// Progress line on stderr for long work: share of simulated time or of jobs done, events per second, time left.
// Silent when stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/values/units.hpp"

namespace weft {

class ProgressLine {
 public:
  /// `enabled` false: never prints.
  explicit ProgressLine(bool enabled);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `share` of the work done in 0..1; an unknown share is negative and leaves the time left out.
  void update(Time sim_time, std::uint64_t events, double share);
  /// Removes the line.
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point started_;
};

/// True when stderr is a terminal.
bool stderr_is_terminal();

/// The line itself, e.g. " 42 %  sim 1.2 s  3.4 M events/s  12 s left".
std::string progress_text(Time sim_time, std::uint64_t events, double share, double elapsed_wall_s);

}  // namespace weft
