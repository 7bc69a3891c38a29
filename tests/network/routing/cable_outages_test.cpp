// SPDX-License-Identifier: Apache-2.0
#include "network/routing/cable_outages.hpp"

#include <gtest/gtest.h>

#include "tests/network/test_topologies.hpp"

namespace weft::cable_outages_test {
namespace {

Time at_ms(std::int64_t ms) { return Time::zero() + Duration::ms(ms); }

/// The cable from host 0's endpoint to the switch.
LinkId first_cable(const Topology& topology) { return topology.out_links(topology.endpoints().front()).front(); }

TEST(CableOutages, AreAvoidedAfterAWhile) {
  const auto topology = star("3");
  const LinkId cable = first_cable(*topology);
  CableOutages outages(*topology, Duration::ms(1000));
  EXPECT_EQ(outages.next(), Time::max());
  outages.change({cable, 0}, at_ms(0));
  EXPECT_EQ(outages.next(), at_ms(1000));
  EXPECT_FALSE(outages.take(at_ms(999)));
  EXPECT_TRUE(outages.take(at_ms(1000)));
  for (std::uint32_t i = 0; i < topology->link_count(); ++i)
    EXPECT_EQ(outages.avoided()[i], LinkId(i) == cable || LinkId(i) == topology->reverse(cable));
  // It is told of by either direction.
  outages.change({topology->reverse(cable), 1}, at_ms(1200));
  EXPECT_TRUE(outages.take(at_ms(2200)));
  EXPECT_FALSE(outages.avoided()[cable.index()]);
}

TEST(CableOutages, NobodyNoticesWhatIsOverSoon) {
  const auto topology = star("3");
  const LinkId cable = first_cable(*topology);
  CableOutages outages(*topology, Duration::ms(1000));
  outages.change({cable, 0}, at_ms(0));
  outages.change({cable, 1}, at_ms(300));
  outages.change({cable, 0}, at_ms(600));
  EXPECT_FALSE(outages.take(at_ms(1000)));
  EXPECT_FALSE(outages.take(at_ms(1300)));
  EXPECT_EQ(outages.next(), at_ms(1600));
  EXPECT_TRUE(outages.take(at_ms(1600)));
  // Nor that it was back for too short a time.
  outages.change({cable, 1}, at_ms(2000));
  outages.change({cable, 0}, at_ms(2500));
  EXPECT_FALSE(outages.take(at_ms(3500)));
  EXPECT_TRUE(outages.avoided()[cable.index()]);
  EXPECT_EQ(outages.next(), Time::max());
}

TEST(CableOutages, SlowCablesAreNotAvoided) {
  const auto topology = star("3");
  CableOutages outages(*topology, Duration::zero());
  outages.change({first_cable(*topology), 0.01}, at_ms(0));
  EXPECT_EQ(outages.next(), Time::max());
}

TEST(CableOutages, SharesAreFollowedWhereTheyAreAskedFor) {
  const auto topology = star("3");
  const LinkId cable = first_cable(*topology);
  const LinkId reverse = topology->reverse(cable);
  CableOutages outages(*topology, Duration::ms(10));
  outages.follow_shares();
  outages.change({cable, 0.5}, at_ms(0));
  EXPECT_EQ(outages.next(), at_ms(10));
  EXPECT_EQ(outages.shares()[cable.index()], 1);
  EXPECT_TRUE(outages.take(at_ms(10)));
  EXPECT_EQ(outages.shares()[cable.index()], 0.5);
  EXPECT_EQ(outages.shares()[reverse.index()], 0.5);
  EXPECT_FALSE(outages.avoided()[cable.index()]);
  // It goes out, and comes back at another rate before anyone has noticed: one change, at 20 + 10
  // ms.
  outages.change({cable, 0}, at_ms(15));
  outages.change({cable, 0.25}, at_ms(20));
  EXPECT_FALSE(outages.take(at_ms(25)));
  EXPECT_TRUE(outages.take(at_ms(30)));
  EXPECT_EQ(outages.shares()[cable.index()], 0.25);
  outages.change({reverse, 0}, at_ms(40));
  EXPECT_TRUE(outages.take(at_ms(50)));
  EXPECT_TRUE(outages.avoided()[cable.index()]);
  EXPECT_EQ(outages.shares()[cable.index()], 0);
  // As before after some time.
  outages.change({cable, 1}, at_ms(60));
  outages.change({cable, 0.5}, at_ms(61));
  outages.change({cable, 0}, at_ms(62));
  EXPECT_FALSE(outages.take(at_ms(80)));
}

}  // namespace
}  // namespace weft::cable_outages_test
