// SPDX-License-Identifier: Apache-2.0
// U-Net model: convolutions down to coarse images and up again, with connections between equal
// levels.
//
// Where it sits: model.hpp has one among its kinds.
// Model: level l works on images of (image / 2^l)^2 points with base_channels 2^l channels. Going
// down, each level has two convolutions of 3 x 3 and pooling after them; going up, a transposed
// convolution of 2 x 2 doubles the resolution, the encoder's channels are put beside, and two
// convolutions of 3 x 3 follow. A convolution of 1 x 1 makes the classes.
// Source: Ronneberger et al., arXiv 1505.04597, figure 1. Convolutions are padded, so that images
// keep their size.
// Threads: values.
#pragma once

#include <cstdint>

namespace weft {

struct UNetModel {
  std::uint64_t image = 0;
  std::uint64_t channels = 3;
  std::uint64_t base_channels = 0;
  std::uint64_t levels = 0;
  std::uint64_t classes = 0;
  bool batch_norm = false;  ///< instead of biases

  std::uint64_t channels_of(std::uint64_t level) const { return base_channels << level; }

  friend bool operator==(const UNetModel&, const UNetModel&) = default;
};

}  // namespace weft
