// SPDX-License-Identifier: Apache-2.0
// PFC watchdog: finds queues that pauses have held for too long.
//
// Where it sits: switches that have one keep it per port, beside its PauseClock. It is for pauses
// that do not end by themselves: of switches that wait for each other in a circle.
//
// Model: a queue is stuck while packets wait in it and the other end pauses its priority. Stuck for
// `detection` without a break, it is in a storm: the switch drops what waits in it, and all that
// comes for it, until its priority has not been paused for `restoration`. What is dropped on
// arrival is charged to no account, and switches that choose ports by what waits there choose no
// port in a storm if there is another. Switches in the field look every so often and find a storm
// late by up to that; here it is found to the tick.
// Threads: belongs to its switch.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/values/units.hpp"
#include "network/packet/packet.hpp"

namespace weft {

struct PfcWatchdogSettings {
  Duration detection;  ///< zero: no watchdog
  Duration restoration;

  bool is_on() const { return detection > Duration::zero(); }
};

/// A queue that was found stuck.
struct PauseStorm {
  Time found;  ///< after packets waited and were paused for `detection`
  std::uint32_t port = 0;
  std::uint32_t priority = 0;
  std::uint64_t packets = 0;  ///< that were dropped, then and until the queue recovered
};

class PfcWatchdog {
 public:
  /// Packets wait or a pause came: as long as both hold, the priority is stuck since now.
  void set_stuck(std::uint32_t priority, Time now) { since_[priority] = now; }
  /// When the first of the priorities that are stuck, a bit each, is in a storm; max() if none is
  /// stuck.
  Time due(std::uint8_t stuck, const PfcWatchdogSettings& settings) const {
    Time first = Time::max();
    for (std::uint8_t left = stuck; left != 0; left &= static_cast<std::uint8_t>(left - 1)) {
      first = std::min(first, since_[static_cast<std::size_t>(std::countr_zero(left))] + settings.detection);
    }
    return first;
  }

  /// A priority is in a storm, which has this number; counts until the next.
  void set_storm(std::uint32_t priority, std::size_t number) { storms_[priority] = static_cast<std::uint32_t>(number); }
  std::size_t storm(std::uint32_t priority) const { return storms_[priority]; }

 private:
  std::array<Time, packet_classes_max> since_{};  ///< counts while stuck
  std::array<std::uint32_t, packet_classes_max> storms_{};
};

}  // namespace weft
