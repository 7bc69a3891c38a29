// SPDX-License-Identifier: Apache-2.0
// Rank timers: what ranks of a host wait for, as one event where several wait for the same.
//
// Where it sits: a host collects what its ranks schedule while it handles an event, and posts it
// when it is done. Ranks that go in step, as those of a tensor-parallel group do, then cost the
// kernel one event instead of one each.
// Threads: as its host.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/engine/entity.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Timer events of a host about its ranks.
enum RankTimer : std::uint16_t {
  compute_done = 300,  ///< payload RankTimerPayload
  /// Payload RankTimerPayload: a received message has been taken over and added up.
  receive_done = 301,
  launch_done = 302,         ///< payload RankTimerPayload: a collective's first steps may run
  checkpoint_written = 303,  ///< payload RankTimerPayload: the next iteration begins
  several_ranks = 304,       ///< payload SeveralRanksPayload: one of these, for each of them
  op_starts = 305,           ///< payload RankTimerPayload: an op that was ready ahead of its time
  clock_is_there = 306,      ///< payload RankTimerPayload: what lay ahead of it has come
};

struct RankTimerPayload {
  std::uint32_t slot = 0;   ///< which of the host's endpoints
  std::uint32_t index = 0;  ///< compute_done, launch_done, op_starts: op; receive_done: step
  /// compute_done: ComputeClock's version; receive_done: the collective, as
  /// MessageTags::pack_stream.
  std::uint64_t stream = 0;
  AttemptId attempt;  ///< of the rank's job; another may run at that endpoint by now
  std::uint32_t reserved = 0;
};

struct SeveralRanksPayload {
  std::uint64_t slots = 0;  ///< bit i: slot first + i
  std::uint64_t stream = 0;
  std::uint32_t index = 0;
  AttemptId attempt;
  std::uint32_t first = 0;
  std::uint32_t kind = 0;  ///< RankTimer
};

class RankTimers {
 public:
  void add(Duration delay, RankTimer kind, const RankTimerPayload& timer);
  /// Posts what has been added, in order of the first that waits for each.
  void post(EventContext& context);

  /// Calls `take` with each of the timers that an event stands for, slots ascending.
  template <class Take>
  static void each(const SeveralRanksPayload& ranks, const Take& take) {
    for (std::uint64_t left = ranks.slots; left != 0; left &= left - 1) {
      const auto slot = ranks.first + static_cast<std::uint32_t>(std::countr_zero(left));
      take(RankTimerPayload{slot, ranks.index, ranks.stream, ranks.attempt, 0});
    }
  }

 private:
  struct Waiting {
    Duration delay;
    SeveralRanksPayload ranks;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace weft
