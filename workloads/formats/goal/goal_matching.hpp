// SPDX-License-Identifier: Apache-2.0
// GOAL matching: which message a receive gets where the text leaves it open.
//
// Where it sits: formats/goal asks for it when a schedule has receives from any source or with any
// tag, or equal messages whose order the dependencies leave open (formats/goal_order), and then
// goes on as if the file had named the sources and listed the ops as they are issued.
//
// Model: the schedule is run with messages that take no time and ops that wait for their
// dependencies only. A message goes to the receive posted first among those that fit, a receive
// takes the message that came first among those that fit, as MPI and LogGOPSim do; ties are broken
// by (time, rank, op). Since the choice comes out of a possible run, it never makes ranks wait for
// each other.
// What it leaves out: a real network may deliver in another order, which a static schedule cannot
// follow.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workloads/formats/goal/goal_text.hpp"

namespace weft {

struct GoalMatching {
  /// An op: the index of its rank, and its own.
  struct Place {
    std::uint32_t index = 0;
    std::uint32_t op = 0;
  };
  /// A receive without a message, and how that came about.
  struct Unmatched {
    Place receive;
    std::optional<Place> left_over;  ///< the first send to its rank whose message nobody took
    /// If there is that: the first send whose message it could have had, but a wildcard receive
    /// took.
    std::optional<Place> taken;
    std::optional<Place> taken_by;  ///< that receive
  };

  /// Wildcard receives that got no message, and others that got none because a wildcard receive
  /// took one that they could have had.
  std::vector<Unmatched> unmatched;
  /// By index: all ops of the rank in the order in which they were issued, last those that never
  /// were.
  std::vector<std::vector<std::uint32_t>> issue_order;
};

/// Gives every receive that was matched the source and tag of its message. `ranks` are in any
/// order; each rank stands once.
GoalMatching match_goal_messages(std::span<GoalRank> ranks);

}  // namespace weft
