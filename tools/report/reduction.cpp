// SPDX-License-Identifier: Apache-2.0
#include "tools/report/reduction.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

void WeightedValues::add(double value, double weight) {
  values_.emplace_back(value, weight);
  weight_ += weight;
  sum_ += value * weight;
  is_sorted_ = false;
}

void WeightedValues::sort() const {
  if (is_sorted_) return;
  std::ranges::sort(values_);
  up_to_.clear();
  double sum = 0;
  for (const auto& [value, weight] : values_) up_to_.push_back(sum += weight);
  is_sorted_ = true;
}

double WeightedValues::quantile(double share) const {
  WEFT_CHECK(!values_.empty(), "only values have percentiles");
  sort();
  // Sums of weights are rounded.
  constexpr double rounding = 1e-12;
  const auto found = std::ranges::lower_bound(up_to_, share * up_to_.back() * (1 - rounding));
  return values_[std::min<std::size_t>(found - up_to_.begin(), values_.size() - 1)].first;
}

std::vector<std::pair<double, double>> WeightedValues::distribution(std::size_t points) const {
  std::vector<std::pair<double, double>> found;
  const auto add = [&](double share) {
    const double value = quantile(share);
    if (!found.empty() && found.back().first == value) {
      found.back().second = share;
    } else {
      found.emplace_back(value, share);
    }
  };
  add(0);
  for (std::size_t i = 1; i < points; ++i) add(static_cast<double>(i) / static_cast<double>(points));
  for (const double share : {0.995, 0.999, 0.9999}) {
    if (share > 1 - 1 / static_cast<double>(points)) add(share);
  }
  add(1);
  return found;
}

std::vector<double> step_means(const std::vector<double>& times, const std::vector<double>& values, double begin, double end,
                               std::size_t parts) {
  WEFT_CHECK(begin < end && parts > 0, "a mean is over some time");
  std::vector<double> means(parts, 0);
  const double width = (end - begin) / static_cast<double>(parts);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double from = std::max(times[i], begin);
    const double to = std::min(i + 1 < times.size() ? times[i + 1] : end, end);
    if (to <= from) continue;
    const auto first = static_cast<std::size_t>((from - begin) / width);
    for (std::size_t part = std::min(first, parts - 1); part < parts; ++part) {
      const double part_begin = begin + static_cast<double>(part) * width;
      if (part_begin >= to) break;
      const double overlap = std::min(to, part_begin + width) - std::max(from, part_begin);
      if (overlap > 0) means[part] += values[i] * overlap / width;
    }
  }
  return means;
}

std::vector<std::size_t> which_to_keep(std::size_t count, std::size_t most) {
  std::vector<std::size_t> kept;
  const std::size_t every = most == 0 ? count + 1 : (count + most - 1) / most;
  for (std::size_t i = 0; i < count; i += std::max<std::size_t>(every, 1)) kept.push_back(i);
  return kept;
}

}  // namespace weft
