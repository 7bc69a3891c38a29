// SPDX-License-Identifier: Apache-2.0
// Reduction: long series as the few hundred points that a picture shows.
//
// Where it sits: charts of tools/report. All of these go by every value that they are given; where
// only some are kept, as of clouds of points, which_to_keep() says which, the same at each call.
// Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

inline constexpr double ns_in_s = 1e-9;

/// Values with weights, and their percentiles.
class WeightedValues {
 public:
  void add(double value, double weight = 1);
  bool is_empty() const { return values_.empty(); }
  std::size_t count() const { return values_.size(); }
  double weight() const { return weight_; }
  double sum() const { return sum_; }

  /// The smallest value that at least `share` of the weight does not exceed. Requires: not empty.
  double quantile(double share) const;
  /// Of the distribution function: value and share, `points` + 1 of them at most, in equal steps of
  /// share and closer to each other at the upper end, where tails are.
  std::vector<std::pair<double, double>> distribution(std::size_t points) const;

 private:
  void sort() const;

  mutable std::vector<std::pair<double, double>> values_;
  mutable std::vector<double> up_to_;  ///< weights, summed, in the order of values_
  mutable bool is_sorted_ = true;
  double weight_ = 0;
  double sum_ = 0;
};

/// The mean over time of values that hold from their time until the next one, in `parts` equal
/// parts of begin .. end. Requires: times ascend, begin < end.
std::vector<double> step_means(const std::vector<double>& times, const std::vector<double>& values, double begin, double end,
                               std::size_t parts);

/// Of `count` items those to keep, `most` at most: every k-th, so that all parts are there as
/// often.
std::vector<std::size_t> which_to_keep(std::size_t count, std::size_t most);

}  // namespace weft
