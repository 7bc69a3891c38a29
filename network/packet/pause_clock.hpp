// SPDX-License-Identifier: Apache-2.0
// Pause clock: until when the other end of a cable has paused which priorities (PFC), and for how
// long that has been in all.
//
// Where it sits: switches and network cards keep one per port. Which priorities are paused, a bit
// each, stands with the port itself, since every packet asks for it; the functions here change
// those bits.
// Threads: belongs to its node.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/values/units.hpp"
#include "network/packet/packet.hpp"

namespace weft {

/// During which any priority of a port was paused.
struct PauseSpan {
  Time begin;
  Time end;
};

/// A pause says how many times of 512 bits it lasts (IEEE 802.1Qbb): longer on a cable that is
/// slower than it was, up to an hour.
inline Duration pause_time_at(Bandwidth rate, Bandwidth full_rate, Duration at_full_rate) {
  if (rate == full_rate) return at_full_rate;
  const double slower = static_cast<double>(full_rate.in_bps()) / static_cast<double>(rate.in_bps());
  return Duration::from_seconds(std::min(at_full_rate.in_s() * slower, 3600.0));
}

class PauseClock {
 public:
  /// From now on spans() knows them all.
  void keep_spans() { keeps_spans_ = true; }

  /// A pause came. `pause_time` zero: it holds until resumed.
  void pause(std::uint8_t& paused, std::uint32_t priority, Time now, Duration pause_time) {
    if (paused == 0) since_ = now;
    paused |= static_cast<std::uint8_t>(1U << priority);
    until_[priority] = pause_time == Duration::zero() ? Time::max() : now + pause_time;
  }
  /// A resume came.
  void resume(std::uint8_t& paused, std::uint32_t priority, Time now) {
    if ((paused >> priority & 1U) == 0) return;
    paused &= static_cast<std::uint8_t>(~(1U << priority));
    until_[priority] = now;
    if (paused == 0) end_span(now);
  }
  /// Pauses that have run out by `now` are over.
  void expire(std::uint8_t& paused, Time now) {
    if (paused == 0) return;
    Time last;
    for (std::uint8_t left = paused; left != 0; left &= static_cast<std::uint8_t>(left - 1)) {
      const auto priority = static_cast<std::uint32_t>(std::countr_zero(left));
      if (until_[priority] > now) continue;
      paused &= static_cast<std::uint8_t>(~(1U << priority));
      last = std::max(last, until_[priority]);
    }
    if (paused == 0) end_span(last);
  }

  /// When the pause of the priority runs out, or when the last one ended.
  Time until(std::uint32_t priority) const { return until_[priority]; }
  /// How long any priority was paused, up to `now`.
  Duration total(std::uint8_t paused, Time now) const {
    return paused == 0 ? before_ : before_ + (std::min(end_of_span(paused), now) - since_);
  }
  /// When any priority was paused, as of `now`, the time until which the run has come. Requires:
  /// keep_spans().
  std::vector<PauseSpan> spans(std::uint8_t paused, Time now) const {
    std::vector<PauseSpan> all = spans_;
    if (paused != 0 && since_ < now) all.push_back({since_, std::min(end_of_span(paused), now)});
    return all;
  }

 private:
  void end_span(Time end) {
    before_ += end - since_;
    if (keeps_spans_) spans_.push_back({since_, end});
  }
  /// If nothing more comes.
  Time end_of_span(std::uint8_t paused) const {
    Time end;
    for (std::uint8_t left = paused; left != 0; left &= static_cast<std::uint8_t>(left - 1)) {
      end = std::max(end, until_[static_cast<std::size_t>(std::countr_zero(left))]);
    }
    return end;
  }

  std::array<Time, packet_classes_max> until_;
  Time since_;  ///< counts while a priority is paused
  Duration before_;
  bool keeps_spans_ = false;
  std::vector<PauseSpan> spans_;
};

}  // namespace weft
