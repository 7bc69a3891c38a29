// SPDX-License-Identifier: Apache-2.0
// Pause circle: links that wait for each other because of pauses (a PFC deadlock).
//
// Where it sits: PacketNetwork asks it at the end of a run in which data is stuck.
//
// Model: a directed graph. Its places are the ends of links, one per priority; an edge leads from a
// place to each link that its packets wait to leave by. A circle of edges never dissolves.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"

namespace weft {

/// A link and a priority of it.
using PausedPlace = std::pair<LinkId, std::uint32_t>;
/// Per place, the places that its packets wait for.
using PauseGraph = std::map<PausedPlace, std::vector<PausedPlace>>;

/// The links of a circle in order, each waiting for the next and the last for the first; empty if
/// there is no circle.
std::vector<LinkId> find_pause_circle(const PauseGraph& waits_for);

}  // namespace weft
