#include "host/dctcp.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/check.hpp"

namespace weft {
namespace {

// 100 Gb/s and 8 us: 100,000 bytes in a round trip.
const QueuePairLimits kLimits{Bandwidth::gbps(100), Duration::us(8), Bytes::of(1000)};

TEST(Dctcp, BeginsWithARoundTripOfTheLineAndAPacket) {
  EXPECT_EQ(Dctcp({}, kLimits).window(), 101'000);
  DctcpSettings settings;
  settings.initial_window = Bytes::of(5'000);
  EXPECT_EQ(Dctcp(settings, kLimits).window(), 5'000);
  settings.initial_window = Bytes::of(1);
  EXPECT_EQ(Dctcp(settings, kLimits).window(), 1'000) << "a packet at least";
}

TEST(Dctcp, PacesNothing) { EXPECT_EQ(Dctcp({}, kLimits).on_sent(1000, Time::zero()), 100e9); }

// A window of w packets grows by 1/w packets for each that is acknowledged while it is full: by about one in a round trip.
TEST(Dctcp, AFullWindowGrowsByAPacketInARoundTrip) {
  Dctcp dctcp({}, kLimits);
  double expected = 101'000;
  for (int i = 0; i < 101; ++i) {
    dctcp.on_acknowledged({1000, 100'000, false});
    expected += 1000.0 * 1000.0 / expected;
  }
  EXPECT_EQ(dctcp.window(), static_cast<std::int64_t>(expected));
  EXPECT_NEAR(static_cast<double>(dctcp.window()), 102'000, 10);
}

TEST(Dctcp, AWindowThatIsNotFullDoesNotGrow) {
  Dctcp dctcp({}, kLimits);
  for (int i = 0; i < 100; ++i) dctcp.on_acknowledged({1000, 98'000, false});
  EXPECT_EQ(dctcp.window(), 101'000);
}

// alpha begins at 1: the first mark halves the window, and the others of its round trip do nothing more. The next round trip takes alpha a sixteenth of
// the way to the share of its bytes that were marked, a tenth.
TEST(Dctcp, CutsOnceARoundTripByHalfOfAlpha) {
  Dctcp dctcp({}, kLimits);
  dctcp.on_acknowledged({1000, 20'000, false});  // the first acknowledgement ends a round trip of nothing
  const double alpha = 15.0 / 16.0;
  EXPECT_DOUBLE_EQ(dctcp.alpha(), alpha);
  const double window = static_cast<double>(dctcp.window());
  for (int i = 0; i < 2; ++i) dctcp.on_acknowledged({1000, 20'000, true});
  EXPECT_NEAR(static_cast<double>(dctcp.window()), window * (1 - alpha / 2), 1);
  for (int i = 0; i < 18; ++i) dctcp.on_acknowledged({1000, 20'000, false});
  EXPECT_DOUBLE_EQ(dctcp.alpha(), 15.0 / 16 * alpha + 0.1 / 16);
  const double before = static_cast<double>(dctcp.window());
  dctcp.on_acknowledged({1000, 20'000, true});
  EXPECT_NEAR(static_cast<double>(dctcp.window()), before * (1 - dctcp.alpha() / 2), 1);
}

// Marks on the share F of all bytes bring alpha to F; it goes there by 1/16 of the way each round trip.
TEST(Dctcp, AlphaComesToTheShareOfMarks) {
  Dctcp dctcp({}, kLimits);
  for (int trip = 0; trip < 200; ++trip) {
    for (int i = 0; i < 10; ++i) dctcp.on_acknowledged({1000, 10'000, i < 3});
  }
  EXPECT_NEAR(dctcp.alpha(), 0.3, 0.01);
}

TEST(Dctcp, ALossHalvesAndAWindowIsAPacketAtLeast) {
  Dctcp dctcp({}, kLimits);
  dctcp.on_loss();
  EXPECT_EQ(dctcp.window(), 50'500);
  dctcp.on_loss();
  EXPECT_EQ(dctcp.window(), 50'500) << "once a round trip";
  for (int i = 0; i < 100; ++i) {
    dctcp.on_acknowledged({1000, 0, false});
    dctcp.on_loss();
  }
  EXPECT_EQ(dctcp.window(), 1'000);
}

TEST(Dctcp, RefusesSettingsThatMeanNothing) {
  DctcpSettings settings;
  settings.g = 0;
  EXPECT_THROW(Dctcp(settings, kLimits), CheckFailure);
}

}  // namespace
}  // namespace weft
