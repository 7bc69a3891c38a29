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
  // sqrt(1.5) / sqrt(1e-4) = 122.474 segments: 14.1875 Mb/s.
  EXPECT_NEAR(mbps(WideAreaControl::reno, 1e-4, Duration::ms(100)), 14.1875, 1e-4);
  // A hundred times the loss: a tenth. Half the round trip: twice.
  EXPECT_NEAR(mbps(WideAreaControl::reno, 1e-2, Duration::ms(100)), 1.41875, 1e-5);
  EXPECT_NEAR(mbps(WideAreaControl::reno, 1e-4, Duration::ms(50)), 28.3749, 1e-4);
}

TEST(TcpRate, CubicIsFasterOnLongLinesAndRenoOnShortOnes) {
  // (0.4 x 3.7 / 1.2)^(1/4) = 1.05382; 0.1^(3/4) = 0.177828; (1e-4)^(3/4) = 1e-3: 187.399 segments.
  EXPECT_NEAR(mbps(WideAreaControl::cubic, 1e-4, Duration::ms(100)), 187.399 * 0.11584, 1e-3);
  // At 1 ms cubic alone has 1.05382 x 0.00562341 / 1e-3 = 5.93 segments, reno 122.474.
  EXPECT_EQ(mbps(WideAreaControl::cubic, 1e-4, Duration::ms(1)), mbps(WideAreaControl::reno, 1e-4, Duration::ms(1)));
  // 1.05382 x 0.177828 / (1e-8)^(3/4) = 187,400 segments of 1,500 B in 0.1 s: 22.5 Gb/s.
  const double rfc = tcp_rate_bps({WideAreaControl::cubic, Bytes::of(1500), std::nullopt}, {Duration::ms(100), 1e-8, 1e12});
  EXPECT_NEAR(rfc / 1e9, 22.5, 0.1);
}

TEST(TcpRate, BbrBearsAFifthOfThePackets) {
  // 200 ms in 10 s go into probing: 0.98 x 0.99 of 1 Gb/s.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.01, Duration::ms(100)), 970.2, 1e-9);
  // A round trip of 500 ms is longer: 0.95 x 0.9.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.1, Duration::ms(500)), 855, 1e-9);
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.1999, Duration::ms(100)), 0.8001 * 980, 1e-6);
  // From 20 % on four segments in a round trip.
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.2, Duration::ms(100)), 4 * 0.11584, 1e-9);
}

TEST(TcpRate, AWindowIsTheMostThatIsUnderWay) {
  // 4 MiB in 100 ms: 335.544 Mb/s.
  for (const WideAreaControl control : {WideAreaControl::reno, WideAreaControl::cubic, WideAreaControl::bbr}) {
    EXPECT_NEAR(mbps(control, 0, Duration::ms(100), Bytes::of(4 << 20)), 335.5443, 1e-4);
    EXPECT_TRUE(std::isinf(mbps(control, 0, Duration::ms(100))));
    EXPECT_TRUE(std::isinf(mbps(control, 0.1, Duration::zero(), Bytes::of(4 << 20))));
  }
  EXPECT_NEAR(mbps(WideAreaControl::bbr, 0.01, Duration::ms(100), Bytes::of(4 << 20)), 335.5443, 1e-4);
  EXPECT_TRUE(std::isinf(mbps(WideAreaControl::none, 0.1, Duration::ms(100), Bytes::of(4 << 20))));
}

}  // namespace
}  // namespace weft::tcp_rate_test
