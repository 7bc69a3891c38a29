// SPDX-License-Identifier: Apache-2.0
#include "calibration/objective.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.hpp"
#include "core/values/compensated_sum.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

void check_alike(std::span<const double> simulated_s, std::span<const double> measured_s) {
  WEFT_CHECK(simulated_s.size() == measured_s.size(), "every measured time has a simulated one");
  const auto is_finite = [](double time_s) { return std::isfinite(time_s); };
  WEFT_CHECK(std::ranges::all_of(simulated_s, is_finite) && std::ranges::all_of(measured_s, is_finite), "times are finite");
}

void check_weights(std::span<const double> weights, std::size_t times) {
  WEFT_CHECK(weights.empty() || weights.size() == times, "every measured time has a weight, or none has");
  const auto is_weight = [](double weight) { return std::isfinite(weight) && weight > 0; };
  WEFT_CHECK(std::ranges::all_of(weights, is_weight), "weights are finite and above zero");
}

/// The weight of the times entered so far that are above a given one, and their weighted sum
/// (Fenwick 1994). Times go by their rank among all.
class TimesAbove {
 public:
  struct Found {
    double weight = 0;
    double sum_s = 0;
  };

  explicit TimesAbove(std::size_t ranks) : nodes_(ranks + 1) {}

  void enter(std::size_t rank, double time_s, double weight) {
    entered_ += weight;
    for (std::size_t node = rank + 1; node < nodes_.size(); node += node & -node) {
      nodes_[node].weight += weight;
      nodes_[node].sum_s += weight * time_s;
    }
  }
  /// Their weight.
  double entered() const { return entered_; }
  /// Times of a rank below `rank`.
  Found below(std::size_t rank) const {
    Found found;
    for (std::size_t node = rank; node > 0; node -= node & -node) {
      found.weight += nodes_[node].weight;
      found.sum_s += nodes_[node].sum_s;
    }
    return found;
  }

 private:
  std::vector<Found> nodes_;
  double entered_ = 0;
};

/// Nothing that is simulated takes less, a tick of the clock, but nothing.
constexpr double time_min_s = 1e-11;

double square(double x) { return x * x; }

}  // namespace

OrderAgreement order_agreement(std::span<const double> simulated_s, std::span<const double> measured_s,
                               std::span<const double> weights) {
  check_alike(simulated_s, measured_s);
  const std::size_t count = measured_s.size();
  check_weights(weights, count);
  const auto weight_of = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  // Ranks in descending order of simulated time, so that those below a rank have longer times.
  std::vector<double> descending(simulated_s.begin(), simulated_s.end());
  std::ranges::sort(descending, std::ranges::greater());
  descending.erase(std::unique(descending.begin(), descending.end()), descending.end());
  const auto rank_of = [&](double time_s) {
    return static_cast<std::size_t>(std::ranges::lower_bound(descending, time_s, std::ranges::greater()) - descending.begin());
  };
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(measured_s[i], i); });

  OrderAgreement agreement;
  TimesAbove shorter(descending.size());  // measured
  CompensatedSum hinge_s;
  double reversed = 0;
  double tied = 0;
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin;
    for (; end < count && measured_s[order[end]] == measured_s[order[begin]]; ++end) {
      const double time_s = simulated_s[order[end]];
      const double weight = weight_of(order[end]);
      const std::size_t rank = rank_of(time_s);
      const TimesAbove::Found longer = shorter.below(rank);
      reversed += weight * longer.weight;
      tied += weight * std::max(0.0, shorter.below(rank + 1).weight - longer.weight);
      if (longer.weight > 0) hinge_s.add(weight * std::max(0.0, longer.sum_s - longer.weight * time_s));
      agreement.strict_pairs += weight * shorter.entered();
    }
    for (; begin < end; ++begin) {
      const std::size_t i = order[begin];
      shorter.enter(rank_of(simulated_s[i]), simulated_s[i], weight_of(i));
    }
  }
  agreement.hinge_sum_s = hinge_s.value();
  if (agreement.strict_pairs > 0) agreement.accuracy = 1 - (reversed + 0.5 * tied) / agreement.strict_pairs;
  return agreement;
}

double mean_absolute_percentage_error(std::span<const double> simulated_s, std::span<const double> measured_s,
                                      std::span<const double> weights) {
  check_alike(simulated_s, measured_s);
  check_weights(weights, measured_s.size());
  WEFT_CHECK(!measured_s.empty(), "a mean is of at least one error");
  CompensatedSum sum;
  CompensatedSum weight_sum;
  for (std::size_t i = 0; i < measured_s.size(); ++i) {
    WEFT_CHECK(measured_s[i] > 0, "measured times are above zero");
    const double weight = weights.empty() ? 1.0 : weights[i];
    sum.add(weight * (std::abs(simulated_s[i] - measured_s[i]) / measured_s[i]));
    weight_sum.add(weight);
  }
  return sum.value() / weight_sum.value();
}

Objective::Objective(std::vector<double> measured_s, ErrorScale scale, std::vector<double> weights)
    : measured_s_(std::move(measured_s)), weights_(std::move(weights)), scale_(scale) {
  WEFT_CHECK(!measured_s_.empty(), "there is something to hold simulated times against");
  for (const double time_s : measured_s_)
    WEFT_CHECK(std::isfinite(time_s) && time_s > 0, "measured times are finite and above zero");
  const auto [least, most] = std::ranges::minmax(measured_s_);
  range_s_ = most > least ? most - least : 1.0;
  check_weights(weights_, size());
  weights_.resize(size(), 1.0);
  CompensatedSum sum;
  for (const double weight : weights_) sum.add(weight);
  weight_sum_ = sum.value();
}

std::vector<double> Objective::residuals(std::span<const double> simulated_s) const {
  check_alike(simulated_s, measured_s_);
  std::vector<double> residuals;
  residuals.reserve(simulated_s.size());
  for (std::size_t i = 0; i < simulated_s.size(); ++i) {
    residuals.push_back(scale_ == ErrorScale::per_flow ? portable_log(std::max(simulated_s[i], time_min_s) / measured_s_[i])
                                                       : (simulated_s[i] - measured_s_[i]) / range_s_);
  }
  return residuals;
}

double Objective::value(std::span<const double> simulated_s, double lambda) const {
  const std::vector<double> errors = residuals(simulated_s);
  CompensatedSum squares;
  for (std::size_t i = 0; i < size(); ++i) squares.add(weights_[i] * square(errors[i]));
  const double error = squares.value() / weight_sum_;
  if (lambda == 0) return error;
  const OrderAgreement order = order_agreement(simulated_s, measured_s_, weights_);
  if (order.strict_pairs == 0) return error;
  return error + lambda * order.hinge_sum_s / range_s_ / order.strict_pairs;
}

double Objective::deviation(std::span<const double> simulated_s) const {
  const std::vector<double> errors = residuals(simulated_s);
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += weights_[i] * errors[i];
  const double mean = sum / weight_sum_;
  double squares = 0;
  for (std::size_t i = 0; i < size(); ++i) squares += weights_[i] * square(errors[i] - mean);
  return std::sqrt(squares / weight_sum_);
}

double Objective::plain(std::span<const double> simulated_s, double lambda_s) const {
  check_alike(simulated_s, measured_s_);
  CompensatedSum squares;
  for (std::size_t i = 0; i < size(); ++i) squares.add(weights_[i] * square(simulated_s[i] - measured_s_[i]));
  return squares.value() + lambda_s * order_agreement(simulated_s, measured_s_, weights_).hinge_sum_s;
}

}  // namespace weft
