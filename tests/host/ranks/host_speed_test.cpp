// SPDX-License-Identifier: Apache-2.0
// Host speeds: factors multiply while they hold, and stragglers are drawn by seed.
#include "host/ranks/host_speed.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::host_speed_test {
namespace {

Time at_ms(std::int64_t ms) { return Time::zero() + Duration::ms(ms); }

TEST(HostSpeeds, MultiplyWhatHoldsAtATime) {
  const std::vector<HostSpeedEntry> entries = {{{HostId(1), HostId(2)}, 0.5, Time::zero(), Time::max()},
                                               {{HostId(2)}, 0.8, at_ms(10), at_ms(20)}};
  const HostSpeeds speeds(3, entries, {});
  for (const std::int64_t ms : {0, 15, 30}) EXPECT_EQ(speeds.at(HostId(0), at_ms(ms)), 1);
  EXPECT_EQ(speeds.at(HostId(1), at_ms(15)), 0.5);
  EXPECT_EQ(speeds.at(HostId(2), at_ms(9)), 0.5);
  EXPECT_EQ(speeds.at(HostId(2), at_ms(10)), 0.4);
  EXPECT_EQ(speeds.at(HostId(2), at_ms(20)), 0.5);
  EXPECT_TRUE(speeds.changes(HostId(1)).empty()) << "it is slow from the start";
  EXPECT_EQ(speeds.changes(HostId(2)), (std::vector<Time>{at_ms(10), at_ms(20)}));
  EXPECT_NE(speeds.profile(HostId(1)), speeds.profile(HostId(2)));
}

TEST(HostSpeeds, DrawStragglersBySeed) {
  const HostSpeeds speeds(10'000, {}, {0.1, 0.7, 0, 42});
  const HostSpeeds again(10'000, {}, {0.1, 0.7, 0, 42});
  const HostSpeeds other(10'000, {}, {0.1, 0.7, 0, 43});
  int stragglers = 0;
  int differences = 0;
  for (std::uint32_t host = 0; host < 10'000; ++host) {
    const double speed = speeds.at(HostId(host), at_ms(1));
    EXPECT_TRUE(speed == 1 || speed == 0.7);
    stragglers += speed < 1 ? 1 : 0;
    EXPECT_EQ(speed, again.at(HostId(host), at_ms(1)));
    differences += speed != other.at(HostId(host), at_ms(1)) ? 1 : 0;
  }
  // 1,000 expected, standard deviation 30.
  EXPECT_NEAR(stragglers, 1000, 150);
  EXPECT_GT(differences, 1000);
}

// Mean 1 and a standard deviation of 0.3; of 10,000 hosts the mean is within 4 x 0.003.
TEST(HostSpeeds, AreDrawnAroundOne) {
  const HostSpeeds speeds(10'000, {}, {0, 1, 0.3, 42});
  const HostSpeeds again(10'000, {}, {0, 1, 0.3, 42});
  double sum = 0;
  double squares = 0;
  for (std::uint32_t host = 0; host < 10'000; ++host) {
    const double speed = speeds.at(HostId(host), at_ms(1));
    sum += speed;
    squares += speed * speed;
    EXPECT_EQ(speed, again.at(HostId(host), at_ms(1)));
  }
  const double mean = sum / 10'000;
  EXPECT_NEAR(mean, 1, 0.012);
  EXPECT_NEAR(std::sqrt(squares / 10'000 - mean * mean), 0.3, 0.02);
  // Folding tells hosts apart.
  EXPECT_NE(speeds.profile(HostId(0)), speeds.profile(HostId(1)));
  EXPECT_TRUE(speeds.changes(HostId(0)).empty());
  // A straggler is slower than it would be.
  const HostSpeeds stragglers(10, {}, {1, 0.5, 0.3, 42});
  EXPECT_EQ(stragglers.at(HostId(3), at_ms(1)), 0.5 * speeds.at(HostId(3), at_ms(1)));
}

}  // namespace
}  // namespace weft::host_speed_test
