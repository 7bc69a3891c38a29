// SPDX-License-Identifier: Apache-2.0
// GPipe: all forward passes, then all backward passes, the last microbatch first.
//
// Where it sits: one of pipeline_schedules().
// Model: step time (m + p - 1) (F + B + W) without transfers; a device holds all m microbatches.
// Source: Huang et al., "GPipe", NeurIPS 2019, section 2.3 and figure 2.
// Threads: constants and pure functions.
#pragma once

#include <vector>

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

/// In the order in which every device does them.
std::vector<PipelinePass> gpipe_passes(const PipelineSizes& sizes);

Module<PipelineScheduleMaker> gpipe_module();

}  // namespace weft
