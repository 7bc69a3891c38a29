// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/dag.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/workloads/workload_testing.hpp"

namespace weft::dag_test {
namespace {

Op compute(std::int64_t us, std::uint16_t stream = 0) {
  Op op;
  op.duration = Duration::us(us);
  op.stream = stream;
  return op;
}

Op message(OpKind kind, std::int32_t peer, std::uint32_t tag) {
  Op op;
  op.kind = kind;
  op.peer = peer;
  op.tag = tag;
  op.bytes = Bytes::of(1);
  return op;
}

std::set<std::pair<std::uint32_t, std::uint32_t>> edges_of(const RoleDag& dag) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    for (const OpId next : dag.successors(OpId(i))) edges.emplace(i, next.index());
  }
  return edges;
}

TEST(Dag, KeepsTheOrderOfAdditionWhereItIsTopological) {
  RoleBuilder builder;
  builder.add(compute(1), "a");
  builder.add(compute(2), "b");
  builder.add(compute(3), "c");
  builder.depend(2, 0);
  const RoleDag dag = std::move(builder).finish().dag;
  ASSERT_EQ(dag.size(), 3U);
  EXPECT_EQ(dag.name(OpId(1)), "b");
  EXPECT_EQ(dag.op(OpId(2)).duration, Duration::us(3));
  EXPECT_EQ(edges_of(dag), (std::set<std::pair<std::uint32_t, std::uint32_t>>{{0, 2}}));
  EXPECT_EQ(dag.predecessor_count(OpId(2)), 1U);
  EXPECT_EQ(dag.predecessor_count(OpId(1)), 0U);
}

TEST(Dag, SortsDependenciesOnLaterOpsSmallestIndexFirst) {
  // 0 waits for 3; 1 and 2 are free. Ready at first: 1, 2, 3; after 3 also 0, the smallest. Order:
  // 1 2 3 0.
  RoleBuilder builder;
  for (const char* name : {"zero", "one", "two", "three"}) builder.add(compute(1), name);
  builder.depend(0, 3);
  const RoleDag dag = std::move(builder).finish().dag;
  EXPECT_EQ(dag.name(OpId(0)), "one");
  EXPECT_EQ(dag.name(OpId(1)), "two");
  EXPECT_EQ(dag.name(OpId(2)), "three");
  EXPECT_EQ(dag.name(OpId(3)), "zero");
  EXPECT_EQ(edges_of(dag), (std::set<std::pair<std::uint32_t, std::uint32_t>>{{2, 3}}));
}

TEST(Dag, DropsDuplicateEdges) {
  RoleBuilder builder;
  builder.add(compute(1, 1));
  builder.add(compute(1, 1));
  builder.depend(1, 0);
  builder.depend(1, 0);
  const RoleDag dag = std::move(builder).finish().dag;
  EXPECT_EQ(dag.edge_count(), 1U);
  EXPECT_EQ(dag.predecessor_count(OpId(1)), 1U);
}

TEST(Dag, StreamsBecomeEdgesBetweenNeighbours) {
  // Streams 1: ops 0, 2, 3; stream 2: ops 1, 4; op 5 has none.
  RoleBuilder builder;
  for (const int stream : {1, 2, 1, 1, 2, 0}) builder.add(compute(1, static_cast<std::uint16_t>(stream)));
  const RoleDag dag = std::move(builder).finish().dag;
  EXPECT_EQ(edges_of(dag), (std::set<std::pair<std::uint32_t, std::uint32_t>>{{0, 2}, {2, 3}, {1, 4}}));
}

