// SPDX-License-Identifier: Apache-2.0
// Measured clock: clocks under which layers take as long as a benchmark on a few GPUs measured.
//
// Where it sits: `weft project training --profiling-mode=benchmark` estimates and simulates the
// whole plan with them.
//
// Model, for each part of the model and direction, ' of the benchmark's reduced plan:
//   factor         (measured' - communication') / computation' as operators' clock has it
//   operators      factor x clock
// Whatever the reduction took away - stages, ranks of experts, tensors and contexts - comes back by
// the shapes that operators have under the whole plan, and communication by its own model. Parts
// that were not measured have a factor of 1.
// Threads: pure functions; clocks are called from the caller's thread.
#pragma once

#include "core/text/diagnostics_fwd.hpp"
#include "host/memory/layer_benchmark.hpp"
#include "host/projections/layer_times.hpp"

namespace weft {

struct MeasuredLayers {
  LayerTimes measured;    ///< by the benchmark; what it lacks is calculated
  LayerTimes calculated;  ///< for its plan
  PartClocks clocks;      ///< of the whole plan's operators
};

/// `reduced`: as plan_of_benchmark() gives it; `network`: of its axes. Throws InputError
/// [bad-benchmark] at `place` for a layer that took less time than its communication.
MeasuredLayers measured_layers(const LayerBenchmark& benchmark, const ReducedPlan& reduced, const OperatorClock& operators,
                               const AxisClock& network, const SourcePlace& place);

}  // namespace weft
