// SPDX-License-Identifier: Apache-2.0
// ZB-auto: the zero-bubble schedule that suits given durations best within a memory limit, found by
// a search over a family of orders. ZB-1p and ZB-2p are its results for limits of p and 2 p.
//
// Where it sits: one of pipeline_schedules(); zero_bubble_optimal.hpp begins with its result.
// Model: device i starts with w_i forward passes, no more than the device before it, and then does
// B and F in turns. w_i is
//   by time     as many as fit before the first gradient comes, plus 0 to 3
//   by place    s (p - 1 - i) + 1, plus 0 to 3, for s = 1 (as 1F1B) and s = 2 (as ZB-H2)
// and at most the limit. Weight filling (weight_filling.hpp) puts W in, for gaps of 1/4, 1/2, 3/4
// and all of W. Orders by hand (zero_bubble.hpp) are candidates, too, for all limits that they fit.
// The best has the least objective, then the least peak of activations.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 3.1. The search is over
// the same decisions; which values it tries are our own.
// Threads: constants and pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

/// What a search makes as short as it can.
enum class ScheduleObjective : std::uint8_t { device_span, step_time };

Duration objective_value(const PipelineTimeline& timeline, ScheduleObjective objective);

/// The best of the family within the limit, in microbatches. None where not one has room.
/// Requires: one chunk per device.
std::optional<PipelineSchedule> search_zero_bubble(const PipelineSizes& sizes, double limit, ScheduleObjective objective);

Module<PipelineScheduleMaker> zb_auto_module();

}  // namespace weft
