// SPDX-License-Identifier: Apache-2.0
// DCQCN step by step, as the equations say, and its laziness: the same bits however often it is
// asked.
#include "host/transport/dcqcn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft::dcqcn_test {
namespace {

static_assert(!std::is_default_constructible_v<DcqcnSettings>, "the table has the only defaults");

const Bandwidth kLine = Bandwidth::gbps(100);
Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

/// As the paper deploys it on links of 40 Gb/s (section 5): hyper increase and minimum rate are
/// those of the RDMA simulators.
DcqcnSettings as_deployed() {
  DcqcnSettings settings(ParamSet("dcqcn", dcqcn_params()));
  settings.g = 1.0 / 256;
  settings.byte_counter = Bytes::of(10'000'000);
  settings.fast_recovery = 5;
  settings.hyper_after = 5;
  settings.additive_increase = {Bandwidth::bps(40'000'000)};
  settings.hyper_increase = {Bandwidth::bps(100'000'000)};
  settings.minimum_rate = {Bandwidth::bps(100'000'000)};
  settings.hyper_by_timer = false;
  settings.awaits_round_trips = false;
  return settings;
}

TEST(Dcqcn, StaysAtLineRateUntilTheFirstNotification) {
  const Dcqcn dcqcn(as_deployed());
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_sent(state, Bytes::of(1'000'000'000), at_us(1000));
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(100'000)), 100e9);
}

// Expectation: alpha = 1 halves the rate; then alpha = (1 - g) 1 + g = 1 again, and another
// notification halves it again.
TEST(Dcqcn, ANotificationCutsByHalfOfAlpha) {
  const Dcqcn dcqcn(as_deployed());
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_notification(state, {at_us(10)});
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(10)), 50e9);
  EXPECT_EQ(state.target_bps, 100e9);
  dcqcn.on_notification(state, {at_us(60)});
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(60)), 25e9);
  EXPECT_EQ(state.target_bps, 50e9);
  // 110 us later alpha has decayed twice and recovery has halved the distance to the target twice:
  // 50 - 25 / 4.
  const double alpha = std::pow(1 - 1.0 / 256, 2);
  EXPECT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(170)), 50e9 - 25e9 / 4);
  EXPECT_DOUBLE_EQ(state.alpha, alpha);
  dcqcn.on_notification(state, {at_us(170)});
  EXPECT_DOUBLE_EQ(state.rate_bps, (50e9 - 25e9 / 4) * (1 - alpha / 2));
  EXPECT_DOUBLE_EQ(state.alpha, (1 - 1.0 / 256) * alpha + 1.0 / 256);
}

