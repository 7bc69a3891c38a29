// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/rank_timers.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace weft {

namespace {

constexpr std::uint32_t slots_of_event = 64;
/// Ranks in step add the same timers one after the other; of ranks with many at an instant each has
/// its own soon.
constexpr std::ptrdiff_t looks_back = 16;

}  // namespace

void RankTimers::add(Duration delay, RankTimer kind, const RankTimerPayload& timer) {
  const std::uint32_t first = timer.slot / slots_of_event * slots_of_event;
  const std::uint64_t slot = std::uint64_t{1} << (timer.slot - first);
  const auto is_same = [&](const Waiting& one) {
    return one.delay == delay && one.ranks.stream == timer.stream && one.ranks.index == timer.index && one.ranks.kind == kind &&
           one.ranks.attempt == timer.attempt && one.ranks.first == first;
  };
  const auto last = waiting_.rbegin() + std::min(looks_back, std::ssize(waiting_));
  const auto known = std::find_if(waiting_.rbegin(), last, is_same);
  if (known != last) {
    known->ranks.slots |= slot;
  } else {
    waiting_.push_back({delay, {slot, timer.stream, timer.index, timer.attempt, first, kind}});
  }
}

void RankTimers::post(EventContext& context) {
  for (const Waiting& one : waiting_) {
    if (std::has_single_bit(one.ranks.slots)) {
      const auto slot = one.ranks.first + static_cast<std::uint32_t>(std::countr_zero(one.ranks.slots));
      context.schedule(one.delay, EventClass::timer, static_cast<std::uint16_t>(one.ranks.kind),
                       RankTimerPayload{slot, one.ranks.index, one.ranks.stream, one.ranks.attempt, 0});
    } else {
      context.schedule(one.delay, EventClass::timer, several_ranks, one.ranks);
    }
  }
  waiting_.clear();
}

}  // namespace weft
