// SPDX-License-Identifier: Apache-2.0
// GOAL order: do the dependencies of a rank alone say in which order its equal messages are issued?
//
// Where it sits: formats/goal asks it of every rank. Equal messages - sends, or receives, of one
// rank with the same peer and tag - match those of the peer in the order in which they are issued;
// where dependencies leave that open, formats/goal_matching finds it out by a rehearsal.
//
// Model: equal messages are put into the order of the file, or of the dependencies where these run
// against it. The order is settled if all that one of them waits for comes before the next one:
// then it is issued no later, and the order of the file settles what is issued at the same instant.
// Where a rank uses `irequires`, it is settled if each message comes before the next one itself.
// Cost: one pass divides the ops into chains, each op being a successor of the one before it, which
// recognises most successors at once. Others are searched for backwards, for no longer than a few
// passes take: what is not found by then counts as open, which costs a rehearsal but changes no
// result.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/formats/goal/goal_text.hpp"

namespace weft {

/// How many messages may be issued before an equal message that the file, or a dependency, puts
/// before them. 0 if there is a cycle.
std::uint64_t count_open_orders(const GoalRank& rank);

/// The order meant above: all ops of the rank as the file lists them, or where dependencies of
/// either kind run against that, in the order of these, the first of the file first. Shorter if
/// there is a cycle.
std::vector<std::uint32_t> dependency_order(const GoalRank& rank);

}  // namespace weft
