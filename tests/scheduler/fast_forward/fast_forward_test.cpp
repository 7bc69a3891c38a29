// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fast_forward/fast_forward.hpp"

#include <gtest/gtest.h>

namespace weft::fast_forward_test {
namespace {

const JobId a(0);
const JobId b(1);

TEST(FastForward, KnowsAJobByTheIterationsOfAnEpoch) {
  FastForward forward(2, 1);
  forward.start(a, false);
  forward.begin_epoch(a, false);
  forward.add(a, Duration::us(10));
  EXPECT_FALSE(forward.knows(a));
  forward.begin_epoch(a, true);
  forward.add(a, Duration::us(90));  // under way when the epoch began
  forward.add(a, Duration::us(20));
  EXPECT_FALSE(forward.knows(a));
  forward.add(a, Duration::us(23));
  EXPECT_TRUE(forward.knows(a));
  EXPECT_EQ(forward.period(a), Duration::ticks(2'150'000));
  EXPECT_EQ(forward.report().simulated, 4U);
}

// Iterations of 20 and 24 us stand for 10 others: 4 us each. Then the period changes to 30 us: 8 us
// for the iteration around the change.
TEST(FastForward, RisksTheSpreadOfWhatItLeavesOut) {
  FastForward forward(2, 1);
  forward.start(a, false);
  forward.begin_epoch(a, false);
  forward.add(a, Duration::us(20));
  forward.add(a, Duration::us(24));
  forward.note_jump();
  forward.begin(a, forward.period(a));
  forward.skip(a, 10);
  forward.begin_epoch(a, false);
  forward.add(a, Duration::us(30));
  forward.add(a, Duration::us(30));
  forward.note_jump();
  forward.begin(a, forward.period(a));
  forward.skip(a, 30);
  forward.end(a);
  const FastForwardReport report = forward.report();
  EXPECT_EQ(report.jumps, 2U);
  EXPECT_EQ(report.skipped, 40U);
  EXPECT_EQ(report.simulated, 4U);
  EXPECT_DOUBLE_EQ(report.spread_max, 4.0 / 22);
  EXPECT_DOUBLE_EQ(report.spread_mean, 4.0 / 22 * 0.25);  // in 10 of 40
  EXPECT_NEAR(report.jct_risk_mean_s, 48e-6, 1e-15);
}

TEST(FastForward, WhoWaitsInheritsTheRisk) {
  FastForward forward(1, 2);
  forward.start(a, false);
  forward.begin_epoch(a, false);
  forward.add(a, Duration::us(20));
  forward.begin(a, forward.period(a));
  forward.skip(a, 5);
  forward.begin_epoch(a, false);
  forward.add(a, Duration::us(23));
  forward.end(a);  // 3 us
  forward.start(b, true);
  forward.end(b);
  EXPECT_NEAR(forward.report().jct_risk_mean_s, 3e-6, 1e-15);
}

// Jobs that resume one after another make several epochs of one change, which is charged once.
TEST(FastForward, ChargesAChangeOfPaceWhenTheJobIsFastForwardedAgain) {
  FastForward forward(1, 1);
  forward.start(a, false);
  forward.begin_epoch(a, false);
  forward.add(a, Duration::us(20));
  forward.begin(a, Duration::us(20));
  forward.skip(a, 5);
  forward.begin_epoch(a, false);
  forward.add(a, Duration::us(50));  // some have not resumed yet
  forward.begin_epoch(a, true);
  EXPECT_EQ(forward.estimate(a), Duration::us(20));
  forward.add(a, Duration::us(60));
  forward.add(a, Duration::us(22));
  EXPECT_EQ(forward.estimate(a), Duration::us(22));
  forward.begin(a, Duration::us(22));
  forward.skip(a, 5);
  forward.restart(a, Duration::us(7));
  forward.end(a);
  EXPECT_NEAR(forward.report().jct_risk_mean_s, 9e-6, 1e-15);
}

}  // namespace
}  // namespace weft::fast_forward_test
