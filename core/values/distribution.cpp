// SPDX-License-Identifier: Apache-2.0
#include "core/values/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <boost/sort/spreadsort/integer_sort.hpp>

#include "core/check.hpp"

namespace weft {

namespace {

/// Bits of the mantissa that tell buckets apart.
constexpr int kept_bits = 10;
constexpr int dropped_bits = 52 - kept_bits;

constexpr std::uint64_t sign = std::uint64_t{1} << 63;

/// Doubles in the order of these numbers: those >= 0 are ordered as their bits are, others the
/// other way.
std::uint64_t ordered(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & sign) == 0 ? bits | sign : ~bits;
}

double value_of(std::uint64_t number) { return std::bit_cast<double>((number & sign) != 0 ? number & ~sign : ~number); }

std::uint64_t bucket_of(double value) { return ordered(value) >> dropped_bits; }

double middle_of(std::uint64_t bucket) {
  const double low = value_of(bucket << dropped_bits);
  const double high = value_of((bucket + 1) << dropped_bits);
  return low + (high - low) / 2;
}

/// The value of rank `rank` from 0, of values with how often they occur in ascending order.
template <class Counted>
double value_at(const Counted& ascending, std::uint64_t rank) {
  for (const auto& [value, times] : ascending) {
    if (rank < times) return value;
    rank -= times;
  }
  return ascending.back().first;
}

template <class Counted>
double percentile_of(const Counted& ascending, std::uint64_t count, double percent) {
  const double rank = percent / 100 * static_cast<double>(count - 1);
  const auto below = static_cast<std::uint64_t>(rank);
  const double low = value_at(ascending, below);
  const double high = value_at(ascending, std::min(below + 1, count - 1));
  return low + (high - low) * (rank - static_cast<double>(below));
}

}  // namespace

void Distribution::add(double value, std::uint64_t times) {
  WEFT_CHECK(std::isfinite(value), "a distribution is of finite values");
  if (times == 0) return;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  count_ += times;
  if (!buckets_.empty()) return add_to_bucket(value, times);
  // Values often come several times in a row.
  if (!exact_.empty() && exact_.back().first == value) {
    exact_.back().second += times;
    return;
  }
  is_sorted_ = is_sorted_ && (exact_.empty() || exact_.back().first < value);
  exact_.emplace_back(value, times);
  if (exact_.size() > 2 * exact_max_) decide();
}

void Distribution::decide() const {
  if (!buckets_.empty() || exact_.size() <= exact_max_) return;
  sort();
  if (exact_.size() <= exact_max_) return;
  for (const auto& [value, times] : exact_) add_to_bucket(value, times);
  exact_ = {};
}

void Distribution::sort() const {
  if (std::exchange(is_sorted_, true)) return;
  boost::sort::spreadsort::integer_sort(
      exact_.begin(), exact_.end(), [](const auto& counted, unsigned offset) { return ordered(counted.first) >> offset; },
      [](const auto& a, const auto& b) { return ordered(a.first) < ordered(b.first); });
  std::size_t last = 0;
  for (std::size_t i = 1; i < exact_.size(); ++i) {
    if (exact_[i].first == exact_[last].first) {
      exact_[last].second += exact_[i].second;
    } else {
      exact_[++last] = exact_[i];
    }
  }
  exact_.resize(last + 1);
}

void Distribution::add_to_bucket(double value, std::uint64_t times) const { buckets_[bucket_of(value)] += times; }

double Distribution::percentile(double percent) const {
  WEFT_CHECK(percent >= 0 && percent <= 100, "a percentile lies between 0 and 100");
  if (count_ == 0) return 0;
  if (is_exact()) {
    sort();
    return percentile_of(exact_, count_, percent);
  }
  std::vector<std::pair<double, std::uint64_t>> middles;
  middles.reserve(buckets_.size());
  for (const auto& [bucket, times] : buckets_) middles.emplace_back(std::clamp(middle_of(bucket), min_, max_), times);
  return percentile_of(middles, count_, percent);
}

}  // namespace weft
