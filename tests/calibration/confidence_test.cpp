// SPDX-License-Identifier: Apache-2.0
#include "calibration/confidence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "calibration/objective.hpp"
#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::confidence_test {

namespace {

using Scale = FitParameter::Scale;

/// Times of 60 messages: a + size / (b x 50 GB/s).
std::vector<double> latency_and_rate(const FitPoint& at) {
  std::vector<double> times_s;
  for (int i = 0; i < 60; ++i) times_s.push_back(at[0] + 1e3 * std::pow(1.2, i) / (at[1] * 50e9));
  return times_s;
}

using Model = std::vector<double> (*)(const FitPoint&);

std::vector<double> measured(Model model, const FitPoint& truth, double noise, std::uint32_t entity) {
  RandomStream random(5, entity, 0);
  std::vector<double> times_s = model(truth);
  for (double& time_s : times_s) time_s *= 1 + noise * random.normal(0, 1);
  return times_s;
}

ErrorsAt errors_against(const Objective& objective, Model model) {
  return [&objective, model](std::span<const FitPoint> points) {
    std::vector<PointErrors> all;
    for (const FitPoint& point : points) {
      const std::vector<double> times_s = model(point);
      all.push_back({objective.residuals(times_s), static_cast<double>(objective.size()) * objective.value(times_s, 0)});
    }
    return all;
  };
}

const std::vector<FitParameter> two = {{"latency", 0, 20e-6, 5e-6, Scale::linear, 0}, {"efficiency", 0.3, 1, 1, Scale::linear, 0}};
const FitPoint truth = {2e-6, 0.9};

}  // namespace

TEST(Confidence, LinesLeadFromNearbyToTheBest) {
  const Objective objective(latency_and_rate(truth), ErrorScale::per_flow);
  const ConfidenceResult found = find_confidence(two, {2.3e-6, 0.87}, errors_against(objective, latency_and_rate));
  EXPECT_NEAR(found.best[0], truth[0], 1e-3 * truth[0]);
  EXPECT_NEAR(found.best[1], truth[1], 1e-3 * truth[1]);
}

// In 200 repetitions a 95 % interval holds the truth 190 times on average, with a standard
// deviation of 3; less than 180 would be off by more than three of these.
TEST(Confidence, IntervalsHoldTheTruthAsOftenAsTheySay) {
  for (const double noise : {0.005, 0.02, 0.05}) {
    std::array<int, 2> covered{};
    for (std::uint32_t i = 0; i < 200; ++i) {
      const Objective objective(measured(latency_and_rate, truth, noise, i), ErrorScale::per_flow);
      const ConfidenceResult found = find_confidence(two, truth, errors_against(objective, latency_and_rate));
      for (std::size_t p = 0; p < 2; ++p)
        covered[p] += found.parameters[p].low <= truth[p] && truth[p] <= found.parameters[p].high ? 1 : 0;
    }
    for (const int times : covered) {
      EXPECT_GE(times, 180) << noise;
      EXPECT_LE(times, 199) << noise;
    }
  }
}

