// SPDX-License-Identifier: Apache-2.0
#include "core/values/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/check.hpp"

namespace weft {

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    // Ranks first + 1 to end.
    const double mean = static_cast<double>(first + 1 + end) / 2.0;
    for (; first < end; ++first) ranks[order[first]] = mean;
  }
  return ranks;
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  WEFT_CHECK(a.size() == b.size(), "ranks are of the same things");
  const std::vector<double> of_a = ranks_of(a);
  const std::vector<double> of_b = ranks_of(b);
  const double mean = (static_cast<double>(a.size()) + 1.0) / 2.0;
  double together = 0;
  double square_a = 0;
  double square_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    together += (of_a[i] - mean) * (of_b[i] - mean);
    square_a += (of_a[i] - mean) * (of_a[i] - mean);
    square_b += (of_b[i] - mean) * (of_b[i] - mean);
  }
  return square_a == 0 || square_b == 0 ? 0 : together / std::sqrt(square_a * square_b);
}

}  // namespace weft
