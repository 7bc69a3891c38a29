// SPDX-License-Identifier: Apache-2.0
// Simulated times: how long flows, collectives or iterations of a scenario take, as measured ones
// are told of.
//
// Where it sits: a calibration simulates each candidate so.
// Threads: pure; any number at a time.
#pragma once

#include <span>
#include <vector>

#include "calibration/measured_times.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// All of the given kinds, on one thread. Throws InputError where the scenario cannot be run to its
/// end.
std::vector<TimedEntity> simulate_times(Scenario scenario, std::span<const TimedKind> kinds);

}  // namespace weft
