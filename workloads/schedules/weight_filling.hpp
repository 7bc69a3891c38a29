// SPDX-License-Identifier: Apache-2.0
// Weight filling: puts the W passes into an order of F and B passes, where the device would wait or
// its memory is full.
//
// Where it sits: the searches of this folder (zero_bubble_search.hpp, v_schedules.hpp) vary the
// order of F and B; this decides the rest.
//
// Model: devices do F and B in the given order, W in the order of their B.
//   1. Before an F that has no room within the memory limit: W until it has.
//   2. Before a pass that is ready only later: W while the wait is at least least_gap of its
//      duration. Below 1, a W may delay the pass.
//   3. What is left at the end of a device.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 3.1, rules for W.
// Threads: pure functions.
#pragma once

#include <optional>

#include "workloads/schedules/pipeline.hpp"

namespace weft {

struct WeightFilling {
  double activations_max = 0.0;        ///< on a device, in microbatches of all its chunks
  double least_gap = 1.0;              ///< above 0
  Duration give_up = Duration::max();  ///< no device may end later
};

/// The order with all W; none if F and B of that order exceed the memory limit or cannot end in
/// time.
/// Requires: passes of `order` are F and B.
std::optional<PipelineOrder> fill_weight_passes(const PipelineSizes& sizes, const PipelineOrder& order,
                                                const WeightFilling& filling);

}  // namespace weft
