// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/time_law.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"
#include "core/values/median.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

constexpr int reweightings = 25;
constexpr int descents = 2000;
constexpr double scatter_first = 3;  // r from which on a row counts less than half
constexpr double scatter_last = 0.3;
constexpr double scatter_factor = 0.8;
constexpr double outlier_factor = 16;
constexpr double outlier_deviations = 8;

/// Each term's coefficient as if the others were nothing, by the rows in which it is dearest: a
/// quarter of all t / x is below it. Too slow where terms overlap, and hardly too fast anywhere, so
/// that a time that is wrong has no leverage.
TimeLaw first_law(std::span<const std::vector<double>> terms, std::span<const double> times_us) {
  constexpr std::size_t quantile = 4;
  TimeLaw law;
  for (std::size_t term = 0; term < terms.front().size(); ++term) {
    std::vector<double> ratios(times_us.size());
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = times_us[i] / terms[i][term];
    const auto low = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / quantile);
    std::nth_element(ratios.begin(), low, ratios.end());
    law.coefficients.push_back(*low);
  }
  return law;
}

/// Normal equations of weighted least squares, each term in multiples of `scale`.
struct WeightedSums {
  std::vector<double> products;  ///< of terms a and b at a * count + b
  std::vector<double> targets;
};

WeightedSums weighted_sums(const TimeLaw& law, std::span<const std::vector<double>> terms, std::span<const double> times_us,
                           std::span<const double> scale, double scatter) {
  const std::size_t count = scale.size();
  WeightedSums sums{std::vector<double>(count * count, 0.0), std::vector<double>(count, 0.0)};
  std::vector<double> x(count);
  for (std::size_t i = 0; i < times_us.size(); ++i) {
    const double predicted = law.time_us(terms[i]);
    const double largest = std::max(predicted, times_us[i]);
    const double off = portable_log(times_us[i] / predicted) / scatter;
    const double weight = 1 / (1 + off * off);
    for (std::size_t a = 0; a < count; ++a) x[a] = terms[i][a] / scale[a] / largest;
    for (std::size_t a = 0; a < count; ++a) {
      sums.targets[a] += weight * x[a] * (times_us[i] / largest);
      for (std::size_t b = 0; b < count; ++b) sums.products[a * count + b] += weight * x[a] * x[b];
    }
  }
  return sums;
}

}  // namespace

double TimeLaw::time_us(std::span<const double> terms) const {
  double sum = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) sum += coefficients[i] * terms[i];
  return sum;
}

TimeLaw fit_time_law(std::span<const std::vector<double>> terms, std::span<const double> times_us) {
  WEFT_CHECK(!terms.empty() && terms.size() == times_us.size(), "a law is fitted to rows");
  const std::size_t count = terms.front().size();
  TimeLaw law = first_law(terms, times_us);
  // Terms are as large as times then.
  std::vector<double> scale(count);
  for (std::size_t a = 0; a < count; ++a) {
    std::vector<double> ratios(times_us.size());
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = terms[i][a] / times_us[i];
    scale[a] = median(std::move(ratios));
  }
  double scatter = scatter_first;
  for (int step = 0; step < reweightings; ++step) {
    const WeightedSums sums = weighted_sums(law, terms, times_us, scale, scatter);
    scatter = std::max(scatter_last, scatter * scatter_factor);
    std::vector<double> scaled(count);
    for (std::size_t a = 0; a < count; ++a) scaled[a] = law.coefficients[a] * scale[a];
    for (int descent = 0; descent < descents; ++descent) {
      for (std::size_t a = 0; a < count; ++a) {
        const double own = sums.products[a * count + a];
        if (own <= 0) continue;
        double rest = sums.targets[a];
        for (std::size_t b = 0; b < count; ++b) {
          if (b != a) rest -= sums.products[a * count + b] * scaled[b];
        }
        scaled[a] = std::max(0.0, rest / own);
      }
    }
    // A law of nothing has no relative error; the last one stands.
    if (std::ranges::none_of(scaled, [](double coefficient) { return coefficient > 0; })) break;
    for (std::size_t a = 0; a < count; ++a) law.coefficients[a] = scaled[a] / scale[a];
  }
  return law;
}

std::vector<std::size_t> outliers_of(const TimeLaw& law, std::span<const std::vector<double>> terms,
                                     std::span<const double> times_us) {
  std::vector<double> residuals(times_us.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) residuals[i] = portable_log(times_us[i] / law.time_us(terms[i]));
  const double middle = median(residuals);
  for (double& residual : residuals) residual = std::abs(residual - middle);
  const double limit = std::max(portable_log(outlier_factor), outlier_deviations * median(residuals));
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (residuals[i] > limit) found.push_back(i);
  }
  return found;
}

}  // namespace weft
