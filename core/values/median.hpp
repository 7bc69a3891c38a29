// SPDX-License-Identifier: Apache-2.0
// Median: the middle of some values; of an even number, the mean of the two in the middle.
//
// Where it sits: calibrations, where a few values far off must not count (Distribution has
// percentiles of long series).
// Threads: pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/check.hpp"

namespace weft {

/// Requires: a value at least, none NaN.
inline double median(std::vector<double> values) {
  WEFT_CHECK(!values.empty(), "a median is of at least one value");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace weft