// T = a x with factors of noise: ln T - ln M is ln a - ln a_i, so that ln a is the mean of the ln
// a_i and its interval that of a mean, +- t s / sqrt(n).
TEST(Confidence, IsStudentsIntervalForAMean) {
  static constexpr int n = 20;
  const auto model = [](const FitPoint& at) {
    std::vector<double> times_s;
    for (int i = 1; i <= n; ++i) times_s.push_back(at[0] * i);
    return times_s;
  };
  const std::vector<FitParameter> one = {{"a", 0, 2, 1, Scale::linear, 0}};
  RandomStream random(5, 77, 0);
  std::vector<double> times_s;
  double sum = 0;
  double squares = 0;
  for (int i = 1; i <= n; ++i) {
    const double factor = 0.02 * random.normal(0, 1);
    times_s.push_back(i * std::exp(factor));
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / n;
  const double deviation = std::sqrt((squares - n * mean * mean) / (n - 1));
  const double half = 2.093 * deviation / std::sqrt(n);  // Student's t of 19 degrees, 97.5 %
  const Objective objective(times_s, ErrorScale::per_flow);
  const ConfidenceResult found = find_confidence(one, {1}, errors_against(objective, model));
  EXPECT_NEAR(found.best[0], std::exp(mean), 0.01 * half);
  // A standard deviation of a thousand samples is known to 1 / sqrt(2 x 1000) = 2.2 %.
  EXPECT_NEAR(found.parameters[0].low, std::exp(mean - half), 0.07 * half);
  EXPECT_NEAR(found.parameters[0].high, std::exp(mean + half), 0.07 * half);
  EXPECT_TRUE(found.parameters[0].is_identified);
}

// The same with weights w: ln a is the weighted mean m, and the bootstrap's variance of it is the
// sum of w^2 (ln a_i - m)^2 over the square of that of w.
TEST(Confidence, WeightsMakeItThatOfAWeightedMean) {
  static constexpr int n = 60;
  const auto model = [](const FitPoint& at) {
    std::vector<double> times_s;
    for (int i = 1; i <= n; ++i) times_s.push_back(at[0] * i);
    return times_s;
  };
  const std::vector<FitParameter> one = {{"a", 0, 2, 1, Scale::linear, 0}};
  RandomStream random(5, 78, 0);
  std::vector<double> times_s;
  std::vector<double> logs;
  std::vector<double> weights;
  double mean = 0;
  double weight_sum = 0;
  for (int i = 1; i <= n; ++i) {
    logs.push_back((i % 3 == 0 ? 0.05 : 0) + 0.02 * random.normal(0, 1));
    weights.push_back(i % 3 == 0 ? 4 : 1);
    times_s.push_back(i * std::exp(logs.back()));
    mean += weights.back() * logs.back();
    weight_sum += weights.back();
  }
  mean /= weight_sum;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += std::pow(weights[i] * (logs[i] - mean), 2);
  const double half = 2.001 * std::sqrt(squares * n / (n - 1)) / weight_sum;  // 59 degrees
  const Objective objective(times_s, ErrorScale::per_flow, weights);
  const ConfidenceResult found = find_confidence(one, {1}, errors_against(objective, model), {}, weights);
  EXPECT_NEAR(found.best[0], std::exp(mean), 0.01 * half);
  EXPECT_NEAR(found.parameters[0].low, std::exp(mean - half), 0.1 * half);
  EXPECT_NEAR(found.parameters[0].high, std::exp(mean + half), 0.1 * half);
}

// Only a + b counts: neither is known. A third has no effect at all. c is.
TEST(Confidence, NamesWhatTheDataCannotTell) {
  const auto model = [](const FitPoint& at) {
    std::vector<double> times_s;
    for (int i = 1; i <= 30; ++i) times_s.push_back(at[0] + at[1] + i * at[3]);
    return times_s;
  };
  const std::vector<FitParameter> four = {{"a", 0, 10, 1, Scale::linear, 0},
                                          {"b", 0, 10, 1, Scale::linear, 0},
                                          {"nothing", 0, 1, 0.5, Scale::linear, 0},
                                          {"c", 0, 2, 1, Scale::linear, 0}};
  const FitPoint best = {1, 2, 0.5, 1};
  RandomStream random(5, 78, 0);
  std::vector<double> times_s = model(best);
  for (double& time_s : times_s) time_s *= 1 + 0.01 * random.normal(0, 1);
  const Objective objective(times_s, ErrorScale::per_flow);
  const ConfidenceResult found = find_confidence(four, best, errors_against(objective, model));
  for (std::size_t i : {0U, 1U, 2U}) {
    EXPECT_TRUE(found.parameters[i].is_free) << four[i].name;
    EXPECT_FALSE(found.parameters[i].is_identified) << four[i].name;
    EXPECT_EQ(found.parameters[i].low, four[i].minimum);
    EXPECT_EQ(found.parameters[i].high, four[i].maximum);
  }
  EXPECT_FALSE(found.parameters[3].is_free);
  EXPECT_TRUE(found.parameters[3].is_identified);
}

// Times with jumps of 3 % that a step of a thousandth of the value moves somewhere else, as of
// flows that meet others here and not there. Intervals hold the truth all the same: 17 of 20 or
// fewer have a probability of 7.5 % at 95 %, 15 or fewer of 0.03 %.
TEST(Confidence, JumpsAreNoInformation) {
  const auto model = [](const FitPoint& at) {
    std::vector<double> times_s = latency_and_rate(at);
    const auto cell = static_cast<std::uint32_t>(at[0] * 1e9 / 2);
    for (std::size_t i = 0; i < times_s.size(); i += 2) {
      RandomStream random(9, static_cast<std::uint32_t>(i), cell);
      times_s[i] *= 1 + 0.03 * random.normal(0, 1);
    }
    return times_s;
  };
  int covered = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Objective objective(measured(latency_and_rate, truth, 0.02, 300 + i), ErrorScale::per_flow);
    // The luckiest of a hundred points around the truth, as a search would take it.
    const ErrorsAt errors_at = errors_against(objective, model);
    FitPoint best = truth;
    double least = std::numeric_limits<double>::infinity();
    for (int k = -50; k < 50; ++k) {
      const FitPoint point = {truth[0] * (1 + 0.001 * k), truth[1]};
      const double cost = errors_at(std::span(&point, 1)).front().cost;
      if (cost < least) best = point;
      least = std::min(cost, least);
    }
    const Confidence found = find_confidence(two, best, errors_at).parameters[0];
    covered += found.low <= truth[0] && truth[0] <= found.high ? 1 : 0;
  }
  EXPECT_GE(covered, 16);
}

// An efficiency of 1 cannot be exceeded: the interval ends there.
TEST(Confidence, IntervalsEndWithTheRange) {
  const Objective objective(measured(latency_and_rate, {2e-6, 1}, 0.02, 3), ErrorScale::per_flow);
  const ConfidenceResult found = find_confidence(two, {2e-6, 1}, errors_against(objective, latency_and_rate));
  EXPECT_EQ(found.parameters[1].high, 1);
  EXPECT_LT(found.parameters[1].low, 1);
}

TEST(Confidence, NeedsMoreTimesThanParameters) {
  const auto model = [](const FitPoint& at) { return std::vector<double>{at[0], at[1]}; };
  const Objective objective({1e-6, 0.5}, ErrorScale::per_flow);
  EXPECT_THROW(find_confidence(two, {1e-6, 0.5}, errors_against(objective, model)), CheckFailure);
}

}  // namespace weft::confidence_test
