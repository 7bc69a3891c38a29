// SPDX-License-Identifier: Apache-2.0
// Confidence: how well measurements tell what a parameter is, by its profile likelihood.
//
// Where it sits: after a search has found the best point; its intervals go into the profile.
//
// Model: errors are taken for independent and equally likely everywhere once divided by their
// scale (calibration/objective). With C the cost n x Objective::value(), n errors and p parameters,
// a parameter's profile C(v) is the least cost with its value fixed to v. The interval holds all v
// with
//   (C(v) - C(best)) / (C(best) / (n - p)) <= t^2
// with t the quantile of Student's distribution with n - p degrees of freedom (Bates and Watts,
// Nonlinear Regression Analysis, 1988, chapter 6). The other parameters follow by Gauss-Newton
// steps with the derivatives at the best point, and ends are found where the square root of the
// left side, which is nearly straight, crosses t.
// What the simulation leaves out shows in the errors, but not in the intervals as a bias.
// Threads: residuals of several points are asked for at once.
#pragma once

#include <cstddef>
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
  /// Half of the interval over the value is no more than ConfidenceOptions::within.
  bool is_identified = false;
  /// No time changes where only this parameter does, or others can make up for all that it does.
  bool is_free = false;
};

struct ConfidenceOptions {
  double level = 0.95;
  double within = 0.05;
};

struct ConfidenceResult {
  FitPoint best;  ///< as given, or where Gauss-Newton steps from there have led
  std::vector<Confidence> parameters;
  std::size_t runs = 0;
};

/// Requires: more errors than parameters, a point with a simulation (WEFT_CHECK).
ConfidenceResult find_confidence(std::span<const FitParameter> parameters, const FitPoint& best, const ErrorsAt& errors_at,
                                 const ConfidenceOptions& options = {});

}  // namespace weft
