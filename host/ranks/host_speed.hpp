// SPDX-License-Identifier: Apache-2.0
// Host speed: how fast the hosts of a run compute, as a function of time - stragglers, thermal
// throttling, power caps.
//
// Where it sits: made by the assembler of a run from the scenario's entries and the parameters of
// stragglers; host entities hand it to their ranks.
//
// Model: a host's speed is the product of the factors of all entries that hold for it at the time,
// of straggler_speed if it is a straggler, and of its share in speed_spread: log-normal with mean 1
// and that coefficient of variation. Compute ops take 1 / speed of their time. Both are drawn from
// streams of (seed, host).
// Thread safety: immutable after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Some hosts, some of the time.
struct HostSpeedEntry {
  std::vector<HostId> hosts;
  double factor = 1;  ///< > 0
  Time from;
  Time until = Time::max();  ///< not included
};

class HostSpeeds {
 public:
  /// What is drawn for hosts.
  struct Draws {
    double straggler_share = 0;  ///< probability
    double straggler_speed = 1;
    double spread = 0;  ///< standard deviation of speeds over their mean
    std::uint64_t seed = 1;
  };

  /// All hosts at speed 1.
  explicit HostSpeeds(std::size_t hosts) : changes_(hosts) {}
  HostSpeeds(std::size_t hosts, std::span<const HostSpeedEntry> entries, const Draws& draws);

  double at(HostId host, Time time) const;
  /// When the host's speed changes, after the start of the run; ascending.
  std::vector<Time> changes(HostId host) const;
  /// Equal for hosts that have the same speed at all times.
  std::uint64_t profile(HostId host) const;

 private:
  struct Change {
    Time from;
    double speed = 1;
  };
  std::vector<std::vector<Change>> changes_;  ///< by host, ascending; empty: speed 1
};

}  // namespace weft
