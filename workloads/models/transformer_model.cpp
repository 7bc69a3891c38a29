// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/transformer_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/check.hpp"

namespace weft {

namespace {

struct HeadsOf {
  std::uint64_t operator()(const GroupedQueryAttention& attention) const { return attention.heads; }
  std::uint64_t operator()(const LatentAttention& attention) const { return attention.heads; }
};

struct KeyValueHeadsOf {
  std::uint64_t operator()(const GroupedQueryAttention& attention) const { return attention.key_value_heads; }
  std::uint64_t operator()(const LatentAttention& attention) const { return attention.heads; }
};

struct KeyWidthOf {
  std::uint64_t operator()(const GroupedQueryAttention& attention) const { return attention.head_width; }
  std::uint64_t operator()(const LatentAttention& attention) const { return attention.key_width + attention.rotary_width; }
};

struct ValueWidthOf {
  std::uint64_t operator()(const GroupedQueryAttention& attention) const { return attention.head_width; }
  std::uint64_t operator()(const LatentAttention& attention) const { return attention.value_width; }
};

/// Shares of `count` loads, largest first; the i smallest add up to (i / count)^power.
std::vector<double> power_loads(std::uint64_t count, double power) {
  std::vector<double> loads;
  const auto n = static_cast<double>(count);
  for (std::uint64_t i = count; i > 0; --i) {
    loads.push_back(std::pow(static_cast<double>(i) / n, power) - std::pow(static_cast<double>(i - 1) / n, power));
  }
  return loads;
}

}  // namespace

std::uint64_t AttentionBlock::heads() const { return std::visit(HeadsOf(), kind); }
std::uint64_t AttentionBlock::key_value_heads() const { return std::visit(KeyValueHeadsOf(), kind); }
std::uint64_t AttentionBlock::key_width() const { return std::visit(KeyWidthOf(), kind); }
std::uint64_t AttentionBlock::value_width() const { return std::visit(ValueWidthOf(), kind); }

double gini_of(const std::vector<double>& loads) {
  std::vector<double> ascending = loads;
  std::sort(ascending.begin(), ascending.end());
  const auto n = static_cast<double>(loads.size());
  double sum = 0.0;
  double weighted = 0.0;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    sum += ascending[i];
    weighted += static_cast<double>(i + 1) * ascending[i];
  }
  return sum > 0.0 ? 2.0 * weighted / (n * sum) - (n + 1.0) / n : 0.0;
}

std::vector<double> loads_with_gini(std::uint64_t count, double gini) {
  WEFT_CHECK(gini >= 0.0 && gini * static_cast<double>(count) <= static_cast<double>(count - 1),
             "so many loads can have such a Gini coefficient");
  // Loads get less even as the power grows.
  double low = 1.0;
  double high = 2.0;
  constexpr double power_max = 1e6;
  while (gini_of(power_loads(count, high)) < gini && high < power_max) high *= 2.0;
  constexpr int halvings = 200;
  for (int i = 0; i < halvings; ++i) {
    const double middle = 0.5 * (low + high);
    (gini_of(power_loads(count, middle)) < gini ? low : high) = middle;
  }
  return power_loads(count, low);
}

}  // namespace weft
