// SPDX-License-Identifier: Apache-2.0
// Template "unet": a U-Net (arXiv 1505.04597) in data parallel - an encoder, a decoder, and skip
// connections between equal levels.
//
// Where it sits: one of workload_templates(). All ranks play one role:
//
//   enc_0 -> enc_1 -> ... -> enc_L -> dec_{L-1} -> ... -> dec_0      enc_l also feeds dec_l
//
// Level l works on images of (image / 2^l)^2 points with base_channels 2^l channels and has two
// convolutions of 3 x 3; a decoder level first doubles the resolution with a 2 x 2 transposed
// convolution and takes the encoder's channels along. Backward visits the blocks the other way,
// enc_l waiting for both its users; every block's gradients are all-reduced as soon as they are
// there.
//
// A k x k convolution from C_in to C_out channels on P points: 2 k^2 C_in C_out P floating-point
// operations per image and k^2 C_in C_out weights.
// Backward costs twice the forward.
// Not modelled: biases, normalisation, memory bandwidth.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> unet_module();

}  // namespace weft
