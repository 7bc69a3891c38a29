// SPDX-License-Identifier: Apache-2.0
// Rated clock: times of a model's operators from their floating-point operations and one rate, for
// users who know no more of a GPU.
//
// Where it sits: templates that are presets of a model and a plan take it for the plan's clock;
// host/op_times has clocks of real machines.
//
// Model
//   products   operations / tflops, as product_operations() counts them, times the pass's scale
//   optimizer  a given time
//   others     bound by memory: no time
// Threads: pure functions.
#pragma once

#include "core/values/units.hpp"
#include "workloads/plans/training_steps.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

/// What times of products are multiplied by.
struct PassScales {
  double forward = 1.0;
  double backward = 1.0;
};

/// It throws InputError [too-large] as TensorMath::time() does. Requires: `math` outlives it.
OperatorClock rated_clock(const TensorMath& math, Duration optimizer_time, PassScales scales = {});

}  // namespace weft
