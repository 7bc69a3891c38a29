// SPDX-License-Identifier: Apache-2.0
// HPCC step by step, as its algorithm says.
#include "host/transport/hpcc.hpp"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>

#include "core/check.hpp"

namespace weft::hpcc_test {
namespace {

static_assert(!std::is_default_constructible_v<HpccSettings>, "the table has the only defaults");

// 100 Gb/s and 8 us: 100,000 bytes in a round trip; W_AI = 100,000 x 0.05 / 16 = 312.5.
const QueuePairLimits kLimits{Bandwidth::gbps(100), Duration::us(8), Bytes::of(1000), 200'000, 1};
constexpr double kIncrease = 312.5;

/// A port of 100 Gb/s that sent so much by then, and so much waits.
HopTelemetry hop(Duration at, std::uint64_t sent, std::int64_t queue) {
  return {Time::zero() + at, sent, Bandwidth::gbps(100), queue};
}

Acknowledgement answer(std::uint64_t acknowledged, std::uint64_t next, std::span<const HopTelemetry> before,
                       std::span<const HopTelemetry> now) {
  Acknowledgement made;
  made.bytes = 1000;
  made.acknowledged = acknowledged;
  made.next = next;
  made.hops_before = before;
  made.hops = now;
  return made;
}

HpccSettings defaults() { return HpccSettings(ParamSet("hpcc", hpcc_params())); }

TEST(Hpcc, BeginsWithARoundTripOfTheLine) {
  const HpccState state = Hpcc(defaults()).begin(kLimits);
  EXPECT_EQ(state.window, 100'000);
  EXPECT_EQ(Hpcc::window(state), 100'000);
  EXPECT_EQ(Hpcc::rate_bps(state), 100e9);
}

// Expectation: over 8 us the port sent 100,000 bytes, its whole rate, and at least 50,000 waited,
// half a round trip's: U = 1.5 as tau = T. Hence W = 100,000 / (1.5 / 0.95) + W_AI; and a second
// answer before a round trip is over starts from 100,000 again, not from that.
TEST(Hpcc, DividesByTheLoadOncePerRoundTrip) {
  const Hpcc hpcc(defaults());
  HpccState state = hpcc.begin(kLimits);
  const std::array<HopTelemetry, 1> first{hop(Duration::us(0), 0, 50'000)};
  const std::array<HopTelemetry, 1> second{hop(Duration::us(8), 100'000, 60'000)};
  const std::array<HopTelemetry, 1> third{hop(Duration::us(16), 200'000, 50'000)};
  state.step_at = 100;
  hpcc.on_acknowledged(state, answer(50, 150, first, second));
  EXPECT_DOUBLE_EQ(state.load, 1.5);
  EXPECT_DOUBLE_EQ(state.window, 100'000 / (1.5 / 0.95) + kIncrease);
  EXPECT_EQ(state.reference, 100'000);
  hpcc.on_acknowledged(state, answer(101, 160, second, third));
  EXPECT_DOUBLE_EQ(state.window, 100'000 / (1.5 / 0.95) + kIncrease);
  EXPECT_EQ(state.reference, state.window);
  EXPECT_EQ(state.step_at, 160U);
}

// Expectation: with half of a port used, five round trips add W_AI each; the sixth multiplies by
// 0.95 / 0.5.
TEST(Hpcc, AddsForSomeRoundTripsThenMultiplies) {
  const Hpcc hpcc(defaults());
  HpccState state = hpcc.begin(kLimits);
  state.window = state.reference = 20'000;
  state.load = 0.5;
  std::array<HopTelemetry, 1> before{hop(Duration::us(0), 0, 0)};
  for (int trip = 1; trip <= 6; ++trip) {
    const std::array<HopTelemetry, 1> now{hop(Duration::us(8 * trip), static_cast<std::uint64_t>(50'000 * trip), 0)};
    hpcc.on_acknowledged(state,
                         answer(static_cast<std::uint64_t>(100 * trip), static_cast<std::uint64_t>(100 * trip + 50), before, now));
    before = now;
    if (trip <= 5) {
      ASSERT_DOUBLE_EQ(state.window, 20'000 + trip * kIncrease) << trip;
    }
  }
  EXPECT_DOUBLE_EQ(state.window, (20'000 + 5 * kIncrease) / (0.5 / 0.95) + kIncrease);
}

// Expectation: what spans a quarter of a round trip moves U by a quarter of the way to the busiest
// port's load.
TEST(Hpcc, LoadIsThatOfTheBusiestPortOverARoundTrip) {
  const Hpcc hpcc(defaults());
  HpccState state = hpcc.begin(kLimits);
  const std::array<HopTelemetry, 2> first{hop(Duration::us(0), 0, 0), hop(Duration::us(0), 0, 100'000)};
  const std::array<HopTelemetry, 2> second{hop(Duration::us(2), 25'000, 0), hop(Duration::us(2), 25'000, 100'000)};
  hpcc.on_acknowledged(state, answer(1, 2, first, second));
  EXPECT_DOUBLE_EQ(state.load, 0.75 * 1 + 0.25 * 2);
}

TEST(Hpcc, DoesNothingWithoutTwoAnswers) {
  const Hpcc hpcc(defaults());
  HpccState state = hpcc.begin(kLimits);
  const std::array<HopTelemetry, 1> now{hop(Duration::us(8), 100'000, 60'000)};
  hpcc.on_acknowledged(state, answer(1, 2, {}, now));
  hpcc.on_acknowledged(state, answer(1, 2, {}, {}));
  EXPECT_EQ(state.window, 100'000);
}

TEST(Hpcc, StaysBelowWhatItsWayHolds) {
  const Hpcc hpcc(defaults());
  HpccState state = hpcc.begin(kLimits);
  std::array<HopTelemetry, 1> before{hop(Duration::us(0), 0, 0)};
  for (int trip = 1; trip <= 50; ++trip) {
    const std::array<HopTelemetry, 1> now{hop(Duration::us(8 * trip), static_cast<std::uint64_t>(1000 * trip), 0)};
    hpcc.on_acknowledged(state, answer(static_cast<std::uint64_t>(trip), 0, before, now));
    before = now;
  }
  EXPECT_EQ(state.window, 200'000);
}

TEST(Hpcc, RefusesSettingsThatMeanNothing) {
  HpccSettings settings = defaults();
  settings.eta = 0;
  EXPECT_THROW(Hpcc{settings}, CheckFailure);
}

}  // namespace
}  // namespace weft::hpcc_test
