// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/host_speed.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

constexpr std::uint32_t straggler_draw = 0x57a6;  ///< purposes of random streams
constexpr std::uint32_t speed_draw = 0x73706565;

}  // namespace

HostSpeeds::HostSpeeds(std::size_t hosts, std::span<const HostSpeedEntry> entries, const Draws& draws) : changes_(hosts) {
  std::vector<std::vector<const HostSpeedEntry*>> of_host(hosts);
  for (const HostSpeedEntry& entry : entries) {
    WEFT_CHECK(entry.factor > 0, "a host's speed is above 0");
    for (const HostId host : entry.hosts) of_host[host.index()].push_back(&entry);
  }
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const bool is_straggler =
        draws.straggler_share > 0 && RandomStream(draws.seed, host, straggler_draw).uniform() < draws.straggler_share;
    // No host stands still for ever.
    constexpr double slowest = 1e-3;
    const double drawn =
        draws.spread > 0 ? std::max(slowest, RandomStream(draws.seed, host, speed_draw).lognormal_of(1, draws.spread)) : 1;
    std::set<Time> times = {Time::zero()};
    for (const HostSpeedEntry* entry : of_host[host]) times.insert({entry->from, entry->until});
    for (const Time time : times) {
      double speed = drawn * (is_straggler ? draws.straggler_speed : 1);
      for (const HostSpeedEntry* entry : of_host[host]) {
        if (entry->from <= time && time < entry->until) speed *= entry->factor;
      }
      const double before = changes_[host].empty() ? 1 : changes_[host].back().speed;
      if (speed != before) changes_[host].push_back({time, speed});
    }
  }
}

double HostSpeeds::at(HostId host, Time time) const {
  double speed = 1;
  for (const Change& change : changes_[host.index()]) {
    if (change.from <= time) speed = change.speed;
  }
  return speed;
}

std::vector<Time> HostSpeeds::changes(HostId host) const {
  std::vector<Time> times;
  for (const Change& change : changes_[host.index()]) {
    if (change.from > Time::zero() && change.from < Time::max()) times.push_back(change.from);
  }
  return times;
}

std::uint64_t HostSpeeds::profile(HostId host) const {
  std::uint64_t hash = 0;
  for (const Change& change : changes_[host.index()]) {
    hash = mix64(hash ^ static_cast<std::uint64_t>(change.from.in_ticks()));
    hash = mix64(hash ^ std::bit_cast<std::uint64_t>(change.speed));
  }
  return hash;
}

}  // namespace weft