TEST(Dag, NamesACycleOfDependencies) {
  RoleBuilder builder;
  for (int i = 0; i < 5; ++i) builder.add(compute(1));
  builder.depend(1, 3);
  builder.depend(2, 1);
  builder.depend(3, 2);
  builder.depend(4, 3);  // behind the cycle, not on it
  const RoleBuilder::Result result = std::move(builder).finish();
  // 1 waits for 3, 2 for 1, 3 for 2: each waits for the one before it.
  EXPECT_EQ(result.cycle, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_FALSE(result.cycle_uses_stream_order);
}

TEST(Dag, AnOpThatWaitsForItselfIsACycle) {
  RoleBuilder builder;
  builder.add(compute(1));
  builder.depend(0, 0);
  EXPECT_EQ(std::move(builder).finish().cycle, (std::vector<std::uint32_t>{0}));
}

TEST(Dag, TellsWhenOnlyTheStreamMakesTheCycle) {
  // Stream order says 0 before 1, the dependency 1 before 0.
  RoleBuilder builder;
  builder.add(compute(1, 7));
  builder.add(compute(1, 7));
  builder.depend(0, 1);
  const RoleBuilder::Result result = std::move(builder).finish();
  EXPECT_EQ(result.cycle, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(result.cycle_uses_stream_order);
}

TEST(Dag, CountsMatchingOps) {
  RoleBuilder builder;
  Op all_reduce;
  all_reduce.kind = OpKind::collective;
  Op other = all_reduce;
  other.communicator = 1;
  builder.add(all_reduce);                      // 0: world, 0th
  builder.add(other);                           // 1: communicator 1, 0th
  builder.add(all_reduce);                      // 2: world, 1st
  builder.add(message(OpKind::send, 1, 5));     // 3: first to 1 with tag 5
  builder.add(message(OpKind::send, 1, 6));     // 4: first with tag 6
  builder.add(message(OpKind::receive, 1, 5));  // 5: first receive
  builder.add(message(OpKind::send, 1, 5));     // 6: second to 1 with tag 5
  builder.add(message(OpKind::send, 2, 5));     // 7: first to 2
  const RoleDag dag = std::move(builder).finish().dag;
  const std::vector<std::uint32_t> wanted = {0, 0, 1, 0, 0, 0, 1, 0};
  for (std::uint32_t i = 0; i < dag.size(); ++i) EXPECT_EQ(dag.match_ordinal(OpId(i)), wanted[i]) << "op " << i;
}

TEST(Dag, NamesMayStartLate) {
  RoleBuilder builder;
  builder.add(compute(1));
  builder.add(compute(1), "late");
  builder.add(compute(1));
  const RoleDag dag = std::move(builder).finish().dag;
  EXPECT_EQ(dag.name(OpId(0)), "");
  EXPECT_EQ(dag.name(OpId(1)), "late");
  EXPECT_EQ(dag.name(OpId(2)), "");
}

TEST(Dag, AnEmptyRoleIsEmpty) {
  const RoleDag dag = RoleBuilder().finish().dag;
  EXPECT_EQ(dag.size(), 0U);
  EXPECT_EQ(dag.edge_count(), 0U);
}

// Fuzz against a naive oracle: edges as a set, order by repeated search for the smallest ready op.
TEST(Dag, MatchesANaiveBuilderOnRandomGraphs) {
  std::mt19937_64 random(7);
  int cyclic = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t count = 1 + static_cast<std::uint32_t>(random() % 9);
    const bool forward_only = random() % 2 == 0;
    RoleBuilder builder;
    std::vector<std::uint16_t> streams;
    for (std::uint32_t i = 0; i < count; ++i) {
      streams.push_back(static_cast<std::uint16_t>(random() % 3));
      builder.add(compute(i, streams.back()), "op" + std::to_string(i));
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
    const std::uint32_t wanted = static_cast<std::uint32_t>(random() % 8);
    for (std::uint32_t k = 0; k < wanted; ++k) {
      std::uint32_t from = static_cast<std::uint32_t>(random() % count);
      std::uint32_t to = static_cast<std::uint32_t>(random() % count);
      if (forward_only && from == to) continue;
      if (forward_only && from > to) std::swap(from, to);
      builder.depend(to, from);
      edges.emplace(from, to);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = i + 1; j < count; ++j) {
        if (streams[i] != 0 && streams[j] == streams[i]) {
          edges.emplace(i, j);
          break;
        }
      }
    }
    std::vector<std::uint32_t> order;
    std::vector<bool> done(count, false);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t i = 0; i < count && !progress; ++i) {
        const bool ready =
            !done[i] && std::all_of(edges.begin(), edges.end(), [&](const auto& e) { return e.second != i || done[e.first]; });
        if (!ready) continue;
        done[i] = true;
        order.push_back(i);
        progress = true;
      }
    }
    const RoleBuilder::Result result = std::move(builder).finish();
    if (order.size() < count) {
      ++cyclic;
      ASSERT_FALSE(result.cycle.empty());
      for (std::size_t k = 0; k < result.cycle.size(); ++k) {
        EXPECT_TRUE(edges.count({result.cycle[k], result.cycle[(k + 1) % result.cycle.size()]})) << "round " << round;
      }
      continue;
    }
    ASSERT_TRUE(result.cycle.empty()) << "round " << round;
    std::vector<std::uint32_t> position(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      position[order[i]] = i;
      EXPECT_EQ(result.dag.name(OpId(i)), "op" + std::to_string(order[i])) << "round " << round;
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> renumbered;
    for (const auto& [from, to] : edges) renumbered.emplace(position[from], position[to]);
    EXPECT_EQ(edges_of(result.dag), renumbered) << "round " << round;
    EXPECT_EQ(result.dag.edge_count(), renumbered.size());
  }
  EXPECT_GT(cyclic, 200);  // both outcomes were exercised
  EXPECT_LT(cyclic, 1800);
}

