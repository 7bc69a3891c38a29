// SPDX-License-Identifier: Apache-2.0
#include "host/transport/dctcp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "core/check.hpp"

namespace weft::dctcp_test {
namespace {

static_assert(!std::is_default_constructible_v<DctcpSettings>, "the table has the only defaults");

// 100 Gb/s and 8 us: 100,000 bytes in a round trip.
const QueuePairLimits kLimits{Bandwidth::gbps(100), Duration::us(8), Bytes::of(1000)};

/// RFC 8257, section 4.2, and congestion avoidance of RFC 5681.
DctcpSettings as_in_the_rfc() {
  DctcpSettings settings(ParamSet("dctcp", dctcp_params()));
  settings.g = 1.0 / 16;
  settings.increase = 1;
  return settings;
}

TEST(Dctcp, BeginsWithARoundTripOfTheLineAndAPacket) {
  EXPECT_EQ(Dctcp(as_in_the_rfc()).begin(kLimits).window, 101'000);
  DctcpSettings settings = as_in_the_rfc();
  settings.initial_window = Bytes::of(5'000);
  EXPECT_EQ(Dctcp(settings).begin(kLimits).window, 5'000);
  settings.initial_window = Bytes::of(1);
  EXPECT_EQ(Dctcp(settings).begin(kLimits).window, 1'000) << "a packet at least";
}

TEST(Dctcp, PacesNothing) {
  const auto dctcp = make_dctcp(ParamSet("dctcp", dctcp_params()));
  CongestionState state = dctcp->begin(kLimits);
  EXPECT_EQ(dctcp->on_sent(state, 1000, Time::zero()), 100e9);
  EXPECT_EQ(dctcp->window(state), 101'000);
}

// A window of w packets grows by 1/w packets for each that is acknowledged while it is full: by
// about one in a round trip.
TEST(Dctcp, AFullWindowGrowsByAPacketInARoundTrip) {
  const Dctcp dctcp(as_in_the_rfc());
  DctcpState state = dctcp.begin(kLimits);
  double expected = 101'000;
  for (int i = 0; i < 101; ++i) {
    dctcp.on_acknowledged(state, {1000, 100'000, false});
    expected += 1000.0 * 1000.0 / expected;
  }
  EXPECT_DOUBLE_EQ(state.window, expected);
  EXPECT_NEAR(state.window, 102'000, 10);
}

TEST(Dctcp, AWindowThatIsNotFullDoesNotGrow) {
  const Dctcp dctcp(as_in_the_rfc());
  DctcpState state = dctcp.begin(kLimits);
  for (int i = 0; i < 100; ++i) dctcp.on_acknowledged(state, {1000, 98'000, false});
  EXPECT_EQ(state.window, 101'000);
}

// 20 packets are under way. alpha begins at 1: the first mark halves the window, and others do
// nothing before the 20 that were under way then have been answered. The round trip of 21 packets
// takes alpha a sixteenth of the way to the share of them that were marked.
TEST(Dctcp, CutsOnceInAWindowOfDataByHalfOfAlpha) {
  const Dctcp dctcp(as_in_the_rfc());
  DctcpState state = dctcp.begin(kLimits);
  for (int i = 0; i < 3; ++i) dctcp.on_acknowledged(state, {1000, 20'000, true});
  EXPECT_EQ(state.window, 50'500);
  for (int i = 0; i < 17; ++i) dctcp.on_acknowledged(state, {1000, 10'000, false});
  EXPECT_EQ(state.alpha, 1);
  dctcp.on_acknowledged(state, {1000, 20'000, false});
  const double alpha = 0.9375 + 0.0625 * 3.0 / 21.0;
  EXPECT_DOUBLE_EQ(state.alpha, alpha);
  const double before = state.window;
  dctcp.on_acknowledged(state, {1000, 20'000, true});
  EXPECT_NEAR(state.window, before * (1 - alpha / 2), 1);
}

// Marks on the share F of all bytes bring alpha to F; it goes there by 1/16 of the way each round
// trip.
TEST(Dctcp, AlphaComesToTheShareOfMarks) {
  const Dctcp dctcp(as_in_the_rfc());
  DctcpState state = dctcp.begin(kLimits);
  for (int trip = 0; trip < 200; ++trip) {
    for (int i = 0; i < 10; ++i) dctcp.on_acknowledged(state, {1000, 10'000, i < 3});
  }
  EXPECT_NEAR(state.alpha, 0.3, 0.01);
}

TEST(Dctcp, ALossHalvesOnceInAWindowOfDataAndAWindowIsAPacketAtLeast) {
  const Dctcp dctcp(as_in_the_rfc());
  DctcpState state = dctcp.begin(kLimits);
  dctcp.on_loss(state, 100'000);
  EXPECT_EQ(state.window, 50'500);
  dctcp.on_loss(state, 100'000);
  EXPECT_EQ(state.window, 50'500);
  for (int i = 0; i < 10; ++i) {
    for (int packet = 0; packet < 100; ++packet) dctcp.on_acknowledged(state, {1000, 0, false});
    dctcp.on_loss(state, 100'000);
  }
  EXPECT_EQ(state.window, 1'000);
}

// A mark with a small alpha cuts a little; a loss in the same window of data still halves what the
// window was before.
TEST(Dctcp, ALossHalvesAfterAMarkToo) {
  const Dctcp dctcp(as_in_the_rfc());
  DctcpState state = dctcp.begin(kLimits);
  for (int trip = 0; trip < 100; ++trip) dctcp.on_acknowledged(state, {100'000, 0, false});
  const double window = state.window;
  dctcp.on_acknowledged(state, {1000, 90'000, true});
  EXPECT_GT(state.window, 0.99 * window);
  dctcp.on_loss(state, 90'000);
  EXPECT_NEAR(state.window, window / 2, 1);
}

TEST(Dctcp, RefusesSettingsThatMeanNothing) {
  DctcpSettings settings = as_in_the_rfc();
  settings.g = 0;
  EXPECT_THROW(Dctcp{settings}, CheckFailure);
}

}  // namespace
}  // namespace weft::dctcp_test
