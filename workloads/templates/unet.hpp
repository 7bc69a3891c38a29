// SPDX-License-Identifier: Apache-2.0
// Template "unet": a U-Net (arXiv 1505.04597) in data parallel - an encoder, a decoder, and skip
// connections between equal levels.
//
// Where it sits: one of workload_templates(), a preset: it makes a UNetModel and a plan of its
// parameters and calls block_workload.hpp. All ranks play one role:
//
//   encoder_0 -> ... -> encoder_L -> decoder_{L-1} -> ... -> decoder_0    encoder_l feeds decoder_l
//
// Model: model_blocks.hpp has operators and sizes. Products take their operations at tflops, all
// else takes no time. Backward visits the blocks the other way, encoder_l waiting for both its
// users; every block's gradients are all-reduced as soon as they are there.
// Not modelled: normalisation, memory bandwidth.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> unet_module();

}  // namespace weft
