// SPDX-License-Identifier: Apache-2.0
// Dimensions: sizes such as 4x4x8, and coordinates of numbered places in such a grid.
//
// Where it sits: torus and hyperx read their sizes with it and number their routers by it.
//
// Model: place number = c0 + s0 * (c1 + s1 * (c2 + ...)) for coordinates c and sizes s; the first
// coordinate varies fastest.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"

namespace weft {

/// Sizes of the dimensions, each 1 or more.
using Dimensions = std::vector<std::uint32_t>;

/// Reads a text parameter such as "4x4x8": at most 16 sizes, at most a million places. Throws
/// InputError [bad-dimensions] at `place`.
Dimensions read_dimensions(const std::string& text, const std::string& param, const SourcePlace& place);

/// Number of places.
std::uint32_t places(const Dimensions& sizes);

/// Calls visit(dimension, coordinate of a, coordinate of b) for each dimension, in order.
template <class Visit>
void for_each_coordinate(const Dimensions& sizes, std::uint32_t a, std::uint32_t b, Visit visit) {
  for (std::size_t dimension = 0; dimension < sizes.size(); ++dimension) {
    visit(dimension, a % sizes[dimension], b % sizes[dimension]);
    a /= sizes[dimension];
    b /= sizes[dimension];
  }
}

}  // namespace weft
