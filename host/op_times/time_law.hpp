// SPDX-License-Identifier: Apache-2.0
// Time law: a sum of a kernel's terms with coefficients that are not negative, fitted to measured
// times although some of them are wrong.
//
// Where it sits: regressors predict a law's time times e^(what trees say of the kernel); the law
// alone goes on beyond the sampled sizes, where trees stay constant.
// Model: t = sum c_i x_i, c_i >= 0, so that the relative error is small: iteratively reweighted
// least squares, with weights 1 / (max(t, law)^2 (1 + (r / 0.3)^2)), r =
// ln(t / law); 3 stands for 0.3 at first, so that the start does not decide who is far off. A row
// far off has no weight, however large its time is. Each step is solved by coordinate descent.
// Outliers: a row is one if |r - median(r)| is above max(ln 16, 8 median |r - median(r)|): sixteen
// times off what all others tell, and more where those scatter.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

struct TimeLaw {
  std::vector<double> coefficients;  ///< us per term

  /// Requires: a value for each coefficient.
  double time_us(std::span<const double> terms) const;
};

/// Row i has times_us[i] and terms[i]. Requires: a row at least, equally many terms in each, all
/// numbers above 0 and finite.
TimeLaw fit_time_law(std::span<const std::vector<double>> terms, std::span<const double> times_us);

/// Places of outliers among the rows, in their order.
std::vector<std::size_t> outliers_of(const TimeLaw& law, std::span<const std::vector<double>> terms,
                                     std::span<const double> times_us);

}  // namespace weft
