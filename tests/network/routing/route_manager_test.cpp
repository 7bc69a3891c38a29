// SPDX-License-Identifier: Apache-2.0
#include "network/routing/route_manager.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/engine/engine.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::route_manager_test {
namespace {

const Duration kDelay = Duration::us(10);

/// Fetches what it is told of, and keeps whether the first two endpoints are connected.
class Node final : public Entity {
 public:
  Node(const RouteVersions& versions, NodeId from, NodeId to) : versions_(versions), from_(from), to_(to) {}
  void handle(const Event& event, EventContext& context) override {
    const auto ways = versions_.fetch(event.payload_as<RoutesChange>().version);
    told_.emplace_back(context.now(), ways->connects(from_, to_));
  }
  const std::vector<std::pair<Time, bool>>& told() const { return told_; }

 private:
  const RouteVersions& versions_;
  NodeId from_;
  NodeId to_;
  std::vector<std::pair<Time, bool>> told_;
};

// Both cables of an instant show in one version; what is over before `reroute` shows in none.
TEST(RouteManager, TellsAllNodesOfEveryVersion) {
  const auto topology = star("4");
  const NodeId first = topology->endpoints()[0];
  const NodeId second = topology->endpoints()[1];
  const auto cable = [&](std::size_t host) { return topology->out_links(topology->endpoints()[host]).front(); };
  RouteVersions versions(*topology);
  EngineBuilder builder;
  std::vector<EntityId> nodes;
  for (int i = 0; i < 2; ++i) nodes.push_back(builder.add_entity(std::make_unique<Node>(versions, first, second), "node"));
  const EntityId manager =
      builder.add_entity(std::make_unique<RouteManager>(*topology, Duration::ms(1), kDelay, nodes, versions), "manager");
  for (const EntityId node : nodes) builder.connect(manager, node, kDelay);
  const auto change = [&](std::int64_t at_us, std::size_t host, double share) {
    builder.post_initial(manager, Time::zero() + Duration::us(at_us), EventClass::message, cable_changes,
                         CableChanges{cable(host), share});
  };
  change(0, 0, 0);
  change(0, 2, 0);
  change(2000, 0, 1);
  change(2500, 3, 0);
  change(2900, 3, 1);
  change(5000, 1, 0);
  Engine engine = std::move(builder).build({});
  engine.run({});
  const auto at = [](std::int64_t us) { return Time::zero() + Duration::us(us) + kDelay; };
  for (const EntityId node : nodes) {
    EXPECT_EQ(engine.entity_as<Node>(node).told(),
              (std::vector<std::pair<Time, bool>>{{at(1000), false}, {at(3000), true}, {at(6000), false}}));
  }
}

TEST(RouteVersions, ForgetsThoseThatAllHaveLeft) {
  const auto topology = star("3");
  const auto at = [](std::int64_t ms) { return Time::zero() + Duration::ms(ms); };
  RouteVersions versions(*topology);
  const std::uint32_t first = versions.add({}, {}, at(10), at(0));
  const std::uint32_t second = versions.add({}, {}, at(20), at(5));
  // some may go by it still, as none has fetched the first yet
  EXPECT_NE(versions.fetch(0), nullptr);
  versions.add({}, {}, at(30), at(12));
  EXPECT_THROW(versions.fetch(0), std::out_of_range);
  EXPECT_NE(versions.fetch(first), versions.fetch(second));
}

}  // namespace
}  // namespace weft::route_manager_test
