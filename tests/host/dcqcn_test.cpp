// DCQCN step by step, as the equations say, and its laziness: the same bits however often it is asked.
#include "host/dcqcn.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/check.hpp"
#include "core/random.hpp"

namespace weft {
namespace {

const Bandwidth kLine = Bandwidth::gbps(100);
Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

TEST(Dcqcn, StaysAtLineRateUntilTheFirstNotification) {
  const Dcqcn dcqcn({});
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_sent(state, Bytes::of(1'000'000'000), at_us(1000));
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(100'000)), 100e9);
}

// Expectation: alpha = 1 halves the rate; then alpha = (1 - g) 1 + g = 1 again, and another notification halves it again.
TEST(Dcqcn, ANotificationCutsByHalfOfAlpha) {
  const Dcqcn dcqcn({});
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_notification(state, at_us(10));
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(10)), 50e9);
  EXPECT_EQ(state.target_bps, 100e9);
  dcqcn.on_notification(state, at_us(60));
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(60)), 25e9);
  EXPECT_EQ(state.target_bps, 50e9);
  // 110 us later alpha has decayed twice and recovery has halved the distance to the target twice: 50 - 25 / 4.
  const double alpha = std::pow(1 - 1.0 / 256, 2);
  EXPECT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(170)), 50e9 - 25e9 / 4);
  EXPECT_DOUBLE_EQ(state.alpha, alpha);
  dcqcn.on_notification(state, at_us(170));
  EXPECT_DOUBLE_EQ(state.rate_bps, (50e9 - 25e9 / 4) * (1 - alpha / 2));
  EXPECT_DOUBLE_EQ(state.alpha, (1 - 1.0 / 256) * alpha + 1.0 / 256);
}

// Expectation, with the timer alone: four steps of fast recovery (max(t, b) = 1 to 4 < 5) halve the distance to the target; from the fifth on the
// target grows by 40 Mb/s first. No hyper increase, as b stays 0.
TEST(Dcqcn, RecoversFastThenIncreasesAdditively) {
  const Dcqcn dcqcn({});
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_notification(state, at_us(0));
  dcqcn.on_notification(state, at_us(1));
  double rate = 25e9;
  double target = 50e9;
  for (int step = 1; step <= 40; ++step) {
    if (step >= 5) target += 40e6;
    rate = (rate + target) / 2;
    ASSERT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(1 + 55 * step)), rate) << step;
    ASSERT_DOUBLE_EQ(state.target_bps, target);
  }
}

// Expectation: with timer and bytes in step, min(t, b) passes 5 with the sixth of both; the target then grows by 100 Mb/s, 200 Mb/s ...
TEST(Dcqcn, IncreasesHyperWhenTimerAndBytesHavePassed) {
  DcqcnSettings settings;
  settings.byte_counter = Bytes::of(1000);
  const Dcqcn dcqcn(settings);
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_notification(state, at_us(0));
  dcqcn.on_notification(state, at_us(1));
  double target = 50e9;
  for (int step = 1; step <= 9; ++step) {
    const Time now = at_us(1 + 55 * step);
    // The timer first: (t, b) = (step, step - 1), then the bytes: (step, step).
    if (step - 1 > 5)
      target += 100e6 * (step - 6);
    else if (step >= 5)
      target += 40e6;
    dcqcn.rate_bps(state, now);
    ASSERT_DOUBLE_EQ(state.target_bps, target) << step;
    if (step > 5)
      target += 100e6 * (step - 5);
    else if (step >= 5)
      target += 40e6;
    dcqcn.on_sent(state, Bytes::of(1000), now);
    ASSERT_DOUBLE_EQ(state.target_bps, target) << step;
  }
}

TEST(Dcqcn, StaysBetweenMinimumAndLineRate) {
  const Dcqcn dcqcn({});
  DcqcnState state = dcqcn.begin(kLine);
  for (int i = 0; i < 50; ++i) dcqcn.on_notification(state, at_us(i));
  EXPECT_EQ(state.rate_bps, 100e6);
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(10'000'000)), 100e9);
  EXPECT_EQ(state.target_bps, 100e9);
}

TEST(Dcqcn, NotificationsWithinTheDecreaseIntervalDoNotCount) {
  DcqcnSettings settings;
  settings.decrease_interval = Duration::us(4);
  const Dcqcn dcqcn(settings);
  DcqcnState state = dcqcn.begin(kLine);
  for (const std::int64_t us : {0, 1, 3, 4, 7, 8}) dcqcn.on_notification(state, at_us(us));
  EXPECT_EQ(state.rate_bps, 100e9 / 8) << "those at 0, 4 and 8 us count";
}

// Expectation: asking in between changes nothing, to the bit.
TEST(Dcqcn, IsTheSameHoweverOftenItIsAsked) {
  const Dcqcn dcqcn({});
  DcqcnState seldom = dcqcn.begin(kLine);
  DcqcnState often = dcqcn.begin(kLine);
  RandomStream random(5, 0, 0);
  Time now;
  for (int round = 0; round < 2000; ++round) {
    const Time next = now + Duration::ns(static_cast<std::int64_t>(random.below(400'000)));
    for (Time t = now; t < next; t = t + Duration::us(7)) dcqcn.rate_bps(often, t);
    now = next;
    if (random.below(4) == 0) {
      dcqcn.on_notification(seldom, now);
      dcqcn.on_notification(often, now);
    } else {
      const Bytes bytes = Bytes::of(static_cast<std::int64_t>(random.below(3'000'000)));
      dcqcn.on_sent(seldom, bytes, now);
      dcqcn.on_sent(often, bytes, now);
    }
    ASSERT_EQ(dcqcn.rate_bps(seldom, now), dcqcn.rate_bps(often, now));
    ASSERT_EQ(seldom.target_bps, often.target_bps);
    ASSERT_EQ(seldom.alpha, often.alpha);
  }
}

TEST(Dcqcn, RefusesSettingsThatMeanNothing) {
  DcqcnSettings settings;
  settings.g = 0;
  EXPECT_THROW(Dcqcn{settings}, CheckFailure);
  settings = {};
  settings.rate_interval = Duration::zero();
  EXPECT_THROW(Dcqcn{settings}, CheckFailure);
}

}  // namespace
}  // namespace weft
