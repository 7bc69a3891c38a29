// SPDX-License-Identifier: Apache-2.0
// Training workload: the DAG of one training iteration of a transformer under a plan.
//
// Where it sits: `weft workload make --model --plan` writes it, projections simulate it. One role
// per pipeline stage; where experts have uneven loads, one per stage and expert-parallel position.
//
// Model
//   Passes of microbatches run in the order of the plan's schedule (workloads/schedules); a pass
//   begins when what it receives is there and, unless overlap_pipeline, when what the pass before
//   it sends has left. training_steps.hpp says what a pass does. Layers whose activations were not
//   kept run their forward pass again first, the last group of a uniform recomputation included.
//   Steps of passes that compute and take no time by the clock are no ops.
//   Gradients  of buckets of gradient_bucket parameters, from the last layer to the first of a
//              chunk, dense ones and experts apart: all-reduced among replicas (ZeRO 0), else
//              reduce-scattered; after the last microbatch's backward has passed them, or after all
//              passes unless overlap_gradients. ZeRO 2 and 3: after every microbatch.
//   Optimizer  after all gradients and an all-reduce of their norm among all ranks.
//   Parameters ZeRO 1 and 2: all-gathered by the same buckets, before the first pass that needs
//              them (of the iteration before, as iterations are alike) or, unless
//              overlap_parameters, after the optimizer. ZeRO 3: layer by layer before each use, one
//              layer ahead.
// Threads: pure functions; clocks are called from the caller's thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/text/diagnostics_fwd.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/models/operator.hpp"
#include "workloads/plans/parallel_plan.hpp"
#include "workloads/plans/part_clocks.hpp"
#include "workloads/plans/training_steps.hpp"
#include "workloads/schedules/pipeline_execution.hpp"

namespace weft {

/// Axes whose ranks share a host: what they do is no part of the workload but of the time of
/// compute ops, so that it has far fewer ops and the network moves what leaves hosts.
struct InsideAxes {
  std::array<bool, plan_axis_count> is_inside = {};
  AxisClock clock;
};

/// Order of the passes of every device; of one stage, one microbatch after the other. Requires: the
/// plan breaks no rule. Throws InputError [bad-plan] at `place` for a schedule that does not exist
/// for these numbers.
PipelineOrder pipeline_order(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& clocks,
                             const SourcePlace& place);

/// About how many ops an iteration has, of all roles together. Requires: the plan breaks no rule.
std::uint64_t estimated_ops(const TransformerModel& model, const ParallelPlan& plan);

/// Throws InputError [bad-plan] as pipeline_order() does, [too-large] for more ops than a workload
/// may have. `inside`: what is combined; null: nothing.
Workload make_training_workload(const std::string& name, const TransformerModel& model, const ParallelPlan& plan,
                                const PartClocks& clocks, const SourcePlace& place, const InsideAxes* inside = nullptr);

}  // namespace weft
