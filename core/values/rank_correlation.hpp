// SPDX-License-Identifier: Apache-2.0
// Rank correlation: whether two series put the same things in the same order.
//
// Where it sits: projections say with it how well a formula orders plans.
// Source: Spearman, "The proof and measurement of association between two things", 1904; equal
// values share the mean of their ranks.
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

namespace weft {

/// 1-based, in the series' order.
std::vector<double> ranks_of(std::span<const double> values);

/// Spearman's rho, -1 to 1; 0 where a series has fewer than two different values.
/// Requires: equal lengths.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace weft
