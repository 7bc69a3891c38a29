// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_templates/week_profile.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace weft {

namespace {
constexpr double hour_s = 3600;
constexpr double two_pi = 6.28318530717958648;
}  // namespace

WeekProfile::WeekProfile(double day_swing, double busiest_hour, double weekend) {
  double sum = 0;
  for (std::size_t hour = 0; hour < weights_.size(); ++hour) {
    const double of_day = static_cast<double>(hour % 24) + 0.5 - busiest_hour;
    // Rounded, as libraries differ in the last bits of a cosine.
    weights_[hour] = std::round(1e6 * (1 + day_swing * std::cos(two_pi * of_day / 24)) * (hour >= 120 ? weekend : 1)) / 1e6;
    sum += weights_[hour];
  }
  for (double& weight : weights_) weight *= static_cast<double>(weights_.size()) / sum;
}

double WeekProfile::next(double per_s, RandomStream& stream) {
  double left = stream.exponential(1);
  for (;;) {
    const double rate = per_s * weights_[hour_];
    const double in_this_hour = (hour_s - in_hour_s_) * rate;
    if (left < in_this_hour) {
      in_hour_s_ += left / rate;
      return week_begin_s_ + static_cast<double>(hour_) * hour_s + in_hour_s_;
    }
    left -= in_this_hour;
    in_hour_s_ = 0;
    if (++hour_ == weights_.size()) {
      hour_ = 0;
      week_begin_s_ += static_cast<double>(weights_.size()) * hour_s;
    }
  }
}

}  // namespace weft