TEST(Dag, TablesAreAPartOfWhatMakesRolesEqual) {
  const auto exchanging = [](std::uint32_t splits) {
    RoleBuilder builder;
    Op op;
    op.kind = OpKind::collective;
    op.collective = CollectiveType::all_to_all_v;
    op.splits = splits;
    builder.add(op);
    return std::move(builder).finish().dag;
  };
  const RoleDag first = exchanging(0);
  const RoleDag second = exchanging(1);
  EXPECT_EQ(second.op(OpId(0)).splits, 1U);
  EXPECT_FALSE(first == second);
  EXPECT_NE(first.digest(), second.digest());
  EXPECT_TRUE(second == exchanging(1));
  EXPECT_EQ(second.digest(), exchanging(1).digest());
}

TEST(SplitTable, AddsUpRowsAndColumns) {
  // 1 2 3 / 4 5 6 / 7 8 9: rows 6, 15, 24; columns 12, 15, 18.
  std::vector<Bytes> bytes;
  for (std::int64_t i = 1; i <= 9; ++i) bytes.push_back(Bytes::of(i));
  const SplitTable table("t", 3, bytes);
  EXPECT_EQ(table.positions(), 3U);
  EXPECT_EQ(table.at(1, 2), Bytes::of(6));
  EXPECT_EQ(table.row_sum(1), Bytes::of(15));
  EXPECT_EQ(table.column_sum(2), Bytes::of(18));
  EXPECT_EQ(table.row_sum_max(), Bytes::of(24));
}

TEST(Communicator, WorldHoldsEveryRank) {
  const Communicator world = Communicator::world(3);
  EXPECT_EQ(world.name(), "world");
  ASSERT_EQ(world.group_count(), 1U);
  EXPECT_EQ(world.ranks(GroupId(0)).size(), 3U);
  EXPECT_EQ(world.position_of(RankId(2)), 2U);
}

TEST(Communicator, PositionsFollowTheList) {
  const Communicator groups("tp", 5, {{RankId(3), RankId(1)}, {RankId(0)}});
  EXPECT_EQ(groups.group_of(RankId(1)), GroupId(0));
  EXPECT_EQ(groups.position_of(RankId(1)), 1U);
  EXPECT_EQ(groups.position_of(RankId(3)), 0U);
  EXPECT_EQ(groups.group_of(RankId(0)), GroupId(1));
  EXPECT_TRUE(groups.group_of(RankId(4)).is_none());
}

}  // namespace
}  // namespace weft::dag_test
