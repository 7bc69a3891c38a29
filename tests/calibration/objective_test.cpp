// SPDX-License-Identifier: Apache-2.0
#include "calibration/objective.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::objective_test {

namespace {

/// The definition, pair by pair.
OrderAgreement naive_agreement(const std::vector<double>& simulated, const std::vector<double>& measured,
                               const std::vector<double>& weights) {
  OrderAgreement agreement;
  double in_order = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = 0; j < measured.size(); ++j) {
      if (measured[i] >= measured[j]) continue;
      const double weight = weights[i] * weights[j];
      agreement.strict_pairs += weight;
      agreement.hinge_sum_s += weight * std::max(0.0, simulated[i] - simulated[j]);
      in_order += simulated[i] < simulated[j] ? weight : simulated[i] == simulated[j] ? 0.5 * weight : 0.0;
    }
  }
  if (agreement.strict_pairs > 0) agreement.accuracy = in_order / agreement.strict_pairs;
  return agreement;
}

/// Measured times, what is simulated for them, and weights.
struct Times {
  std::vector<double> measured;
  std::vector<double> simulated;
  std::vector<double> weights;
};

/// Few different values in every other round, so that many are equal.
Times random_times(std::uint32_t round) {
  RandomStream random(7, round, 0);
  const auto count = static_cast<std::size_t>(random.below(80));
  const double grain = round % 2 == 0 ? 0.25 : 1e-9;
  Times times;
  for (std::size_t i = 0; i < count; ++i) {
    times.measured.push_back(std::round((1 + 3 * random.uniform()) / grain) * grain);
    times.simulated.push_back(std::round((times.measured.back() + random.uniform() - 0.5) / grain) * grain);
    times.weights.push_back(1 + static_cast<double>(random.below(4)));
  }
  return times;
}

}  // namespace

// Errors are 1, 1, 0, 1, 1, so their squares sum to 4. Of the pairs, (2, 1) is out of order by 2 -
// 1 and (4, 5) by 5 - 4: together 2, times lambda 0.5 is 1.
TEST(Objective, TheWorkedExampleComesToFive) {
  const Objective objective({2, 1, 3, 4, 5}, ErrorScale::per_flow);
  EXPECT_DOUBLE_EQ(objective.plain(std::vector<double>{1, 2, 3, 5, 4}, 0.5), 5.0);
  const OrderAgreement order = order_agreement(std::vector<double>{1, 2, 3, 5, 4}, objective.measured_s());
  EXPECT_EQ(order.strict_pairs, 10);
  EXPECT_DOUBLE_EQ(order.hinge_sum_s, 2.0);
  EXPECT_DOUBLE_EQ(order.accuracy, 0.8);
}

// By range, errors are divided by 5 - 1: (4 x 1/16)/5 = 0.05; the hinges of 2 over 4 on 10 pairs
// are 0.05, half of which counts.
TEST(Objective, ValueIsNormalisedByFlowsAndByPairs) {
  const std::vector<double> simulated{1, 2, 3, 5, 4};
  EXPECT_DOUBLE_EQ(Objective({2, 1, 3, 4, 5}, ErrorScale::range).value(simulated, 0.5), 0.05 + 0.025);
  // per flow: twice ln 2, once ln 5/4 and ln 4/5
  const double squares = 2 * std::pow(std::log(2), 2) + 2 * std::pow(std::log(1.25), 2);
  EXPECT_NEAR(Objective({2, 1, 3, 4, 5}, ErrorScale::per_flow).value(simulated, 0), squares / 5, 1e-15);
}

TEST(Objective, PairsOfEqualMeasuredTimesDoNotCount) {
  const OrderAgreement order = order_agreement(std::vector<double>{3, 1, 2}, std::vector<double>{1, 1, 1});
  EXPECT_EQ(order.strict_pairs, 0);
  EXPECT_EQ(order.hinge_sum_s, 0);
  EXPECT_EQ(order.accuracy, 1);
  EXPECT_EQ(Objective({1, 1, 1}, ErrorScale::range).value(std::vector<double>{1, 1, 1}, 5), 0);
}

TEST(Objective, EqualSimulatedTimesAreHalfInOrder) {
  EXPECT_EQ(order_agreement(std::vector<double>{1, 1}, std::vector<double>{1, 2}).accuracy, 0.5);
}

