// SPDX-License-Identifier: Apache-2.0
#include "host/across/across_door.hpp"

#include <gtest/gtest.h>

#include "host/inside/collective_replay.hpp"
#include "tests/host/collectives/collective_machine.hpp"
#include "topologies/topology.hpp"

namespace weft::across_door_test {
namespace {

CollectivePlan plan_of(const char* algorithm, CollectiveType type, const GroupLayout& layout) {
  return make_algorithm(algorithm, {})->compile({type, 0, Bytes::mib(1), &layout, nullptr});
}

// What one rank may leave before another has come is not; nor what each sends to more than 8
// others, which ten ranks do in an all-to-all.
TEST(AcrossDoor, TakesRingsAndTrees) {
  TopologyBuilder builder("lone");
  builder.add_endpoint(builder.add_host(), NodeKind::gpu);
  const auto topology = std::move(builder).build(nullptr, {"test", 0, 0, 1, ""});
  CollectiveReplays replays;
  AcrossDoor door(*topology, replays, EntityId(0), Duration::us(1));
  const GroupLayout ten = GroupLayout::blocks(10, 1);
  const GroupLayout three_hundred = GroupLayout::blocks(300, 1);
  const CollectivePlan ring = plan_of("ring", CollectiveType::all_reduce, three_hundred);
  const CollectivePlan tree = plan_of("double_binary_tree", CollectiveType::all_reduce, three_hundred);
  const CollectivePlan broadcast = plan_of("ring", CollectiveType::broadcast, ten);
  const CollectivePlan all_to_all = plan_of("direct", CollectiveType::all_to_all, ten);
  for (int time = 0; time < 2; ++time) {
    EXPECT_TRUE(door.suits(ring));
    EXPECT_TRUE(door.suits(tree));
    EXPECT_FALSE(door.suits(broadcast));
    EXPECT_FALSE(door.suits(all_to_all));
  }
}

}  // namespace
}  // namespace weft::across_door_test
