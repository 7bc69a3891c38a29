// SPDX-License-Identifier: Apache-2.0
// Swift step by step, as its algorithm says.
#include "host/transport/swift.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "core/check.hpp"

namespace weft::swift_test {
namespace {

static_assert(!std::is_default_constructible_v<SwiftSettings>, "the table has the only defaults");

// 100 Gb/s and 8 us: 100 packets of 1000 bytes in a round trip, over three switches. With windows
// of 100 packets and more the target is 8 + 3 us.
const QueuePairLimits kLimits{Bandwidth::gbps(100), Duration::us(8), Bytes::of(1000), 150'000, 3};

Acknowledgement after(Duration round_trip, Time now = Time::zero()) {
  Acknowledgement made;
  made.bytes = 1000;
  made.now = now;
  made.round_trip = round_trip;
  return made;
}

SwiftSettings defaults() { return SwiftSettings(ParamSet("swift", swift_params())); }

TEST(Swift, BeginsWithARoundTripOfTheLineAndAPacket) {
  const SwiftState state = Swift(defaults()).begin(kLimits);
  EXPECT_DOUBLE_EQ(state.cwnd, 101);
  EXPECT_EQ(Swift::rate_bps(state), 100e9);
}

// Expectation: at cwnd = 0.1 and below the whole range of 16 us is added, at 100 and above nothing;
// at 4, a (1/2 - 1/10) with a = 16 / (1/sqrt(0.1) - 1/10).
TEST(Swift, TargetGrowsAsWindowsShrink) {
  const Swift swift(defaults());
  SwiftState state = swift.begin(kLimits);
  EXPECT_DOUBLE_EQ(swift.target_s(state), 11e-6);
  state.cwnd = 0.1;
  EXPECT_DOUBLE_EQ(swift.target_s(state), 27e-6);
  state.cwnd = 0.02;
  EXPECT_DOUBLE_EQ(swift.target_s(state), 27e-6);
  state.cwnd = 4;
  EXPECT_DOUBLE_EQ(swift.target_s(state), 11e-6 + 16e-6 / (1 / std::sqrt(0.1) - 0.1) * 0.4);
}

// Expectation: 1 / cwnd for each packet that is acknowledged in time: a packet in a round trip.
TEST(Swift, AddsAPacketInARoundTripBelowTheTarget) {
  const Swift swift(defaults());
  SwiftState state = swift.begin(kLimits);
  double expected = state.cwnd;
  for (int i = 0; i < 101; ++i) {
    swift.on_acknowledged(state, after(Duration::us(9)));
    expected += 1 / expected;
  }
  EXPECT_DOUBLE_EQ(state.cwnd, expected);
  EXPECT_NEAR(state.cwnd, 102, 0.01);
  for (int i = 0; i < 100'000; ++i) swift.on_acknowledged(state, after(Duration::us(9)));
  EXPECT_EQ(state.cwnd, 150) << "what its way holds";
}

// Expectation: 22 us, twice the target: 0.8 x 11 / 22 = 0.4 is taken off; not again before 22 us
// are over. 110 us would take off 0.72, and half is the most.
TEST(Swift, DecreasesByHowLateOncePerRoundTrip) {
  const Swift swift(defaults());
  SwiftState state = swift.begin(kLimits);
  state.cwnd = 120;
  swift.on_acknowledged(state, after(Duration::us(22), Time::zero() + Duration::us(100)));
  EXPECT_DOUBLE_EQ(state.cwnd, 72);
  swift.on_acknowledged(state, after(Duration::us(22), Time::zero() + Duration::us(121)));
  EXPECT_DOUBLE_EQ(state.cwnd, 72);
  state.cwnd = 120;
  swift.on_acknowledged(state, after(Duration::us(110), Time::zero() + Duration::us(300)));
  EXPECT_DOUBLE_EQ(state.cwnd, 60);
}

TEST(Swift, ALossTakesOffHalf) {
  const Swift swift(defaults());
  SwiftState state = swift.begin(kLimits);
  state.cwnd = 120;
  swift.on_loss(state, Time::zero() + Duration::us(1));
  EXPECT_DOUBLE_EQ(state.cwnd, 60);
}

// Expectation: a window of a tenth of a packet at 50 us is a packet every 500 us: 16 Mb/s.
TEST(Swift, PacesPacketsBelowOne) {
  const Swift swift(defaults());
  SwiftState state = swift.begin(kLimits);
  state.cwnd = 0.2;
  swift.on_acknowledged(state, after(Duration::us(50), Time::zero() + Duration::us(1000)));
  state.cwnd = 0.1;
  EXPECT_DOUBLE_EQ(Swift::rate_bps(state), 16e6);
  for (int i = 0; i < 100; ++i) swift.on_acknowledged(state, after(Duration::us(50), Time::zero() + Duration::us(2000 + 100 * i)));
  EXPECT_DOUBLE_EQ(state.cwnd, 0.01);
}

TEST(Swift, RefusesSettingsThatMeanNothing) {
  SwiftSettings settings = defaults();
  settings.flow_min = settings.flow_max;
  EXPECT_THROW(Swift{settings}, CheckFailure);
}

}  // namespace
}  // namespace weft::swift_test
