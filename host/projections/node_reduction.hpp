// SPDX-License-Identifier: Apache-2.0
// Node reduction: a plan that is too large for the GPUs of a bench, made smaller so that layers can
// be timed there, and their times brought back to the plan.
//
// Where it sits: node_projection.hpp projects from what is restored; who times layers, on GPUs or
// with a model of them, runs the reduced model under the reduced plan.
//
// Model
//   Reduction, until one replica fits (ranks_min()): pipeline to 1; then experts over fewer ranks,
//   each with as many experts as before, the model having fewer; then tensor parallelism. Each goes
//   to its largest divisor that fits. Context parallelism stays.
//   Restoration, per pass of a part with n all-reduces of tensor ranks and, of layers with experts,
//   two all-to-alls:
//     (time - n AR(t') - 2 A2A(e')) t' / t + n AR(t) + 2 A2A(e)         ' of the bench
//   Computation goes by the tensor-parallel share, communication by closed forms; what the bench
//   measured stays where nothing was reduced. Sequence parallelism's all-gather and reduce-scatter
//   count as one all-reduce.
// Source: Primus, "Projection", Sub-Node Benchmarking.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/values/units.hpp"
#include "host/projections/hardware_config.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

struct ReducedTraining {
  TransformerModel model;  ///< with the experts that are left
  ParallelPlan plan;
};

/// For `gpus` GPUs at most, or why there is no such plan. Requires: the plan breaks no rule.
std::variant<ReducedTraining, std::string> reduce_to(const TransformerModel& model, const ParallelPlan& plan, std::uint64_t gpus);

/// One microbatch on one GPU, with the communication of its plan.
struct PartTimes {
  Duration forward;
  Duration backward;
};

struct LayerTimes {
  PartTimes input;
  PartTimes dense_layer;
  PartTimes expert_layer;
  PartTimes output;
};

/// Times under `bench`, brought to `plan`.
LayerTimes restored(const LayerTimes& times, const TransformerModel& model, const ParallelPlan& bench, const ParallelPlan& plan,
                    const HardwareConfig& hardware);

/// Passes of every pipeline position; backward in one, or half of it for each gradient.
std::vector<PositionTimes> position_times(const LayerTimes& times, const TransformerModel& model, const ParallelPlan& plan,
                                          Duration transfer);

/// What a rank hands to experts for one microbatch and layer: tokens x hidden x top_k x bytes of
/// activations. Requires: the model has experts.
Bytes expert_message(const TransformerModel& model, const ParallelPlan& plan);

}  // namespace weft
