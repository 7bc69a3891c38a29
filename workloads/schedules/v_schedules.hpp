// SPDX-License-Identifier: Apache-2.0
// V-Half and V-Min: schedules on a V that hold a half and a third of the activations of 1F1B, by
// repeating a building block.
//
// Where it sits: two of pipeline_schedules().
// Model: a building block says when each pass of one microbatch begins, in units of (F + B + W)/6.
// Forward and backward passes go down and up the V in steps of 1 or 2 per device, with 1, 2 or 4
// between the four ways. Microbatches repeat the block every 6 units; the first and the last few
// may follow each other more closely (squeezing), as they meet no W and no F. Devices do F and B in
// the order of these times and W by weight filling, within
//   V-Half  p / 2 + 1 microbatches, rounded down
//   V-Min   p / 3 microbatches, rounded up, and one more from 6 stages on, but 2 at least
// The best block has the least step time, then the least peak of activations.
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS 2024, sections 2 and
// 3: building blocks, their repeating and squeezing, V-Half and V-Min. The paper searches offsets
// alike; the values that are tried here and the limits are our own.
// Threads: constants and pure functions.
#pragma once

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

Module<PipelineScheduleMaker> v_half_module();
Module<PipelineScheduleMaker> v_min_module();

}  // namespace weft
