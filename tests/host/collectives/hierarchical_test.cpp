// SPDX-License-Identifier: Apache-2.0
// Hierarchical collectives: layouts in any order, aggregation by rail, pieces, and what they
// refuse.
#include "host/collectives/hierarchical.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/host/collectives/collective_machine.hpp"

namespace weft::hierarchical_test {
namespace {

TEST(Hierarchical, ServesRanksInAnyOrder) {
  // Rails first, hosts mixed, and hosts whose GPUs of the group differ.
  const std::vector<std::vector<GroupLayout::Seat>> layouts = {
      {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}},
      {{0, 3}, {1, 0}, {1, 3}, {0, 0}, {2, 1}, {2, 7}, {1, 5}, {0, 5}, {2, 0}},
      {{0, 7}, {0, 6}, {1, 0}, {1, 1}, {2, 2}, {2, 4}, {3, 3}, {3, 1}},
  };
  for (const auto& seats : layouts) {
    const GroupLayout layout(seats);
    for (const std::string exchange : {"ring", "direct"}) {
      const auto algorithm = make_algorithm("hierarchical", {{"inside", exchange}, {"between", exchange}, {"pieces", "3"}});
      for (const CollectiveType type :
           {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::all_to_all}) {
        SCOPED_TRACE(to_text(type));
        const CollectivePlan plan = algorithm->compile({type, 0, Bytes::of(12'345), &layout, nullptr});
        for (std::uint64_t seed = 1; seed <= 3; ++seed) expect_carried_out(plan, seed);
      }
      for (std::uint32_t root = 0; root < layout.ranks(); ++root) {
        const CollectivePlan plan = algorithm->compile({CollectiveType::broadcast, root, Bytes::of(999), &layout, nullptr});
        expect_carried_out(plan, root + 1);
      }
    }
  }
}

TEST(Hierarchical, RefusesHostsWithUnequalNumbersOfRanks) {
  const GroupLayout layout({{0, 0}, {0, 1}, {1, 0}});
  const auto algorithm = make_algorithm("hierarchical");
  EXPECT_EQ(algorithm->objection({CollectiveType::all_reduce, 0, Bytes::of(1 << 20), &layout, nullptr}),
            "its hosts have unequal numbers of the group's ranks, so that there are no rails");
}

// PXN: one message per GPU and other host, and none between GPUs of different rails and hosts.
TEST(Hierarchical, AggregatesAnAllToAllByRail) {
  const std::uint32_t hosts = 5;
  const std::uint32_t per_host = 4;
  const GroupLayout layout = GroupLayout::blocks(hosts, per_host);
  const Bytes bytes = Bytes::of(hosts * per_host * 100);
  const CollectivePlan plan = make_algorithm("hierarchical")->compile({CollectiveType::all_to_all, 0, bytes, &layout, nullptr});
  const CollectiveMachine machine = expect_carried_out(plan);
  std::uint32_t between_hosts = 0;
  for (const auto& [pair, sent] : machine.bytes_between()) {
    const GroupLayout::Seat& from = layout.seat(pair.first);
    const GroupLayout::Seat& to = layout.seat(pair.second);
    // To a GPU of the host the blocks for its rail in all hosts; to another host those of all GPUs
    // of the host.
    EXPECT_EQ(sent, Bytes::of(100 * (from.host == to.host ? hosts : per_host)));
    if (from.host == to.host) continue;
    ++between_hosts;
    EXPECT_EQ(from.rail, to.rail);
  }
  EXPECT_EQ(between_hosts, hosts * per_host * (hosts - 1));
  std::uint32_t sends = 0;
  const CollectiveProgram& program = plan.programs.at(0);
  for (std::uint32_t s = 0; s < program.size(); ++s) sends += program.step(s).kind == StepKind::send ? 1 : 0;
  EXPECT_EQ(sends, per_host - 1 + hosts - 1);
}

// With one level left, what is sent between whom is what the level's algorithm sends.
TEST(Hierarchical, IsItsOnlyLevelsAlgorithm) {
  for (const auto& [layout, level] :
       {std::pair(GroupLayout::blocks(1, 6), "inside"), std::pair(GroupLayout::blocks(6, 1), "between")}) {
    for (const std::string exchange : {"ring", "direct"}) {
      for (const CollectiveType type : {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter}) {
        const CollectiveRequest request{type, 0, Bytes::of(6000), &layout, nullptr};
        const CollectivePlan plan = make_algorithm("hierarchical", {{level, exchange}})->compile(request);
        const CollectivePlan alone = make_algorithm(exchange)->compile(request);
        EXPECT_EQ(expect_carried_out(plan).bytes_between(), expect_carried_out(alone).bytes_between())
            << level << " " << exchange << " " << to_text(type);
      }
    }
  }
}

TEST(Hierarchical, HasFewerPiecesWhereRoundsAreMany) {
  const auto algorithm = make_algorithm("hierarchical", {{"pieces", "64"}});
  for (const auto& [hosts, pieces] : {std::pair(64U, 64U), std::pair(1024U, 32U), std::pair(4096U, 8U)}) {
    const GroupLayout layout = GroupLayout::blocks(hosts, 2);
    const CollectivePlan plan = algorithm->compile({CollectiveType::all_reduce, 0, Bytes::of(1 << 30), &layout, nullptr});
    EXPECT_EQ(plan.pieces, pieces) << hosts << " hosts";
  }
}

}  // namespace
}  // namespace weft::hierarchical_test
