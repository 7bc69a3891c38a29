// SPDX-License-Identifier: Apache-2.0
// Load balance: which worker runs which logical process.
//
// Where it sits: the engine deals blocks of neighbours at the start and re-deals by measured load
// when the workers drift apart.
// Model: longest processing time first (Graham 1969): loads in descending order, each to the worker
// with the least so far; at most 4/3 of the best possible. Ties go to the smaller id. Results of a
// run do not depend on it.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Blocks of consecutive processes with about equal sums of `weight` (> 0 each). Returns the worker
/// of each process.
std::vector<std::uint32_t> deal_in_blocks(std::span<const std::uint64_t> weight, std::uint32_t worker_count);

/// Longest processing time first.
std::vector<std::uint32_t> deal_by_load(std::span<const std::uint64_t> load, std::uint32_t worker_count);

/// Largest worker's load over the mean, minus 1; 0 when there is no load.
double imbalance(std::span<const std::uint64_t> load, std::span<const std::uint32_t> worker_of_process, std::uint32_t worker_count);

}  // namespace weft
