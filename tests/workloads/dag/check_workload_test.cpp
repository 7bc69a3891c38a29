// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::check_workload_test {
namespace {

Op all_reduce(std::int64_t bytes, std::uint16_t communicator = 0) {
  Op op;
  op.kind = OpKind::collective;
  op.communicator = communicator;
  op.bytes = Bytes::of(bytes);
  return op;
}

Op broadcast(std::int64_t bytes, std::int32_t root) {
  Op op = all_reduce(bytes);
  op.collective = CollectiveType::broadcast;
  op.peer = root;
  return op;
}

Op message(OpKind kind, PeerAddressing addressing, std::int32_t peer, std::int64_t bytes = 8, std::uint32_t tag = 0) {
  Op op;
  op.kind = kind;
  op.addressing = addressing;
  op.peer = peer;
  op.bytes = Bytes::of(bytes);
  op.tag = tag;
  return op;
}

RoleDag role(const std::vector<Op>& ops) {
  RoleBuilder builder;
  for (const Op& op : ops) builder.add(op);
  return std::move(builder).finish().dag;
}

Workload workload(const std::vector<std::vector<Op>>& roles, std::vector<std::uint16_t> role_of) {
  Workload result;
  result.rank_count = static_cast<std::uint32_t>(role_of.size());
  result.communicators.push_back(Communicator::world(result.rank_count));
  for (const auto& ops : roles) {
    result.role_names.push_back("role" + std::to_string(result.roles.size()));
    result.roles.push_back(role(ops));
  }
  result.role_of = std::move(role_of);
  return result;
}

std::string check(const Workload& workload) {
  Diagnostics diagnostics;
  check_workload(workload, SourcePlace{"w.textproto", 0, 0, 1, ""}, diagnostics);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) text += diagnostic.to_text();
  return text;
}

constexpr auto kAbsolute = PeerAddressing::absolute;
constexpr auto kRelative = PeerAddressing::relative;

TEST(CheckWorkload, OneRoleAgreesWithItself) { EXPECT_EQ(check(workload({{all_reduce(8), broadcast(8, 2)}}, {0, 0, 0})), ""); }

TEST(CheckWorkload, NamesTheFirstCollectiveThatDiffers) {
  const std::string text = check(workload({{all_reduce(8), all_reduce(16)}, {all_reduce(8), all_reduce(32)}}, {0, 0, 1}));
  EXPECT_HAS(text, "[group-mismatch]");
  EXPECT_HAS(
      text,
      "collective number 1 in communicator \"world\" is all_reduce of 16B (op 1) on rank 0 but all_reduce of 32B (op 1) on rank 2");
}

TEST(CheckWorkload, NamesARankThatDoesNotJoin) {
  const std::string text = check(workload({{all_reduce(8), all_reduce(8)}, {all_reduce(8)}}, {0, 1}));
  EXPECT_HAS(text, "rank 1 does not join all_reduce of 8B (op 1) in communicator \"world\"");
}

TEST(CheckWorkload, RootsMustAgreeAndExist) {
  EXPECT_HAS(check(workload({{broadcast(8, 0)}, {broadcast(8, 1)}}, {0, 1})), "[group-mismatch]");
  EXPECT_HAS(check(workload({{broadcast(8, 2)}}, {0, 0})), "[peer-out-of-range]");
  EXPECT_HAS(check(workload({{broadcast(8, -1)}}, {0, 0})), "[peer-out-of-range]");
}

Op rooted(CollectiveType type, std::int32_t root) {
  Op op = broadcast(8, root);
  op.collective = type;
  return op;
}

TEST(CheckWorkload, EveryRootMustAgreeAndExist) {
  for (const CollectiveType type : {CollectiveType::reduce, CollectiveType::gather, CollectiveType::scatter}) {
    EXPECT_EQ(check(workload({{rooted(type, 1)}, {rooted(type, 1)}}, {0, 1})), "");
    const std::string direction = type == CollectiveType::scatter ? "from" : "to";
    EXPECT_HAS(check(workload({{rooted(type, 0)}, {rooted(type, 1)}}, {0, 1})),
               std::string(to_text(type)) + " of 8B " + direction + " root 0 (op 0) on rank 0 but " + std::string(to_text(type)) +
                   " of 8B " + direction + " root 1 (op 0) on rank 1");
    EXPECT_HAS(check(workload({{rooted(type, 2)}}, {0, 0})), "root 2 of op 0 of role \"role0\" is outside the group of rank 0");
  }
}

TEST(CheckWorkload, ABarrierMatchesOnlyABarrier) {
  Op barrier = all_reduce(0);
  barrier.collective = CollectiveType::barrier;
  EXPECT_EQ(check(workload({{barrier}, {barrier}}, {0, 1})), "");
  EXPECT_HAS(check(workload({{barrier}, {all_reduce(0)}}, {0, 1})),
             "is barrier (op 0) on rank 0 but all_reduce of 0B (op 0) on rank 1");
}

