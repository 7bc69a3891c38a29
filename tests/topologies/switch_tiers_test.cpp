// SPDX-License-Identifier: Apache-2.0
#include "topologies/switch_tiers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft::switch_tiers_test {
namespace {

// Two hosts, two switches of unknown level next to them, one above, and one above that; beside it
// one that the source calls a spine.
TEST(SwitchTiers, AreLevelsOrElseCountedFromTheHosts) {
  TopologyBuilder builder("net");
  const auto join = [&](NodeId a, NodeId b) { builder.add_cable(a, b, Bandwidth::gbps(100), Duration::ns(10)); };
  std::vector<NodeId> hosts;
  for (int i = 0; i < 2; ++i) hosts.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
  const NodeId left = builder.add_switch(0, "left");
  const NodeId right = builder.add_switch(0, "right");
  const NodeId middle = builder.add_switch(0, "middle");
  const NodeId top = builder.add_switch(0, "top");
  const NodeId spine = builder.add_switch(3, "spine");
  join(hosts[0], left);
  join(hosts[1], right);
  join(left, middle);
  join(right, middle);
  join(middle, top);
  join(left, spine);
  const std::shared_ptr<const Topology> topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  const std::vector<std::uint32_t> tiers = switch_tiers(*topology);
  EXPECT_EQ(tiers[hosts[0].index()], 0U);
  EXPECT_EQ(tiers[left.index()], 1U);
  EXPECT_EQ(tiers[right.index()], 1U);
  EXPECT_EQ(tiers[middle.index()], 2U);
  EXPECT_EQ(tiers[top.index()], 3U);
  EXPECT_EQ(tiers[spine.index()], 3U);
}

}  // namespace
}  // namespace weft::switch_tiers_test