TEST(Objective, FastSumIsTheNaiveOneOnRandomTimes) {
  for (std::uint32_t round = 0; round < 300; ++round) {
    const Times times = random_times(round);
    const std::vector<double> alike(times.measured.size(), 1.0);
    std::vector<double> uneven = times.weights;
    for (double& weight : uneven) weight *= 0.3;
    for (const std::vector<double>& weights : {alike, times.weights, uneven}) {
      const OrderAgreement naive = naive_agreement(times.simulated, times.measured, weights);
      const OrderAgreement fast = order_agreement(times.simulated, times.measured, weights);
      EXPECT_NEAR(fast.strict_pairs, naive.strict_pairs, 1e-12 * naive.strict_pairs);
      EXPECT_NEAR(fast.hinge_sum_s, naive.hinge_sum_s, 1e-12 * (1 + naive.hinge_sum_s));
      EXPECT_NEAR(fast.accuracy, naive.accuracy, 1e-12);
    }
  }
}

TEST(Objective, AWeightIsHowOftenATimeStandsInTheList) {
  for (std::uint32_t round = 0; round < 100; ++round) {
    const Times times = random_times(round);
    if (times.measured.empty()) continue;
    Times repeated;
    for (std::size_t i = 0; i < times.measured.size(); ++i) {
      for (int copy = 0; copy < times.weights[i]; ++copy) {
        repeated.measured.push_back(times.measured[i]);
        repeated.simulated.push_back(times.simulated[i]);
      }
    }
    for (const ErrorScale scale : {ErrorScale::per_flow, ErrorScale::range}) {
      const Objective weighted(times.measured, scale, times.weights);
      const Objective longer(repeated.measured, scale);
      for (const double lambda : {0.0, 0.7}) {
        EXPECT_NEAR(weighted.value(times.simulated, lambda), longer.value(repeated.simulated, lambda), 1e-12);
        EXPECT_NEAR(weighted.plain(times.simulated, lambda), longer.plain(repeated.simulated, lambda),
                    1e-12 * (1 + longer.plain(repeated.simulated, lambda)));
      }
      EXPECT_NEAR(weighted.deviation(times.simulated), longer.deviation(repeated.simulated), 1e-12);
    }
    EXPECT_NEAR(mean_absolute_percentage_error(times.simulated, times.measured, times.weights),
                mean_absolute_percentage_error(repeated.simulated, repeated.measured), 1e-12);
  }
}

TEST(Objective, WeightsOfOneChangeNoBit) {
  for (std::uint32_t round = 0; round < 100; ++round) {
    const Times times = random_times(round);
    if (times.measured.empty()) continue;
    const std::vector<double> ones(times.measured.size(), 1.0);
    const Objective with(times.measured, ErrorScale::per_flow, ones);
    const Objective without(times.measured, ErrorScale::per_flow);
    EXPECT_EQ(with.value(times.simulated, 0.7), without.value(times.simulated, 0.7));
    EXPECT_EQ(order_agreement(times.simulated, times.measured, ones).hinge_sum_s,
              order_agreement(times.simulated, times.measured).hinge_sum_s);
    EXPECT_EQ(mean_absolute_percentage_error(times.simulated, times.measured, ones),
              mean_absolute_percentage_error(times.simulated, times.measured));
  }
}

TEST(Objective, TimesInOrderHaveNoPenaltyAtAll) {
  RandomStream random(3, 0, 0);
  std::vector<double> measured;
  std::vector<double> simulated;
  for (int i = 0; i < 500; ++i) {
    measured.push_back(1e-6 * (1 + random.uniform()));
    simulated.push_back(2.7 * measured.back() + 0.1);
  }
  EXPECT_EQ(order_agreement(simulated, measured).hinge_sum_s, 0);
}

TEST(Objective, PercentageErrorIsOfTheMeasured) {
  EXPECT_DOUBLE_EQ(mean_absolute_percentage_error(std::vector<double>{1.1, 1.5}, std::vector<double>{1, 2}), (0.1 + 0.25) / 2);
}

TEST(Objective, WhatIsNoMeasurementIsRefused) {
  EXPECT_THROW(Objective({}, ErrorScale::range), CheckFailure);
  EXPECT_THROW(Objective({1, 0}, ErrorScale::range), CheckFailure);
  EXPECT_THROW(Objective({1, std::nan("")}, ErrorScale::range), CheckFailure);
  EXPECT_THROW(order_agreement(std::vector<double>{1}, std::vector<double>{1, 2}), CheckFailure);
  EXPECT_THROW(Objective({1, 2}, ErrorScale::range, {1}), CheckFailure);
  EXPECT_THROW(Objective({1, 2}, ErrorScale::range, {1, 0}), CheckFailure);
}

}  // namespace weft::objective_test