TEST(CheckWorkload, TablesMustAgreeAndFitTheGroup) {
  const auto exchanging = [](const std::vector<std::uint32_t>& splits, std::vector<std::uint16_t> role_of) {
    std::vector<std::vector<Op>> roles;
    for (const std::uint32_t index : splits) {
      Op op = all_reduce(4);
      op.collective = CollectiveType::all_to_all_v;
      op.splits = index;
      roles.push_back({op});
    }
    Workload result = workload(roles, std::move(role_of));
    // Both have rows of 4 bytes.
    result.splits.emplace_back("even", 2, std::vector<Bytes>(4, Bytes::of(2)));
    result.splits.emplace_back("skew", 2, std::vector<Bytes>{Bytes::of(1), Bytes::of(3), Bytes::of(0), Bytes::of(4)});
    return result;
  };
  EXPECT_EQ(check(exchanging({1}, {0, 0})), "");
  EXPECT_HAS(check(exchanging({0, 1}, {0, 1})),
             "is all_to_all_v of splits \"even\" (op 0) on rank 0 but all_to_all_v of splits \"skew\" (op 0) on rank 1");
  EXPECT_HAS(
      check(exchanging({1}, {0, 0, 0})),
      "splits \"skew\" of op 0 of role \"role0\" are for a group of 2, but the group of rank 0 in communicator \"world\" has 3 "
      "ranks [splits-mismatch]");
}

TEST(CheckWorkload, ARankOutsideEveryGroupCannotCommunicate) {
  Workload lonely = workload({{all_reduce(8, 1)}}, {0, 0, 0});
  lonely.communicators.emplace_back("dp", 3, std::vector<std::vector<RankId>>{{RankId(0), RankId(1)}});
  EXPECT_HAS(check(lonely), "rank 2 runs op 0 of role \"role0\" but is in no group of communicator \"dp\"");
}

TEST(CheckWorkload, ARingOfRelativePeersMatches) {
  EXPECT_EQ(check(workload({{message(OpKind::send, kRelative, 1), message(OpKind::receive, kRelative, -1)}}, {0, 0, 0, 0, 0})), "");
}

TEST(CheckWorkload, RelativeAndAbsolutePeersMatchEachOther) {
  EXPECT_EQ(check(workload({{message(OpKind::send, kRelative, 1)}, {message(OpKind::receive, kAbsolute, 0)}}, {0, 1})), "");
}

TEST(CheckWorkload, NamesUnmatchedMessages) {
  EXPECT_HAS(check(workload({{message(OpKind::send, kAbsolute, 1)}, {all_reduce(0, 0)}}, {0, 1})), "[group-mismatch]");
  const std::string send = check(workload({{message(OpKind::send, kAbsolute, 1, 8, 3)}, {Op()}}, {0, 1}));
  EXPECT_HAS(send, "rank 0 sends 8B to rank 1 in op 0 with tag 3");
  EXPECT_HAS(send, "[unmatched-send]");
  const std::string receive = check(workload({{message(OpKind::receive, kAbsolute, 1)}, {Op()}}, {0, 1}));
  EXPECT_HAS(receive, "[unmatched-receive]");
}

TEST(CheckWorkload, SizesOfAPairMustAgree) {
  const std::string text =
      check(workload({{message(OpKind::send, kAbsolute, 1, 8)}, {message(OpKind::receive, kAbsolute, 0, 9)}}, {0, 1}));
  EXPECT_HAS(text, "rank 0 sends 8B to rank 1 in op 0, but op 0 receives 9B");
}

TEST(CheckWorkload, PeersMustExistAndBeSomebodyElse) {
  EXPECT_HAS(check(workload({{message(OpKind::send, kAbsolute, 2)}, {Op()}}, {0, 1})), "[peer-out-of-range]");
  EXPECT_HAS(check(workload({{message(OpKind::send, kRelative, 2)}}, {0, 0})), "talk to itself");
}

TEST(CheckWorkload, TwoNamesForOnePeerAreAmbiguous) {
  // Offset +1 and +3 name the same rank in a group of two.
  const std::string text = check(workload({{message(OpKind::send, kRelative, 1), message(OpKind::send, kRelative, 3),
                                            message(OpKind::receive, kRelative, 1), message(OpKind::receive, kRelative, 3)}},
                                          {0, 0}));
  EXPECT_HAS(text, "[ambiguous-peer]");
}

// Random complete exchanges match; with one message's tag, size or presence changed they never do.
TEST(CheckWorkload, FindsEverySingleFaultInRandomExchanges) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t ranks = 2 + static_cast<std::uint32_t>(random() % 5);
    std::vector<std::vector<Op>> ops(ranks, {Op()});
    const int messages = 1 + static_cast<int>(random() % 12);
    for (int m = 0; m < messages; ++m) {
      const auto from = static_cast<std::uint32_t>(random() % ranks);
      const auto to = static_cast<std::uint32_t>((from + 1 + random() % (ranks - 1)) % ranks);
      const auto tag = static_cast<std::uint32_t>(random() % 2);
      const auto bytes = static_cast<std::int64_t>(random() % 3);
      ops[from].push_back(message(OpKind::send, kAbsolute, static_cast<std::int32_t>(to), bytes, tag));
      ops[to].push_back(message(OpKind::receive, kAbsolute, static_cast<std::int32_t>(from), bytes, tag));
    }
    std::vector<std::uint16_t> role_of;
    for (std::uint32_t r = 0; r < ranks; ++r) role_of.push_back(static_cast<std::uint16_t>(r));
    ASSERT_EQ(check(workload(ops, role_of)), "") << "round " << round;
    for (auto& list : ops) {
      if (list.size() < 2) continue;
      Op& victim = list[1 + random() % (list.size() - 1)];
      if (round % 3 == 0) victim.tag += 100;
      if (round % 3 == 1) victim.bytes = victim.bytes + Bytes::of(1000);
      if (round % 3 == 2) victim = Op();
      break;
    }
    EXPECT_NE(check(workload(ops, role_of)), "") << "round " << round;
  }
}

}  // namespace
}  // namespace weft::check_workload_test
