// Statistics: what a run says about many numbers in a few.
//
// Where it sits: the writers of results and reports; models that keep a mean while they run.
// `Accumulator` keeps count, sum, extremes and spread in constant memory; `Samples` keeps every
// number and knows percentiles. Results are functions of the numbers in the order they were added:
// callers add in an order that threads do not change. Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weft {

class Accumulator {
 public:
  void add(double x);

  std::uint64_t count() const { return count_; }
  double sum() const { return sum_ + correction_; }
  /// Mean, extremes and deviation of nothing are 0.
  double mean() const { return count_ == 0 ? 0 : sum() / static_cast<double>(count_); }
  double min() const { return count_ == 0 ? 0 : min_; }
  double max() const { return count_ == 0 ? 0 : max_; }
  /// Of the population: sqrt(sum (x - mean)^2 / n), by Welford's recurrence.
  double standard_deviation() const;

 private:
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double correction_ = 0;  ///< Neumaier's compensation of rounding in sum_
  double running_mean_ = 0;
  double squares_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

class Samples {
 public:
  void add(double x);
  void reserve(std::size_t n) { values_.reserve(n); }

  std::size_t size() const { return values_.size(); }
  const Accumulator& summary() const { return summary_; }
  /// The value below which `percent` per cent lie, interpolated between neighbours: rank
  /// percent/100 x (n - 1) of the sorted values counted from 0 (Hyndman and Fan 1996, type 7). 0 if
  /// there is no value. Requires: 0 <= percent <= 100 (WEFT_CHECK).
  double percentile(double percent) const;
  /// In the order added.
  std::span<const double> values() const { return values_; }

 private:
  std::vector<double> values_;
  Accumulator summary_;
};

}  // namespace weft
