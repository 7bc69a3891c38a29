// SPDX-License-Identifier: Apache-2.0
// Iteration estimate: the time of one training iteration under a plan, without simulating it.
//
// Where it sits: searches rank plans by it, calibration scores it against measured iterations, and
// `weft project training` prints it beside the simulated iteration. It follows the training
// workload (workloads/plans/training_workload) step by step, but every collective is alone on its
// links.
//
// Model
//   passes      pass_cost.hpp, of all parts of a position together; recomputed layers go forward
//               once more. Under ZeRO 3 a unit waits for its parameters, asked for one unit ahead
//   pipeline    the plan's schedule over these passes and messages (pipeline_execution.hpp)
//   gradients   buckets are reduced one after the other, each when the last backward pass has gone
//               by it, at the end unless overlap_gradients; ZeRO 2 and 3 after every microbatch
//   optimizer   after the last stage's gradients and their norm
//   parameters  ZeRO 1, 2: gathered before the first passes, which wait for what is not there yet,
//               or after the optimizer unless overlap_parameters
// With uneven experts the rank with the largest load counts.
// Threads: pure functions; clocks are called from the caller's thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "workloads/plans/parallel_plan.hpp"
#include "workloads/plans/part_clocks.hpp"
#include "workloads/plans/pass_cost.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

/// Of the stage that computes longest; compute to optimizer add up to the iteration.
struct IterationEstimate {
  Duration iteration;
  std::uint32_t stage = 0;
  Duration compute;        ///< forward, backward and recomputed operators
  Duration communication;  ///< inside passes, exposed
  Duration pipeline;       ///< waits for other stages and for what is sent to them
  Duration gradients;      ///< from the last pass until all stages have theirs
  Duration parameters;     ///< first passes wait for them, or they come after the optimizer
  Duration optimizer;      ///< with the norm of the gradients, which is all of axis world
  /// All of an axis in an iteration; pipeline messages and what pipeline covers are not in here.
  std::array<AxisTime, plan_axis_count> axes;
};

/// Requires: the plan breaks no rule. Throws InputError [bad-plan] at `place` for a schedule that
/// does not exist for these numbers, and what the clocks throw.
IterationEstimate estimate_iteration(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& operators,
                                     const AxisClock& network, const SourcePlace& place);

/// The same in an order of passes that is there already, as pipeline_order() gives it.
IterationEstimate estimate_iteration(const TransformerModel& model, const ParallelPlan& plan, const PipelineOrder& order,
                                     const PartClocks& operators, const AxisClock& network);

// --- What communicates ---

/// Of the estimate's stage, in an iteration: alike in axis, type and purpose, within passes in
/// size, too.
struct CommunicationCost {
  PlanAxis axis = PlanAxis::tensor;
  std::string_view what;     ///< "all_gather", "message"
  std::string_view purpose;  ///< "activations", "gradients", "parameters", "norm"
  std::uint64_t count = 0;
  Bytes bytes;       ///< input buffers, of all together
  Duration busy;     ///< all together
  Duration exposed;  ///< of busy, what the iteration would be shorter without it

  Bytes each_bytes() const { return Bytes::of(bytes.count() / static_cast<std::int64_t>(count)); }
  Duration each() const { return scaled(busy, 1, static_cast<std::int64_t>(count)); }
};

struct ExplainedIteration {
  IterationEstimate estimate;
  std::vector<CommunicationCost> communication;
};

/// The estimate, and row by row what communicates. Exposed within passes, and of gradients behind
/// the last pass, is what nothing hides; of pipeline messages the difference that they make to the
/// step; of parameters how long passes wait for them.
ExplainedIteration explain_iteration(const TransformerModel& model, const ParallelPlan& plan, const PipelineOrder& order,
                                     const PartClocks& operators, const AxisClock& network);

}  // namespace weft
