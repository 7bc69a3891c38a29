// SPDX-License-Identifier: Apache-2.0
// Mean interval: the mean of repeated runs and how sure it is, and whether two means differ.
//
// Where it sits: studies and comparisons say with it what chance may have done.
// Source: Student, "The probable error of a mean", 1908; Welch, "The generalization of Student's
// problem when several different population variances are involved", 1947. Both take the values for
// draws from normal distributions.
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>

namespace weft {

struct MeanInterval {
  double mean = 0;
  /// The mean lies within this of `mean` with 95 %; none of a single value. Equal values have 0.
  std::optional<double> half_width = {};
};

/// None of no values.
std::optional<MeanInterval> mean_interval(std::span<const double> values);

/// How likely means are to differ as much as these if nothing but chance tells them apart (two
/// sides). None unless both sides have two values: else chance cannot be told. Where both sides
/// vary by nothing: 1 of equal means, 0 of others.
std::optional<double> welch_p_value(std::span<const double> a, std::span<const double> b);

/// The same of values that belong together pair by pair, such as runs of equal seeds (Student's
/// paired test). None of fewer than two pairs. Requires: equal lengths.
std::optional<double> paired_p_value(std::span<const double> a, std::span<const double> b);

}  // namespace weft
