// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B: 1F1B over several chunks per device, which shortens the ramps by their number.
//
// Where it sits: one of pipeline_schedules().
// Model, with v chunks: microbatches go in groups of p; a device takes a group through its first
// chunk, then through the next. It does 2 (p - 1 - device) + (v - 1) p forward passes before the
// first backward pass, then one of each in turns. Without transfers the ramps take
// (p - 1) (F + B + W) / v.
// Needs a multiple of p microbatches, as in Megatron-LM.
// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM", SC 2021 (arXiv 2104.04473), section 2.2.2 and figure 4.
// Threads: constants and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

/// In the order in which the device does them. Requires: microbatches are a multiple of stages.
std::vector<PipelinePass> interleaved_passes(const PipelineSizes& sizes, std::uint32_t device);

Module<PipelineScheduleMaker> interleaved_1f1b_module();

}  // namespace weft
