// SPDX-License-Identifier: Apache-2.0
// Pass regions: parts of a pass that can be one op, since nothing in them leaves the host.
//
// Where it sits: the training workload combines what it does not let the network move.
//
// Model: a border lies between two steps where all later steps wait for one earlier step alone, or
// for none. Steps between two borders begin when the one before them has ended, and everything
// after them when they have; if none of them communicates beyond the host they take as long
// together as by themselves (pass_cost.hpp).
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/plans/training_workload.hpp"

namespace weft {

/// Steps [first, end) of a pass.
struct PassRegion {
  std::size_t first = 0;
  std::size_t end = 0;
  bool is_inside = false;  ///< no step of it leaves the host

  friend bool operator==(const PassRegion&, const PassRegion&) = default;
};

/// Every step is in one region, in order; neighbours that are inside are one.
std::vector<PassRegion> regions_of(const TrainingPass& pass, const InsideAxes& inside);

}  // namespace weft
