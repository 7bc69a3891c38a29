// SPDX-License-Identifier: Apache-2.0
// Confidence: how well measurements tell what a parameter is, by the bootstrap.
//
// Where it sits: after a search has found the best point; its intervals go into the profile.
//
// Model: around the best point each error is taken for a straight line of the parameters,
//   r_i(z) = a_i + J_i z + what does not go with the parameters
// fitted to simulations at drawn points within about the interval itself. So flows that meet others
// here and not there, whose times jump, count by how they go on the whole, and the less the more
// they jump. The best of these lines is the estimate that intervals are of. A thousand times,
// errors are drawn again with replacement and the best is found anew (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, chapter 9: pairs). Squares of errors count by their weights.
// With s the standard deviation of what comes out, as its middle tells it, n errors and p
// parameters, the interval is the estimate +- t s sqrt(n / (n - p)), within the range, with t the
// quantile of Student's distribution with n - p degrees of freedom. A parameter is free if others
// can make up for 95 % of what it does, by the errors that jump little, or if that is no more than
// what jumps alone make. As long as it does anything, others are not known better for it.
// What the simulation leaves out shows in the errors, but not in the intervals as a bias.
// Threads: errors of many points are asked for at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "calibration/fit_parameter.hpp"

namespace weft {

/// At a point: scaled errors, and the cost, infinite where there is no simulation.
struct PointErrors {
  std::vector<double> residuals;
  double cost = 0;  ///< n x Objective::value()
};
using ErrorsAt = std::function<std::vector<PointErrors>(std::span<const FitPoint> points)>;

/// What the data say of a parameter.
struct Confidence {
  double low = 0;  ///< of its value; an end of its range where the data do not exclude that
  double high = 0;
  /// Three standard deviations, one and a half times half of a 95 % interval, over the value are no
  /// more than ConfidenceOptions::within.
  bool is_identified = false;
  /// No time changes with this parameter, or others can make up for what it does.
  bool is_free = false;
  bool is_outside = false;  ///< the whole interval would lie beyond an end of the range
};

struct ConfidenceOptions {
  double level = 0.95;
  double within = 0.05;
  std::uint64_t seed = 1;
};

struct ConfidenceResult {
  /// As given, or the best of the lines where that costs less.
  FitPoint best;
  std::vector<Confidence> parameters;
};

/// `weights`: by error, as Objective has them; empty: all are 1. Requires: more errors than
/// parameters, a point with a simulation (WEFT_CHECK).
ConfidenceResult find_confidence(std::span<const FitParameter> parameters, const FitPoint& best, const ErrorsAt& errors_at,
                                 const ConfidenceOptions& options = {}, std::span<const double> weights = {});

}  // namespace weft
