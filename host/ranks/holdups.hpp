// SPDX-License-Identifier: Apache-2.0
// Holdups: why a port of a network card that has data to send does not send it.
//
// Where it sits: every port of host/transport/nic has one; the summary of a run in packet mode
// prints their sum.
//
// Model: from the instant at which the cable is free until the next packet begins, data of the
// port's queue pairs stands still, if there is any, for one reason, the first of
//   pause                  what is ready has been paused by the switch
//   congestion control     a queue pair waits because its rate, or its own window, is below what
//                          its route can do
//   acknowledgements       one waits for acknowledgements, its window being as large as what its
//                          route holds: others share the route, or packets are lost
// A queue pair that is slow by its rate limit holds nothing up; nor does one beside others that
// fill the cable.
// Threads: values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/values/units.hpp"

namespace weft {

enum class Holdup : std::uint8_t { pause, congestion_control, acknowledgements };
inline constexpr std::size_t holdup_kinds = 3;

/// By kind.
struct HoldupTimes {
  std::array<Duration, holdup_kinds> times;
  Duration of(Holdup kind) const { return times[static_cast<std::size_t>(kind)]; }
};

/// What a queue pair with data waits for, as its port counts.
enum class QueuePairWait : std::uint8_t { nothing, own_window, path_window };

class Holdups {
 public:
  /// A queue pair's wait has changed.
  void change(QueuePairWait& from, QueuePairWait to) {
    if (from == to) return;
    count(from, -1);
    count(to, +1);
    from = to;
  }
  bool has_own_windows() const { return own_windows_ > 0; }
  bool has_path_windows() const { return path_windows_ > 0; }

  /// Until when it is known why nothing was sent.
  Time known_until() const { return known_until_; }
  void know_until(Time until) { known_until_ = until; }
  void add(Holdup kind, Duration time) { times_.times[static_cast<std::size_t>(kind)] += time; }
  const HoldupTimes& times() const { return times_; }

 private:
  void count(QueuePairWait wait, std::int32_t by) {
    if (wait == QueuePairWait::own_window) own_windows_ += by;
    if (wait == QueuePairWait::path_window) path_windows_ += by;
  }

  HoldupTimes times_;
  Time known_until_;
  std::int32_t own_windows_ = 0;
  std::int32_t path_windows_ = 0;
};

}  // namespace weft
