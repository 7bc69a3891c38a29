// SPDX-License-Identifier: Apache-2.0
// What TCP has of a long line: the formulas by hand.
#include "network/wide_area/tcp_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::tcp_rate_test {
namespace {

double mbps(WideAreaControl control, double loss, Duration round_trip, std::optional<Bytes> window = std::nullopt) {
  constexpr double slowest_bps = 1e9;
  return tcp_rate_bps({control, Bytes::of(1448), window}, {round_trip, loss, slowest_bps}) / 1e6;
}

// 1,448 B each 100 ms are 0.11584 Mb/s.
TEST(TcpRate, RenoGoesByTheRootOfTheLoss) {
  // sqrt(1.5) / sqrt(1e-4) = 122.474 segments: 14.1875 Mb/s are sent, 0.9999 of it come through.
  EXPECT_NEAR(mbps(WideAreaControl::reno, 1e-4, Duration::ms(100)), 0.9999 * 14.1875, 1e-4);
  // A hundred times the loss: a tenth. Half the round trip: twice.
  EXPECT_NEAR(mbps(WideAreaControl::reno, 1e-2, Duration::ms(100)), 0.99 * 1.41875, 1e-5);
  EXPECT_NEAR(mbps(WideAreaControl::reno, 1e-4, Duration::ms(50)), 0.9999 * 28.3749, 1e-4);
}

TEST(TcpRate, CubicIsFasterOnLongLinesAndRenoOnShortOnes) {
  // (0.4 x 3.7 / 1.2)^(1/4) = 1.05382; 0.1^(3/4) = 0.177828; (1e-4)^(3/4) = 1e-3: 187.399 segments.
  EXPECT_NEAR(mbps(WideAreaControl::cubic, 1e-4, Duration::ms(100)), 0.9999 * 187.399 * 0.11584, 1e-3);
  // At 1 ms cubic alone has 1.05382 x 0.00562341 / 1e-3 = 5.93 segments, reno 122.474.
  EXPECT_EQ(mbps(WideAreaControl::cubic, 1e-4, Duration::ms(1)), mbps(WideAreaControl::reno, 1e-4, Duration::ms(1)));
  // 1.05382 x 0.177828 / (1e-8)^(3/4) = 187,400 segments of 1,500 B in 0.1 s: 22.5 Gb/s.
  const double rfc = tcp_rate_bps({WideAreaControl::cubic, Bytes::of(1500), std::nullopt}, {Duration::ms(100), 1e-8, 1e12});
  EXPECT_NEAR(rfc / 1e9, 22.5, 0.1);
}

TEST(TcpRate, BbrBearsAFifthOfThePackets) {
  // Of 10.2 s 200 ms go into probing: 0.99 x 10 / 10.2 of 1 Gb/s.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.01, Duration::ms(100)), 970.588, 1e-3);
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0, Duration::ms(100)), 980.392, 1e-3) << "without losses as well";
  // A round trip of 500 ms is longer: 0.9 x 10 / 10.5.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.1, Duration::ms(500)), 857.143, 1e-3);
  // One of 10 s leaves half the time.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0, Duration::ms(10000)), 500, 1e-6);
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.1999, Duration::ms(100)), 0.8001 * 980.392, 1e-3);
  // From 20 % on four segments in a round trip, of which four fifths come through.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.2, Duration::ms(100)), 0.8 * 4 * 0.11584, 1e-9);
  // At 1 us these are 46 Gb/s, and the link has 1 Gb/s.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.2, Duration::us(1)), 800, 1e-6);
}

// 4 x 1,448 B in 1 s are 46 kb/s, on a link of 46,500 b/s: 10 / 11 of it would be less.
TEST(TcpRate, BbrHasFourSegmentsUnderWayAtLeast) {
  const TcpHosts hosts = {WideAreaControl::bbr, Bytes::of(1448), std::nullopt};
  EXPECT_NEAR(tcp_rate_bps(hosts, {Duration::ms(1000), 0.1, 46500}), 0.9 * 46336, 1e-6);
  // With a quarter of the link for headers 37,200 b/s are left.
  EXPECT_NEAR(tcp_rate_bps(hosts, {Duration::ms(1000), 0.2, 46500, 1.25}), 0.8 * 37200, 1e-6);
}

TEST(TcpRate, AWindowIsTheMostThatIsUnderWay) {
  // 4 MiB in 100 ms: 335.544 Mb/s.
  for (const WideAreaControl control : {WideAreaControl::reno, WideAreaControl::cubic, WideAreaControl::bbr}) {
    EXPECT_NEAR(mbps(control, 0, Duration::ms(100), Bytes::of(4 << 20)), 335.5443, 1e-4);
    EXPECT_EQ(std::isinf(mbps(control, 0, Duration::ms(100))), control != WideAreaControl::bbr);
    EXPECT_TRUE(std::isinf(mbps(control, 0.1, Duration::zero(), Bytes::of(4 << 20))));
  }
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.01, Duration::ms(100), Bytes::of(4 << 20)), 0.99 * 335.5443, 1e-4);
  EXPECT_TRUE(std::isinf(mbps(WideAreaControl::none, 0.1, Duration::ms(100), Bytes::of(4 << 20))));
}

}  // namespace
}  // namespace weft::tcp_rate_test
