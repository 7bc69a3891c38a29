// GOAL matching: which message a receive from any source, or with any tag, gets.
//
// Where it sits: formats/goal asks for it when a schedule has such receives, and then goes on as if the file had named the sources.
//
// Model: the schedule is run with messages that take no time and ops that wait for their dependencies only. A message goes to the
// receive posted first among those that fit, a receive takes the message that came first among those that fit, as MPI and LogGOPSim do; ties are
// broken by (time, rank, op). Since the choice comes out of a possible run, it never makes ranks wait for each other.
// What it leaves out: a real network may deliver in another order, which a static schedule cannot follow.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "workloads/formats/goal_text.hpp"

namespace weft {

/// Gives every receive that was matched the source and tag of its message. Returns (index in `ranks`, op) of the wildcard receives that got
/// none. `ranks` are in any order; each rank stands once.
std::vector<std::pair<std::uint32_t, std::uint32_t>> match_goal_wildcards(std::span<GoalRank> ranks);

}  // namespace weft
