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
OrderAgreement naive_agreement(const std::vector<double>& simulated, const std::vector<double>& measured) {
  OrderAgreement agreement;
  double in_order = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = 0; j < measured.size(); ++j) {
      if (measured[i] >= measured[j]) continue;
      ++agreement.strict_pairs;
      agreement.hinge_sum_s += std::max(0.0, simulated[i] - simulated[j]);
      in_order += simulated[i] < simulated[j] ? 1.0 : simulated[i] == simulated[j] ? 0.5 : 0.0;
    }
  }
  if (agreement.strict_pairs > 0) agreement.accuracy = in_order / static_cast<double>(agreement.strict_pairs);
  return agreement;
}

}  // namespace

// Errors are 1, 1, 0, 1, 1, so their squares sum to 4. Of the pairs, (2, 1) is out of order by 2 -
// 1 and (4, 5) by 5 - 4: together 2, times lambda 0.5 is 1.
TEST(Objective, TheWorkedExampleComesToFive) {
  const Objective objective({2, 1, 3, 4, 5}, ErrorScale::per_flow);
  EXPECT_DOUBLE_EQ(objective.plain(std::vector<double>{1, 2, 3, 5, 4}, 0.5), 5.0);
  const OrderAgreement order = order_agreement(std::vector<double>{1, 2, 3, 5, 4}, objective.measured_s());
  EXPECT_EQ(order.strict_pairs, 10U);
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
  EXPECT_EQ(order.strict_pairs, 0U);
  EXPECT_EQ(order.hinge_sum_s, 0);
  EXPECT_EQ(order.accuracy, 1);
  EXPECT_EQ(Objective({1, 1, 1}, ErrorScale::range).value(std::vector<double>{1, 1, 1}, 5), 0);
}

TEST(Objective, EqualSimulatedTimesAreHalfInOrder) {
  EXPECT_EQ(order_agreement(std::vector<double>{1, 1}, std::vector<double>{1, 2}).accuracy, 0.5);
}

TEST(Objective, FastSumIsTheNaiveOneOnRandomTimes) {
  for (std::uint32_t round = 0; round < 300; ++round) {
    RandomStream random(7, round, 0);
    const auto count = static_cast<std::size_t>(random.below(80));
    // Few different values in every other round, so that many are equal.
    const double grain = round % 2 == 0 ? 0.25 : 1e-9;
    std::vector<double> simulated;
    std::vector<double> measured;
    for (std::size_t i = 0; i < count; ++i) {
      measured.push_back(std::round((1 + 3 * random.uniform()) / grain) * grain);
      simulated.push_back(std::round((measured.back() + random.uniform() - 0.5) / grain) * grain);
    }
    const OrderAgreement naive = naive_agreement(simulated, measured);
    const OrderAgreement fast = order_agreement(simulated, measured);
    EXPECT_EQ(fast.strict_pairs, naive.strict_pairs);
    EXPECT_NEAR(fast.hinge_sum_s, naive.hinge_sum_s, 1e-12 * (1 + naive.hinge_sum_s));
    EXPECT_NEAR(fast.accuracy, naive.accuracy, 1e-12);
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
}

}  // namespace weft::objective_test
