// SPDX-License-Identifier: Apache-2.0
// Layer times: how long a GPU takes for one microbatch of each part of a model, by clocks or as a
// bench of a few GPUs measured it, and what that is under the whole plan.
//
// Where it sits: node_projection.hpp projects from them. Benches run a reduced plan
// (workloads/plans/reduced_plan.hpp).
//
// Model: restoration, per pass of a part with n all-reduces of tensor ranks and, of layers with
// experts, two all-to-alls:
//     (time - n AR(t') - 2 A2A(e')) t' / t + n AR(t) + 2 A2A(e)         ' of the bench
// Computation goes by the tensor-parallel share, communication by closed forms; what the bench
// measured stays where nothing was reduced. Sequence parallelism's all-gather and reduce-scatter
// count as one all-reduce.
// Source: Primus, "Projection", Sub-Node Benchmarking.
// Threads: pure functions; clocks are called from the caller's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/units.hpp"
#include "host/projections/arithmetic.hpp"
#include "host/projections/hardware_config.hpp"
#include "workloads/plans/part_clocks.hpp"

namespace weft {

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

/// By clocks, on even loads of experts. What the model lacks takes no time.
LayerTimes timed_layers(const TransformerModel& model, const ParallelPlan& plan, const PartClocks& operators,
                        const AxisClock& network);

/// Times under `bench`, brought to `plan`. Requires: as many context-parallel ranks in both.
LayerTimes restored(const LayerTimes& times, const TransformerModel& model, const ParallelPlan& bench, const ParallelPlan& plan,
                    const HardwareConfig& hardware);

/// Passes of every pipeline position; backward in one, or half of it for each gradient. Layers that
/// the plan computes again take their forward pass more, which was not published.
std::vector<PositionTimes> position_times(const LayerTimes& times, const TransformerModel& model, const ParallelPlan& plan,
                                          Duration transfer, Arithmetic arithmetic);

/// What a rank hands to experts for one microbatch and layer: tokens x hidden x top_k x bytes of
/// activations. Requires: the model has experts.
Bytes expert_message(const TransformerModel& model, const ParallelPlan& plan);

}  // namespace weft
