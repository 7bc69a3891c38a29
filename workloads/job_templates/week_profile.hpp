// SPDX-License-Identifier: Apache-2.0
// Week profile: when in the week jobs are submitted.
//
// Where it sits: fitted_jobs submits its jobs by it.
//
// Model: a Poisson process whose rate is constant within each hour and repeats every week, which
// begins on a Monday at 0 o'clock:
//   rate ~ (1 + day_swing cos(2 pi (hour - busiest_hour) / 24)) x (weekend on Saturday and Sunday,
//   else 1),
// scaled to the given mean. Gaps of a process of rate 1 are exponential; submission times are where
// the integral of the rate comes to their sum.
// Thread safety: values.
#pragma once

#include <array>

#include "core/values/random.hpp"

namespace weft {

class WeekProfile {
 public:
  WeekProfile(double day_swing, double busiest_hour, double weekend);

  /// Moves on to the next submission and returns it, in seconds after the first Monday. `per_s` is
  /// the mean rate.
  double next(double per_s, RandomStream& stream);

 private:
  std::array<double, 168> weights_{};  ///< of the hours; their mean is 1
  std::size_t hour_ = 0;               ///< of the week
  double week_begin_s_ = 0;
  double in_hour_s_ = 0;
};

}  // namespace weft
