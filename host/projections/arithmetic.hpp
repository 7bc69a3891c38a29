// SPDX-License-Identifier: Apache-2.0
// Arithmetic: whether an estimator of the literature computes as it was printed, or as physics has
// it.
//
// Where it sits: the estimators of this folder take one; docs/internals/estimators.md lists where
// the two differ.
// Threads: a value.
#pragma once

#include <cstdint>

namespace weft {

enum class Arithmetic : std::uint8_t { physical, as_published };

}  // namespace weft
