// SPDX-License-Identifier: Apache-2.0
// Pass order program: the integer program whose solution is an order of F, B and W on every device,
// solved by COIN-OR CBC.
//
// Where it sits: zero_bubble_optimal.hpp states what it is for; only its source knows CBC.
//
// Model, for one chunk per device; all passes of a kind run in the order of microbatches, which
// loses nothing as microbatches are alike:
//   variables    start of every pass; x = 1 where pass a runs before pass b of another kind on the
//                same device, unless their microbatches decide that already; objective C
//   one device   start(b) >= end(a) where x = 1, start(a) >= end(b) where x = 0, by a horizon H:
//                start(b) >= end(a) - H (1 - x), start(a) >= end(b) - H x
//   dependencies as in pipeline_execution.hpp
//   memory       when F of microbatch j starts, j + 1 - sum of (1 - weight_memory) of each B and
//                weight_memory of each W before it <= limit
//   objective    C >= end of W of the last microbatch, less the start of F of the first where spans
//                count; C >= the lower bound; C <= what is known
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 3.2 and appendix G.
// Threads: CBC keeps no state between models; one call per thread.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/schedules/pipeline.hpp"
#include "workloads/schedules/pipeline_execution.hpp"
#include "workloads/schedules/zero_bubble_search.hpp"

namespace weft {

struct PassOrderProblem {
  PipelineSizes sizes;
  double activations_max = 0.0;
  ScheduleObjective objective = ScheduleObjective::device_span;
  Duration lower_bound;
  Duration time_limit;
};

struct PassOrderSolution {
  std::optional<PipelineOrder> order;
  /// Nothing is better than `order`, or than what is known where there is none.
  bool is_proven = false;
};

/// x of the whole program.
std::uint64_t binary_variables(const PipelineSizes& sizes);

/// `known` is a solution to begin with.
PassOrderSolution solve_pass_order(const PassOrderProblem& problem, const PipelineTimeline& known);

}  // namespace weft
