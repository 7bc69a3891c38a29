// SPDX-License-Identifier: Apache-2.0
// GPU presets: GPUs by name, for the parameter `preset` of a GPU.
//
// Where it sits: read_gpu() asks for them; `weft modules gpu` prints them.
//
// Model: a preset gives values to all parameters of a GPU (gpu.hpp), each with its origin: the
// maker's data sheet or white paper for what the chip is, named measurements for what it sustains.
// Thread safety: constants and pure functions.
#pragma once

#include <span>

#include "core/text/params.hpp"

namespace weft {

/// Every GPU, in the order of the parameter's choices.
std::span<const ModuleInfo> gpu_presets();

/// `params` with the numbers of the GPU that its parameter `preset` names for what is not given.
ParamSet with_named_gpu(ParamSet params, const SourcePlace& place);

}  // namespace weft
