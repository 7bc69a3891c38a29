// SPDX-License-Identifier: Apache-2.0
#include "core/values/mean_interval.hpp"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.hpp"

namespace weft {

namespace {

struct Moments {
  double mean = 0;
  double variance_of_mean = 0;  ///< 0 of a single value
  double count = 0;
};

Moments moments_of(std::span<const double> values) {
  Moments moments{.count = static_cast<double>(values.size())};
  for (const double value : values) moments.mean += value / moments.count;
  if (values.size() < 2) return moments;
  double squares = 0;
  for (const double value : values) squares += (value - moments.mean) * (value - moments.mean);
  moments.variance_of_mean = squares / (moments.count - 1) / moments.count;
  return moments;
}

/// Less than this share of a number is how its sums are rounded.
constexpr double rounding = 1e-12;

double two_sided(double difference, double variance, double degrees, double size) {
  const double error = std::sqrt(variance);
  if (error <= rounding * size) return std::abs(difference) <= rounding * size ? 1 : 0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), std::abs(difference) / error));
}

}  // namespace

std::optional<MeanInterval> mean_interval(std::span<const double> values) {
  constexpr double tail = 0.025;
  if (values.empty()) return std::nullopt;
  const Moments moments = moments_of(values);
  MeanInterval interval{.mean = moments.mean};
  if (values.size() == 1) return interval;
  const double t = boost::math::quantile(boost::math::complement(boost::math::students_t(moments.count - 1), tail));
  const double half_width = t * std::sqrt(moments.variance_of_mean);
  interval.half_width = half_width < rounding * std::abs(interval.mean) ? 0 : half_width;
  return interval;
}

std::optional<double> welch_p_value(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const Moments of_a = moments_of(a);
  const Moments of_b = moments_of(b);
  const double variance = of_a.variance_of_mean + of_b.variance_of_mean;
  const auto part = [](const Moments& of) { return of.variance_of_mean * of.variance_of_mean / (of.count - 1); };
  const double parts = part(of_a) + part(of_b);
  const double degrees = parts > 0 ? variance * variance / parts : 1;
  return two_sided(of_a.mean - of_b.mean, variance, degrees, std::max(std::abs(of_a.mean), std::abs(of_b.mean)));
}

std::optional<double> paired_p_value(std::span<const double> a, std::span<const double> b) {
  WEFT_CHECK(a.size() == b.size(), "pairs have two values");
  if (a.size() < 2) return std::nullopt;
  std::vector<double> differences;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differences.push_back(a[i] - b[i]);
    size = std::max({size, std::abs(a[i]), std::abs(b[i])});
  }
  const Moments moments = moments_of(differences);
  return two_sided(moments.mean, moments.variance_of_mean, moments.count - 1, size);
}

}  // namespace weft