// Expectation: over a round trip of 1 ms, what comes before packet 500 is acknowledged, of which
// 1,000 were sent at the cut, tells of the same queue. What comes after it cuts again. Recovery
// takes a step a round trip, of which 1 ms is one and 2.5 ms are two.
TEST(Dcqcn, AnswersAQueueOnceOverALongWay) {
  DcqcnSettings settings = as_deployed();
  settings.awaits_round_trips = true;
  const Dcqcn dcqcn(settings);
  DcqcnState state = dcqcn.begin(kLine, Duration::ms(1));
  dcqcn.on_notification(state, {at_us(0), 1'000, 10});
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(0)), 50e9);
  dcqcn.on_notification(state, {at_us(50), 1'000, 500});
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(999)), 50e9);
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(1'000)), 75e9);
  dcqcn.on_notification(state, {at_us(1'500), 1'200, 999});
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(1'999)), 75e9);
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(2'000)), 87.5e9);
  dcqcn.on_notification(state, {at_us(2'500), 1'400, 1'000});
  EXPECT_LT(dcqcn.rate_bps(state, at_us(2'500)), 45e9);
  // Where round trips are short, each counts.
  DcqcnState near = dcqcn.begin(kLine, Duration::us(10));
  dcqcn.on_notification(near, {at_us(0), 1'000, 10});
  dcqcn.on_notification(near, {at_us(50), 1'000, 500});
  EXPECT_EQ(dcqcn.rate_bps(near, at_us(50)), 25e9);
}

// Expectation, with the timer alone: four steps of fast recovery (max(t, b) = 1 to 4 < 5) halve the
// distance to the target; from the fifth on the target grows by 40 Mb/s first. No hyper increase,
// as b stays 0.
TEST(Dcqcn, RecoversFastThenIncreasesAdditively) {
  const Dcqcn dcqcn(as_deployed());
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_notification(state, {at_us(0)});
  dcqcn.on_notification(state, {at_us(1)});
  double rate = 25e9;
  double target = 50e9;
  for (int step = 1; step <= 40; ++step) {
    if (step >= 5) target += 40e6;
    rate = (rate + target) / 2;
    ASSERT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(1 + 55 * step)), rate) << step;
    ASSERT_DOUBLE_EQ(state.target_bps, target);
  }
}

// Expectation: with timer and bytes in step, min(t, b) passes 5 with the sixth of both; the target
// then grows by 100 Mb/s, 200 Mb/s ...
TEST(Dcqcn, IncreasesHyperWhenTimerAndBytesHavePassed) {
  DcqcnSettings settings = as_deployed();
  settings.byte_counter = Bytes::of(1000);
  const Dcqcn dcqcn(settings);
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_notification(state, {at_us(0)});
  dcqcn.on_notification(state, {at_us(1)});
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
  const Dcqcn dcqcn(as_deployed());
  DcqcnState state = dcqcn.begin(kLine);
  for (int i = 0; i < 50; ++i) dcqcn.on_notification(state, {at_us(i)});
  EXPECT_EQ(state.rate_bps, 100e6);
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(10'000'000)), 100e9);
  EXPECT_EQ(state.target_bps, 100e9);
}

TEST(Dcqcn, NotificationsWithinTheDecreaseIntervalDoNotCount) {
  DcqcnSettings settings = as_deployed();
  settings.decrease_interval = Duration::us(4);
  const Dcqcn dcqcn(settings);
  DcqcnState state = dcqcn.begin(kLine);
  for (const std::int64_t us : {0, 1, 3, 4, 7, 8}) dcqcn.on_notification(state, {at_us(us)});
  EXPECT_EQ(state.rate_bps, 100e9 / 8) << "those at 0, 4 and 8 us count";
}

/// As network cards have it: looks at alpha every microsecond and at the rate every four.
DcqcnSettings periodic() {
  DcqcnSettings settings = as_deployed();
  settings.is_periodic = true;
  settings.alpha_interval = Duration::us(1);
  settings.decrease_interval = Duration::us(4);
  settings.rate_interval = Duration::us(300);
  settings.byte_counter = Bytes::zero();
  settings.fast_recovery = 2;
  settings.hyper_after = 2;
  settings.hyper_by_timer = true;
  settings.hyper_grows = false;
  return settings;
}

// Expectation: the first notification, at 10 us, is seen in the rate at 14 us, when alpha has
// decayed four times. Those at 14.5 and 15.5 us are seen in alpha at 15 and 16 us, and as one in
// the rate at 18 us.
TEST(Dcqcn, PeriodicLooksSeeNotificationsWhenTimeComes) {
  const Dcqcn dcqcn(periodic());
  DcqcnState state = dcqcn.begin(kLine);
  const double keep = 1 - 1.0 / 256;
  dcqcn.on_notification(state, {at_us(10)});
  EXPECT_EQ(dcqcn.rate_bps(state, at_us(14) - Duration::ticks(1)), 100e9);
  double alpha = std::pow(keep, 4);
  double rate = 100e9 * (1 - alpha / 2);
  EXPECT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(14)), rate);
  dcqcn.on_notification(state, {at_us(14) + Duration::ns(500)});
  dcqcn.on_notification(state, {at_us(15) + Duration::ns(500)});
  for (int up = 0; up < 2; ++up) alpha = keep * alpha + 1.0 / 256;
  alpha *= keep * keep;
  EXPECT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(18) - Duration::ticks(1)), rate);
  EXPECT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(18)), rate * (1 - alpha / 2));
  EXPECT_DOUBLE_EQ(state.target_bps, rate);
}

// Expectation, by the timer alone: the first increase recovers, the second adds 40 Mb/s, and each
// further one 100 Mb/s.
TEST(Dcqcn, PeriodicIncreasesByTimeAlone) {
  const Dcqcn dcqcn(periodic());
  DcqcnState state = dcqcn.begin(kLine);
  dcqcn.on_notification(state, {at_us(0)});
  dcqcn.on_notification(state, {at_us(5)});
  dcqcn.rate_bps(state, at_us(8));
  double rate = state.rate_bps;
  double target = state.target_bps;
  ASSERT_LT(target, 60e9);
  for (int step = 1; step <= 6; ++step) {
    target += step == 1 ? 0 : step == 2 ? 40e6 : 100e6;
    rate = (rate + target) / 2;
    ASSERT_DOUBLE_EQ(dcqcn.rate_bps(state, at_us(8 + 300 * step)), rate) << step;
    ASSERT_DOUBLE_EQ(state.target_bps, target);
  }
}

// Expectation: at 400 Gb/s a share of 0.1 % adds ten times the 40 Mb/s that it adds at 40 Gb/s.
TEST(Dcqcn, StepsMayBeSharesOfTheLine) {
  DcqcnSettings settings = as_deployed();
  settings.fast_recovery = 1;
  settings.additive_increase = {Bandwidth::bps(0), 0.001};
  for (const std::int64_t gbps : {40, 400}) {
    const Dcqcn dcqcn(settings);
    DcqcnState state = dcqcn.begin(Bandwidth::gbps(gbps));
    dcqcn.on_notification(state, {at_us(0)});
    dcqcn.on_notification(state, {at_us(1)});
    const double target = state.target_bps;
    dcqcn.rate_bps(state, at_us(56));
    EXPECT_DOUBLE_EQ(state.target_bps - target, 1e6 * static_cast<double>(gbps));
  }
}

// Expectation: asking in between changes nothing, to the bit.
TEST(Dcqcn, IsTheSameHoweverOftenItIsAsked) {
  for (const DcqcnSettings& settings : {as_deployed(), periodic()}) {
    const Dcqcn dcqcn(settings);
    DcqcnState seldom = dcqcn.begin(kLine);
    DcqcnState often = dcqcn.begin(kLine);
    RandomStream random(5, 0, 0);
    Time now;
    for (int round = 0; round < 2000; ++round) {
      const Time next = now + Duration::ns(static_cast<std::int64_t>(random.below(400'000)));
      for (Time t = now; t < next; t = t + Duration::us(7)) dcqcn.rate_bps(often, t);
      now = next;
      if (random.below(4) == 0) {
        dcqcn.on_notification(seldom, {now});
        dcqcn.on_notification(often, {now});
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
}

TEST(Dcqcn, RefusesSettingsThatMeanNothing) {
  DcqcnSettings settings = as_deployed();
  settings.g = 0;
  EXPECT_THROW(Dcqcn{settings}, CheckFailure);
  settings = as_deployed();
  settings.rate_interval = Duration::zero();
  EXPECT_THROW(Dcqcn{settings}, CheckFailure);
  settings = periodic();
  settings.decrease_interval = Duration::zero();
  EXPECT_THROW(Dcqcn{settings}, CheckFailure);
}

}  // namespace
}  // namespace weft::dcqcn_test
