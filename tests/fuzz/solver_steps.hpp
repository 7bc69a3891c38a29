// SPDX-License-Identifier: Apache-2.0
// Bytes as a small fabric and what happens to it, through the max-min solver and a slow oracle:
// what the fuzzer of the solver feeds, and what its corpus is replayed through.
//
// The bytes choose everything that tests/network/max_min/random_fabric.hpp leaves to choice:
// capacities, weights, caps, loads, priorities, how the solver goes about it, and batches of
// arrivals, departures and capacity changes; when they run out, all is over. After every batch
// rates must be those of progressive filling to 1e-9, the audit must pass, and update() must have
// named what changed. Rates below a tenth of the largest capacity are judged relative to that:
// whoever chooses capacities at will can choose two that differ in their last bit, and a rate that
// is their difference has no more exact digits than the difference of two doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

struct SolverSteps {
  std::size_t batches = 0;
  std::size_t flows_checked = 0;  ///< over all batches
  std::size_t repairs = 0;        ///< see MaxMinSolver::Counters
  std::size_t full_solves = 0;
  std::size_t classes = 0;  ///< priorities in use
};

/// Throws std::logic_error where solver and oracle disagree.
SolverSteps drive_solver(std::span<const std::uint8_t> bytes);

}  // namespace weft
