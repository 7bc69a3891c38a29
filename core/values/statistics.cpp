#include "core/values/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft {

void Accumulator::add(double x) {
  ++count_;
  const double sum = sum_ + x;
  correction_ += std::abs(sum_) >= std::abs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
  sum_ = sum;
  const double before = x - running_mean_;
  running_mean_ += before / static_cast<double>(count_);
  squares_ += before * (x - running_mean_);
  min_ = std::min(min_, x);
  max_ = std::max(max_, x);
}

double Accumulator::standard_deviation() const { return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_)); }

void Samples::add(double x) {
  values_.push_back(x);
  summary_.add(x);
}

double Samples::percentile(double percent) const {
  WEFT_CHECK(percent >= 0 && percent <= 100, "a percentile lies between 0 and 100");
  if (values_.empty()) return 0;
  const double rank = percent / 100 * static_cast<double>(values_.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  std::vector<double> sorted = values_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(sorted.begin(), at, sorted.end());
  const double low = *at;
  if (below + 1 >= sorted.size()) return low;
  const double high = *std::min_element(at + 1, sorted.end());
  return low + (high - low) * (rank - static_cast<double>(below));
}

}  // namespace weft
