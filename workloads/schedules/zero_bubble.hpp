// SPDX-License-Identifier: Apache-2.0
// ZB-H1 and ZB-H2: zero-bubble schedules by hand, which do W later than B to fill bubbles.
//
// Where it sits: two of pipeline_schedules(). zero_bubble_search.hpp takes their orders as
// candidates.
// Model: with room for L microbatches, p <= L <= 2 p - 1, device i of p
//   starts with p - i + min(p - 1 - i, L - p) forward passes,
//   then does B, W and F in turns, where W begins when L - (those forward passes) are owed,
//   and ends with what W are left.
// ZB-H1 is L = p, with the memory of 1F1B: without transfers the step takes m (F + B + W) +
// (p - 1) (F + B - W) if W is no longer than F and B. ZB-H2 is L = 2 p - 1: if F = B = W, no device
// waits between its first pass and its last.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.1, figures 2 and 3.
// Threads: constants and pure functions.
#pragma once

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

/// The order for L microbatches. Requires: one chunk per device, p <= L <= 2 p - 1.
PipelineOrder handcrafted_zero_bubble(const PipelineSizes& sizes, std::uint32_t limit);

Module<PipelineScheduleMaker> zb_h1_module();
Module<PipelineScheduleMaker> zb_h2_module();

}  // namespace weft
