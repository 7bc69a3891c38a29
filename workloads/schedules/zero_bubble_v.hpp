// SPDX-License-Identifier: Apache-2.0
// ZBV: zero bubble on a V, two chunks per device with the memory of 1F1B, in fixed phases.
//
// Where it sits: one of pipeline_schedules().
// Model: device i of p does, where the digit is the chunk,
//   warm-up    F0 2 (p - i) - 1 times; F1 F0 i times; F1 B1 W1 p - i times
//   stable     F0 B0 W0 F1 B1 W1 until forward passes run out
//   cool-down  B0 B1 i times; B0 W0 p - i times; what is left of W1, then of W0
// If F = B = W, no device waits between its first pass and its last, and the step takes
// m (F + B + W) + (p - 1) F / 2 without transfers. Each device holds p microbatches.
// Needs 2 p - 1 microbatches at least, which the warm-up takes.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 6 (ZB-V).
// Threads: constants and pure functions.
#pragma once

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

Module<PipelineScheduleMaker> zbv_module();

}  // namespace weft
