// SPDX-License-Identifier: Apache-2.0
// ZB-optimal: zero-bubble schedule by integer programming, never worse than ZB-auto within the same
// memory limit.
//
// Where it sits: one of pipeline_schedules(). It begins with ZB-auto's result
// (zero_bubble_search.hpp) and looks for a better one (pass_order_program.hpp) until none is left
// or its time is over.
//
// Model: what it finds is executed like all others and taken only if it is better by the objective.
// Else ZB-auto's schedule stands, and a note says which of these is the reason:
//   the lower bound is reached; the solver has proved it best; the solver's time was over; there
//   are more binary variables than binaries_max.
// Lower bounds
//   device span  m (F + B + W); and of the first device, which waits for the last one to do F and B
//                of all microbatches: (p - 1) (F + T) + m (F + B) + (p - 1) (B + T) + W
//   step time    the latter, and (p - 1) (F + T) + m (F + B + W) of the last device
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 3.2 and appendix G.
// A solver that is stopped by a clock may find more on a faster machine.
// Threads: constants and pure functions.
#pragma once

#include "workloads/schedules/pipeline_schedules.hpp"
#include "workloads/schedules/zero_bubble_search.hpp"

namespace weft {

/// No schedule of one chunk per device is shorter by the objective.
Duration zero_bubble_lower_bound(const PipelineSizes& sizes, ScheduleObjective objective);

Module<PipelineScheduleMaker> zb_optimal_module();

}  // namespace weft
