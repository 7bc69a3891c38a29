// SPDX-License-Identifier: Apache-2.0
// 1F1B: a device starts with as many forward passes as there are devices behind it, then does one
// forward and one backward pass in turns.
//
// Where it sits: one of pipeline_schedules().
// Model: step time (m + p - 1) (F + B + W) without transfers; device i holds min(p - i, m)
// microbatches.
// Source: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021
// (PipeDream-Flush); arXiv 2104.04473, section 2.2.1.
// Threads: constants and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

/// In the order in which the device does them.
std::vector<PipelinePass> one_forward_one_backward_passes(const PipelineSizes& sizes, std::uint32_t device);

Module<PipelineScheduleMaker> one_forward_one_backward_module();

}  // namespace weft
