// SPDX-License-Identifier: Apache-2.0
// Root of a monotone function, for fits.
//
// Where it sits: size_law and run_time_law, whose parameters are roots, one inside the other.
// Model: Alefeld, Potra and Shi's algorithm 748 (Boost.Math) between two bounds.
// Thread safety: pure functions.
#pragma once

#include <boost/math/tools/toms748_solve.hpp>
#include <cstdint>
#include <optional>

namespace weft {

/// The x between the bounds at which the continuous `f` is 0; none if f has one sign at both.
template <class F>
std::optional<double> root_between(double low, double high, const F& f) {
  const double at_low = f(low);
  const double at_high = f(high);
  if (at_low == 0) return low;
  if (at_high == 0) return high;
  if ((at_low > 0) == (at_high > 0)) return std::nullopt;
  std::uintmax_t steps = 200;
  const auto [left, right] =
      boost::math::tools::toms748_solve(f, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(44), steps);
  return left + (right - left) / 2;
}

}  // namespace weft
