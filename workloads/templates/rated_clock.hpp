// SPDX-License-Identifier: Apache-2.0
// Rated clock: operator times at a flat rate, for templates whose users say what a GPU sustains.
//
// Where it sits: templates that are presets of a model and a plan make their workloads with it.
// Model: product_operations() over the parameter "tflops"; operators bound by memory take no time.
// Threads: as TensorMath.
#pragma once

#include "workloads/plans/training_steps.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

/// Throws InputError [too-large] for an operator that takes longer than an op may. `math` outlives
/// it.
OperatorClock rated_clock(const TensorMath& math);

}  // namespace weft
