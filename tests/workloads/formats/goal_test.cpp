// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/goal/goal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/formats/goal/goal_matching.hpp"
#include "workloads/formats/goal/goal_order.hpp"
#include "workloads/formats/goal/goal_text.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft::goal_test {
namespace {

class GoalFile {
 public:
  Workload import(const std::string& text, const GoalOptions& options = {}) const {
    return import_goal(folder_.write("s.goal", text), options);
  }
  std::string errors(const std::string& text, const GoalOptions& options = {}) const {
    return errors_of([&] { import(text, options); });
  }

 private:
  TemporaryFolder folder_;
};

bool has_assumption(const Workload& workload, const std::string& part) {
  return std::any_of(workload.assumptions.begin(), workload.assumptions.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

TEST(ImportGoal, ReadsEveryStatement) {
  const Workload workload = GoalFile().import(
      "num_ranks 2\n"
      "/* a comment\n"
      "   of two lines */\n"
      "rank 0 {\n"
      "  a: calc 1500 cpu 3   // a comment\n"
      "  b: send 1024b to 1 nic 1 cpu 2 tag 7\n"
      "  b requires a\n"
      "}\n"
      "rank 1 { recv 1024b from 0 tag 7; calc 20 /* inside */ cpu 0 }\n");
  EXPECT_EQ(workload.name, "s");
  EXPECT_EQ(workload.rank_count, 2U);
  ASSERT_EQ(workload.roles.size(), 2U);
  const RoleDag& sender = workload.dag_of(RankId(0));
  ASSERT_EQ(sender.size(), 2U);
  EXPECT_EQ(sender.op(OpId(0)).duration, Duration::ns(1500));
  EXPECT_EQ(sender.op(OpId(1)).kind, OpKind::send);
  EXPECT_EQ(sender.op(OpId(1)).bytes, Bytes::of(1024));
  EXPECT_EQ(sender.op(OpId(1)).tag, 7U);
  EXPECT_EQ(sender.edge_count(), 1U);
  const RoleDag& receiver = workload.dag_of(RankId(1));
  EXPECT_EQ(receiver.op(OpId(0)).kind, OpKind::receive);
  EXPECT_EQ(receiver.edge_count(), 0U);
  EXPECT_TRUE(has_assumption(workload, "nanoseconds"));
  EXPECT_TRUE(has_assumption(workload, "1 op names a nic"));
}

TEST(ImportGoal, TakesATimeUnit) {
  const Workload workload = GoalFile().import("num_ranks 1\nrank 0 { calc 3 }\n", {std::nullopt, "us"});
  EXPECT_EQ(workload.roles[0].op(OpId(0)).duration, Duration::us(3));
  EXPECT_FALSE(has_assumption(workload, "nanoseconds"));
}

TEST(ImportGoal, ReadsRanksInAnyOrderAndLabelsBeforeTheirOps) {
  const Workload workload =
      GoalFile().import("num_ranks 3\nrank 2 { calc 3 }\nrank 0 { b requires a\n a: calc 1\n b: calc 10 cpu 1 }\nrank 1\n{\n}\n");
  EXPECT_EQ(longest_path(workload.dag_of(RankId(0))), Duration::ns(11));
  EXPECT_EQ(workload.dag_of(RankId(1)).size(), 0U);
  EXPECT_EQ(workload.dag_of(RankId(2)).op(OpId(0)).duration, Duration::ns(3));
}

TEST(ImportGoal, ARingIsOneRoleAndSoAreTheLeavesOfAGather) {
  std::string ring = "num_ranks 16\n";
  std::string gather = "num_ranks 16\n";
  for (int r = 0; r < 16; ++r) {
    ring += fmt::format("rank {} {{ l{}: send 8b to {}\n recv 8b from {} }}\n", r, r, (r + 1) % 16, (r + 15) % 16);
    gather += fmt::format("rank {} {{", r);
    for (int s = 1; s < 16 && r == 0; ++s) gather += fmt::format(" recv 8b from {};", s);
    gather += r == 0 ? "}\n" : " send 8b to 0 }\n";
  }
  EXPECT_EQ(GoalFile().import(ring).roles.size(), 1U);
  // The root, the first leaf (told by offset), and all other leaves (told by number).
  EXPECT_EQ(GoalFile().import(gather).roles.size(), 3U);
}

// c starts with b, that is after a (30 ns); d starts with c and so at the same instant.
TEST(ImportGoal, IrequiresWaitsForTheStart) {
  const Workload workload = GoalFile().import(
      "num_ranks 1\nrank 0 {\n a: calc 30\n b: calc 1000 cpu 1\n c: calc 5 cpu 2\n d: calc 7 cpu 3\n"
      " b requires a\n c irequires b\n d irequires c\n}\n");
  const RoleDag& dag = workload.roles[0];
  std::vector<Duration> start(dag.size());
  std::map<std::int64_t, Duration> start_by_duration_ns;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const Op op = dag.op(OpId(i));
    start_by_duration_ns[op.duration.in_ticks() / Duration::ticks_per_ns] = start[i];
    for (const OpId next : dag.successors(OpId(i))) start[next.index()] = std::max(start[next.index()], start[i] + op.duration);
  }
  EXPECT_EQ(start_by_duration_ns[1000], Duration::ns(30));
  EXPECT_EQ(start_by_duration_ns[5], Duration::ns(30));
  EXPECT_EQ(start_by_duration_ns[7], Duration::ns(30));
}

TEST(ImportGoal, OpsWhoseStartNothingDelaysDelayNobody) {
  const Workload workload = GoalFile().import("num_ranks 1\nrank 0 { a: calc 30 cpu 0; b: calc 5 cpu 1; b irequires a }\n");
  EXPECT_EQ(workload.roles[0].size(), 2U);
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::ns(30));
}

TEST(ImportGoal, CalcsOfACpuThatBecomeReadyTogetherTakeTurns) {
  // 10 + 20 on cpu 0, 25 on cpu 1; then 1 + 2, both after the 25.
  const Workload workload = GoalFile().import(
      "num_ranks 1\nrank 0 { calc 10; calc 20; w: calc 25 cpu 1; x: calc 1 cpu 2; y: calc 2 cpu 2; x requires w; y requires w }\n");
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::ns(30));
  EXPECT_EQ(workload.roles[0].edge_count(), 4U);
  EXPECT_FALSE(has_assumption(workload, "overlap"));
}

TEST(ImportGoal, CountsCalcsThatMayOverlap) {
  const Workload workload = GoalFile().import(
      "num_ranks 2\nrank 0 { a: calc 10; r: recv 1b from 1; b: calc 20; c: calc 3; b requires r; c requires a; c requires b }\n"
      "rank 1 { send 1b to 0 }\n");
  EXPECT_TRUE(has_assumption(workload, "1 calc may overlap"));
}

// Ranks 1 and 2 send after 50 and 20 ns, so the first receive from anybody gets rank 2's message.
// The second, with any tag, is left with rank 1's.
TEST(ImportGoal, CountsOverlapsAsSearchingEveryPairDoes) {
  // Counting went through all ops once per cpu: 60,000 cpus took minutes. Pairs of calcs now share
  // passes; 400 ops on 5 cpus need several. Every op waits for two earlier ones, so none become
  // ready together, and the order of the file is that of the dependencies.
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    constexpr std::uint32_t kOps = 400;
    const std::uint64_t reach = 2 + random() % 40;
    std::string text = "num_ranks 1\nrank 0 {\n";
    std::vector<std::vector<bool>> before(kOps, std::vector<bool>(kOps, false));  // [op][ancestor]
    std::map<std::uint64_t, std::uint32_t> latest;
    std::uint64_t overlaps = 0;
    for (std::uint32_t op = 0; op < kOps; ++op) {
      const std::uint64_t cpu = random() % 5;
      text += fmt::format("l{}: calc 10 cpu {}\n", op, cpu);
      const auto depend = [&](std::uint32_t on) {
        text += fmt::format("l{} requires l{}\n", op, on);
        before[op][on] = true;
        for (std::uint32_t i = 0; i < on; ++i) before[op][i] = before[op][i] || before[on][i];
      };
      if (op > 0) {
        const auto first = static_cast<std::uint32_t>(op - 1 - random() % std::min<std::uint64_t>(op, reach));
        depend(first);
        if (op > 1) depend(first == 0 ? 1 : first - 1);
      }
      if (const auto [last, is_first] = latest.try_emplace(cpu, op); !is_first) {
        overlaps += before[op][last->second] ? 0 : 1;
        last->second = op;
      }
    }
    EXPECT_TRUE(has_assumption(GoalFile().import(text + "}\n"), std::to_string(overlaps) + " calcs may overlap")) << overlaps;
  }
}

TEST(GoalMatching, TakesTheFirstThatFitsAsSearchingTheListsDoes) {
  // Every message went through the list of all posted receives and back; both are looked up by
  // source and tag now. Sends and receives are delayed by calcs of different lengths, so the order
  // of all events is known.
  std::mt19937_64 random(9);
  for (int round = 0; round < 50; ++round) {
    constexpr std::uint32_t kSenders = 3;
    std::vector<GoalRank> ranks(kSenders + 1);
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
      ranks[r].rank = r;
      ranks[r].rank_count = kSenders + 1;
    }
    const auto add = [&](std::uint32_t rank, std::int64_t at, const GoalOp& op) {
      GoalOp calc;
      calc.amount = at;
      ranks[rank].ops.push_back(calc);
      ranks[rank].ops.push_back(op);
      const auto last = static_cast<std::uint32_t>(ranks[rank].ops.size() - 1);
      ranks[rank].after_end.emplace_back(last - 1, last);
      return last;
    };
    std::vector<std::pair<std::uint32_t, GoalOp>> posted;          // (op, its receive), in order
    std::vector<std::pair<std::uint32_t, std::uint32_t>> arrived;  // (source, tag), in order
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> wanted;
    const auto fits = [](const GoalOp& receive, const std::pair<std::uint32_t, std::uint32_t>& message) {
      return (receive.peer == goal_any_source || receive.peer == message.first) &&
             (receive.any_tag || receive.tag == message.second);
    };
    for (std::int64_t at = 1; at <= 200; ++at) {
      GoalOp op;
      op.amount = 8;
      op.tag = static_cast<std::uint32_t>(random() % 3);
      const auto sender = static_cast<std::uint32_t>(1 + random() % kSenders);
      if (random() % 2 == 0) {
        op.kind = OpKind::send;
        op.peer = 0;
        add(sender, at, op);
        const std::pair message(sender, op.tag);
        const auto found =
            std::find_if(posted.begin(), posted.end(), [&](const auto& entry) { return fits(entry.second, message); });
        if (found == posted.end()) {
          arrived.push_back(message);
        } else {
          wanted[found->first] = message;
          posted.erase(found);
        }
      } else {
        op.kind = OpKind::receive;
        op.peer = random() % 2 == 0 ? goal_any_source : sender;
        op.any_tag = random() % 3 == 0;
        const std::uint32_t index = add(0, at, op);
        const auto found = std::find_if(arrived.begin(), arrived.end(), [&](const auto& message) { return fits(op, message); });
        if (found == arrived.end()) {
          posted.emplace_back(index, op);
        } else {
          wanted[index] = *found;
          arrived.erase(found);
        }
      }
    }
    const std::vector<GoalMatching::Unmatched> unmatched = match_goal_messages(ranks).unmatched;
    for (const auto& [op, message] : wanted) {
      EXPECT_EQ(std::pair(ranks[0].ops[op].peer, ranks[0].ops[op].tag), message) << "round " << round << ", op " << op;
    }
    const auto left = std::count_if(posted.begin(), posted.end(), [](const auto& entry) { return entry.second.is_wildcard(); });
    const auto wildcards = std::count_if(unmatched.begin(), unmatched.end(), [&](const GoalMatching::Unmatched& one) {
      return ranks[one.receive.index].ops[one.receive.op].is_wildcard();
    });
    EXPECT_EQ(wildcards, left);
  }
}

TEST(GoalMatching, FindsWhatWasTakenFromManyReceivesAtOnce) {
  // Each unmatched receive went through all messages that wildcard receives had taken. Of the
  // 40'000 receives of tag 1 none could have had one of the 40'000 messages of tag 0; the last
  // receive could: the first of them.
  constexpr std::uint32_t kMessages = 40'000;
  std::vector<GoalRank> ranks(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    ranks[r].rank = r;
    ranks[r].rank_count = 2;
  }
  const auto add = [&](std::uint32_t rank, OpKind kind, std::uint32_t peer, std::uint32_t tag) {
    GoalOp op;
    op.kind = kind;
    op.amount = 8;
    op.peer = peer;
    op.tag = tag;
    ranks[rank].ops.push_back(op);
  };
  for (std::uint32_t i = 0; i < kMessages; ++i) add(1, OpKind::send, 0, 0);
  add(1, OpKind::send, 0, 2);
  for (std::uint32_t i = 0; i < kMessages; ++i) add(0, OpKind::receive, goal_any_source, 0);
  for (std::uint32_t i = 0; i < kMessages; ++i) add(0, OpKind::receive, 1, 1);
  add(0, OpKind::receive, 1, 0);
  const std::vector<GoalMatching::Unmatched> unmatched = match_goal_messages(ranks).unmatched;
  ASSERT_EQ(unmatched.size(), 1U);
  EXPECT_EQ(unmatched[0].receive.op, 2 * kMessages);
  ASSERT_TRUE(unmatched[0].taken && unmatched[0].taken_by && unmatched[0].left_over);
  EXPECT_EQ(unmatched[0].taken->op, 0U);
  EXPECT_EQ(unmatched[0].taken_by->op, 0U);
  EXPECT_EQ(unmatched[0].left_over->op, kMessages);
}

TEST(ImportGoal, ReceivesFromAnySourceTakeWhatComesFirst) {
  const Workload workload = GoalFile().import(
      "num_ranks 3\n"
      "rank 0 { a: recv 8b from -1 tag 4; b: recv 9b from -1 tag -1; b requires a }\n"
      "rank 1 { c: calc 50; s: send 9b to 0 tag 4; s requires c }\n"
      "rank 2 { c: calc 20; s: send 8b to 0 tag 4; s requires c }\n");
  const RoleDag& dag = workload.dag_of(RankId(0));
  EXPECT_EQ(dag.op(OpId(0)).peer, 2);
  EXPECT_EQ(dag.op(OpId(1)).peer, 1);
  EXPECT_EQ(dag.op(OpId(1)).tag, 4U);
  EXPECT_TRUE(has_assumption(workload, "2 receives from any source"));
}

/// Position of a rank's only op of this size and kind among those it matches with.
std::uint32_t ordinal_of(const Workload& workload, std::uint32_t rank, OpKind kind, std::int64_t bytes) {
  const RoleDag& dag = workload.dag_of(RankId(rank));
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (dag.kind(OpId(i)) == kind && dag.op(OpId(i)).bytes == Bytes::of(bytes)) return dag.match_ordinal(OpId(i));
  }
  return UINT32_MAX;
}

TEST(ImportGoal, EqualMessagesMatchAsTheyAreIssued) {
  // They matched in the order of the file, and this schedule, which LogGOPSim runs, was refused: c
  // is issued at 0, b after 1 ms.
  const std::string sender = "num_ranks 2\nrank 0 { a: calc 1000000; b: send 2000000b to 1; b requires a; c: send 10b to 1 }\n";
  const Workload workload = GoalFile().import(sender + "rank 1 { recv 10b from 0; recv 2000000b from 0 }\n");
  EXPECT_EQ(ordinal_of(workload, 0, OpKind::send, 10), 0U);
  EXPECT_EQ(ordinal_of(workload, 0, OpKind::send, 2'000'000), 1U);
  EXPECT_TRUE(has_assumption(workload, "1 message matches in the order"));
  // The other way round it was accepted.
  const std::string errors = GoalFile().errors(sender + "rank 1 { recv 2000000b from 0; recv 10b from 0 }\n");
  EXPECT_HAS(errors, "rank 0 sends 10B to rank 1 in op \"c, line 2\", but op \"line 3\" receives 2MB [unmatched-send]");
  EXPECT_HAS(errors, "in which order 1 message with the same peer and tag as another one is issued [issue-order]");
}

TEST(ImportGoal, ReceivesMatchAsTheyAreIssuedToo) {
  const Workload workload = GoalFile().import(
      "num_ranks 2\nrank 0 { s: send 1b to 1; t: send 2b to 1; t requires s }\n"
      "rank 1 { c: calc 5; r: recv 2b from 0; r requires c; recv 1b from 0 }\n");
  EXPECT_EQ(ordinal_of(workload, 1, OpKind::receive, 1), 0U);
  EXPECT_EQ(ordinal_of(workload, 1, OpKind::receive, 2), 1U);
}

TEST(ImportGoal, AnIrequiresOrdersEqualMessages) {
  // s is issued right after t. Both wait for a; that t comes first is not among the dependencies
  // that remain once the start of t is an op.
  for (const std::string waits : {"t requires a; ", ""}) {
    const Workload workload = GoalFile().import("num_ranks 2\nrank 0 { a: calc 1; s: send 1b to 1; t: send 2b to 1; " + waits +
                                                "s irequires t }\nrank 1 { recv 2b from 0; recv 1b from 0 }\n");
    EXPECT_EQ(ordinal_of(workload, 0, OpKind::send, 2), 0U);
    EXPECT_EQ(ordinal_of(workload, 0, OpKind::send, 1), 1U);
    EXPECT_FALSE(has_assumption(workload, "in the order"));
  }
}

TEST(ImportGoal, OrdersThatDependenciesSettleNeedNoRehearsal) {
  // s and t hang off a chain of calcs, u waits for nothing; v and w wait for the same op.
  const Workload workload = GoalFile().import(
      "num_ranks 2\nrank 0 { u: send 1b to 1; a: calc 1; b: calc 1; s: send 1b to 1; t: send 1b to 1; b requires a; s requires a; "
      "t requires b; v: send 1b to 1; w: send 1b to 1; v requires t; w requires t }\n"
      "rank 1 { recv 1b from 0; recv 1b from 0; recv 1b from 0; recv 1b from 0; recv 1b from 0 }\n");
  EXPECT_FALSE(has_assumption(workload, "in the order"));
}

TEST(GoalOrder, CountsWhatSearchingEveryPairDoes) {
  // Dependencies point back, so file order is an order of theirs. A pair is settled if all that its
  // first op waits for comes before its second op; with irequires, if the first op itself does.
  std::mt19937_64 random(4);
  std::uint64_t open_in_all = 0;
  for (int round = 0; round < 400; ++round) {
    GoalRank rank;
    constexpr std::uint32_t kOps = 40;
    std::vector<std::vector<std::uint32_t>> waits_for(kOps);
    std::vector<std::vector<bool>> before(kOps, std::vector<bool>(kOps, false));  // [op][ancestor]
    for (std::uint32_t op = 0; op < kOps; ++op) {
      GoalOp what;
      what.kind = random() % 3 == 0 ? OpKind::compute : OpKind::send;
      what.tag = static_cast<std::uint32_t>(random() % 3);
      rank.ops.push_back(what);
      for (std::uint64_t k = random() % 3; k > 0 && op > 0; --k) {
        const auto on = static_cast<std::uint32_t>(op - 1 - random() % std::min<std::uint64_t>(op, 4));
        (round % 2 == 1 && random() % 8 == 0 ? rank.after_start : rank.after_end).emplace_back(on, op);
        waits_for[op].push_back(on);
        before[op][on] = true;
        for (std::uint32_t i = 0; i < on; ++i) before[op][i] = before[op][i] || before[on][i];
      }
    }
    std::uint64_t open = 0;
    std::map<std::uint32_t, std::uint32_t> latest;
    for (std::uint32_t op = 0; op < kOps; ++op) {
      if (rank.ops[op].kind != OpKind::send) continue;
      const auto [last, is_first] = latest.try_emplace(rank.ops[op].tag, op);
      if (!is_first) {
        const std::vector<std::uint32_t>& of_first = waits_for[last->second];
        const bool settled = rank.after_start.empty()
                                 ? std::all_of(of_first.begin(), of_first.end(), [&](std::uint32_t on) { return before[op][on]; })
                                 : before[op][last->second];
        open += settled ? 0 : 1;
      }
      last->second = op;
    }
    EXPECT_EQ(count_open_orders(rank), open) << "round " << round;
    open_in_all += open;
  }
  EXPECT_GT(open_in_all, 400U);
}

TEST(ImportGoal, IssueOrderIsThatOfTheStarts) {
  // Sends of different sizes with one tag, calcs between them and dependencies of both kinds; the
  // start of every op follows from the dependencies alone, and no two sends start at one instant,
  // as the calcs' durations are distinct powers of two.
  std::mt19937_64 random(6);
  for (int round = 0; round < 50; ++round) {
    constexpr std::uint32_t kPairs = 12;
    std::string text = "num_ranks 2\nrank 0 {\n";
    std::vector<std::int64_t> start_of_send(kPairs, 0);
    std::vector<std::int64_t> start_of_calc(kPairs, 0);
    for (std::uint32_t i = 0; i < kPairs; ++i) {
      const std::string number = std::to_string(i);
      text += fmt::format("s{}: send {}b to 1\nc{}: calc {} cpu {}\n", number, i + 1, number, 1 << i, number);
      if (i > 0 && random() % 2 == 0) {
        const auto on = static_cast<std::uint32_t>(random() % i);
        const bool after_start = random() % 2 == 0;
        text += fmt::format("c{}{}{}\n", number, after_start ? " irequires c" : " requires c", on);
        start_of_calc[i] = start_of_calc[on] + (after_start ? 0 : 1 << on);
      }
      text += "s" + number + " requires c" + number + "\n";
      start_of_send[i] = start_of_calc[i] + (1 << i);
    }
    std::vector<std::uint32_t> wanted(kPairs);
    for (std::uint32_t i = 0; i < kPairs; ++i) wanted[i] = i;
    std::stable_sort(wanted.begin(), wanted.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return start_of_send[a] < start_of_send[b]; });
    text += "}\nrank 1 {\n";
    for (const std::uint32_t send : wanted) text += fmt::format("recv {}b from 0\n", send + 1);
    EXPECT_EQ(GoalFile().errors(text + "}\n"), "") << text;
  }
}

TEST(ImportGoal, NamesTheOpsOfSomeRanksOnDemand) {
  const std::string text = "num_ranks 3\nrank 0 { a: send 1b to 1 }\nrank 1 { b: recv 1b from 0 }\nrank 2 { c: calc 1 }\n";
  GoalOptions options;
  options.named_ranks = {1};
  const Workload workload = GoalFile().import(text, options);
  EXPECT_EQ(workload.dag_of(RankId(1)).name(OpId(0)), "b, line 3");
  EXPECT_EQ(workload.dag_of(RankId(0)).name(OpId(0)), "");
  EXPECT_EQ(GoalFile().import(text).dag_of(RankId(1)).name(OpId(0)), "");
}

struct Fault {
  std::string title;
  std::string text;
  std::string wanted;
};

class GoalFaults : public testing::TestWithParam<Fault> {};

TEST_P(GoalFaults, AreReported) { EXPECT_HAS(GoalFile().errors(GetParam().text), GetParam().wanted); }

INSTANTIATE_TEST_SUITE_P(
    ImportGoal, GoalFaults,
    testing::Values(
        Fault{"empty", "", "[empty-file]"}, Fault{"only_comments", "// nothing\n", "[empty-file]"},
        Fault{"binary", std::string("\x01\0\x02", 3), "[not-text]"},
        Fault{"other_text", "hello\n", "s.goal:1:1: error: a GOAL schedule begins with num_ranks, not with \"hello\" [syntax]"},
        Fault{"no_count", "rank 0 { }\n", "s.goal:1:1: error: num_ranks is missing before the first rank [missing-field]"},
        Fault{"two_counts", "num_ranks 1\nnum_ranks 2\nrank 0 { calc 1 }\n", "s.goal:2:1: error: num_ranks is given twice"},
        Fault{"zero_ranks", "num_ranks 0\n", "[out-of-range]"}, Fault{"many_ranks", "num_ranks 99999999\n", "at most 16777216"},
        Fault{"misspelt_op", "num_ranks 1\nrank 0 {\n a: clac 3\n}\n", "s.goal:3:5: error: \"clac\" is no op [unknown-keyword]"},
        Fault{"misspelt_statement", "num_ranks 1\nrank 0 {\n clac 3\n}\n", "did you mean \"calc\"?"},
        Fault{"misspelt_relation", "num_ranks 1\nrank 0 {\n a: calc 1\n b: calc 2\n b require a\n}\n",
              "s.goal:5:4: error: \"require\" is no relation between ops [unknown-keyword]"},
        Fault{"misspelt_rank", "num_ranks 1\nrnak 0 { calc 1 }\n", "did you mean \"rank\"?"},
        Fault{"no_unit", "num_ranks 2\nrank 0 { send 8 to 1 }\nrank 1 {}\n",
              "s.goal:2:17: error: there is \"to\" where the b of a size"},
        Fault{"wrong_direction", "num_ranks 2\nrank 0 { send 8b from 1 }\nrank 1 {}\n", "there is \"from\" where to is expected"},
        Fault{"fraction", "num_ranks 1\nrank 0 { calc 1.5 }\n", "s.goal:2:15: error: the duration is no whole number: \"1.5\""},
        Fault{"negative", "num_ranks 1\nrank 0 { calc -5 }\n", "there is \"-5\" where the duration is expected"},
        Fault{"endless", "num_ranks 1\nrank 0 { calc 99999999999999999999 }\n", "[out-of-range]"},
        Fault{"huge", "num_ranks 2\nrank 0 { send 2000000000000000b to 1 }\nrank 1 {}\n", "at most 1125899906842624"},
        Fault{"unknown_option", "num_ranks 1\nrank 0 { calc 1 tag 3 }\n", "\"tag\" is no option of calc"},
        Fault{"option_twice", "num_ranks 1\nrank 0 { calc 1 cpu 0 cpu 1 }\n", "s.goal:2:23: error: \"cpu\" is given twice"},
        Fault{"peer_outside", "num_ranks 2\nrank 0 { send 8b to 2 }\nrank 1 {}\n",
              "s.goal:2:21: error: there is no rank 2 [peer-out-of-range]"},
        Fault{"itself", "num_ranks 2\nrank 0 { send 8b to 0 }\nrank 1 {}\n", "rank 0 talks to itself"},
        Fault{"send_to_any", "num_ranks 2\nrank 0 { send 8b to -1 }\nrank 1 {}\n", "there is \"-1\" where a rank is expected"},
        Fault{"rank_outside", "num_ranks 1\nrank 0 { calc 1 }\nrank 1 { calc 1 }\n",
              "rank 1 contradicts num_ranks 1 [out-of-range]"},
        Fault{"rank_twice", "num_ranks 1\nrank 0 { calc 1 }\nrank 0 { calc 1 }\n",
              "s.goal:3:6: error: rank 0 stands twice [duplicate-rank]"},
        Fault{"rank_missing", "num_ranks 4\nrank 1 { calc 1 }\n", "there is no block of rank 0,2-3 [missing-rank]"},
        Fault{"no_ops", "num_ranks 1\nrank 0 { }\n", "[no-ops]"},
        Fault{"cut_in_rank", "num_ranks 1\nrank 0 {\n calc 1\n", "s.goal:2: error: the file ends inside rank 0 [truncated-file]"},
        Fault{"cut_in_comment", "num_ranks 1\nrank 0 { calc 1 }\n/* and\n", "s.goal:3: error: the file ends inside a comment"},
        Fault{"nested", "num_ranks 2\nrank 0 { calc 1\nrank 1 { calc 1 }\n",
              "\"rank\" stands inside rank 0, which begins at line 2"},
        Fault{"closes_nothing", "num_ranks 1\nrank 0 { calc 1 } }\n", "this } closes nothing"},
        Fault{"label_twice", "num_ranks 1\nrank 0 { a: calc 1; a: calc 2 }\n", "s.goal:2:21: error: label \"a\" stands twice"},
        Fault{"unknown_label", "num_ranks 1\nrank 0 {\n lbl1: calc 1\n b: calc 2\n b requires lbl2\n}\n",
              "s.goal:5:13: error: label \"lbl2\" is not defined in rank 0 [unknown-label]"},
        Fault{"cycle", "num_ranks 1\nrank 0 {\n a: calc 1\n b: calc 2\n a requires b\n b irequires a\n}\n",
              "s.goal:3: error: ops of rank 0 wait for each other: a -> b -> a [cycle]"},
        Fault{"two_statements", "num_ranks 1\nrank 0 { calc 1 calc 2 }\n", "\"calc\" is no option of calc"},
        Fault{"unmatched_send", "num_ranks 2\nrank 0 { x: send 8b to 1 tag 1 }\nrank 1 { calc 1 }\n", "in op \"x, line 2\""},
        Fault{"unmatched_receive", "num_ranks 2\nrank 0 { calc 1 }\nrank 1 {\n recv 8b from 0\n}\n", "in op \"line 4\""},
        Fault{"unequal_sizes", "num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 9b from 0 }\n",
              "but op \"line 3\" receives 9B [unmatched-send]"},
        // a takes rank 1's message, which b needed, although rank 2's would have done; neither was
        // named.
        Fault{"racing_wildcards",
              "num_ranks 3\nrank 0 { a: recv 8b from -1 tag -1; b: recv 8b from -1 tag 7; b requires a }\nrank 1 { s: send 8b to 0 "
              "tag 7 }\n"
              "rank 2 { t: send 8b to 0 tag 9 }\n",
              "rank 0 receives here from any source with tag 7, but no message is left for it: the message of rank 1 with tag 7 "
              "(s, line 3) "
              "went to the recv at a, line 2, and the message of rank 2 with tag 9 (t, line 4) does not fit and is left over"},
        Fault{"wildcard_before_a_named_one",
              "num_ranks 3\nrank 0 { a: recv 8b from -1; b: recv 8b from 1 }\nrank 1 { s: send 8b to 0 }\nrank 2 { t: send 8b to 0 "
              "}\n",
              "rank 0 receives here from rank 1 with tag 0, but no message is left for it: the message of rank 1 with tag 0 (s, "
              "line 3)"},
        Fault{"unmatched_wildcard", "num_ranks 2\nrank 0 { calc 1 }\nrank 1 {\n recv 8b from -1\n}\n",
              "s.goal:4: error: rank 1 receives here from any source"}),
    [](const testing::TestParamInfo<Fault>& fault) { return fault.param.title; });

TEST(ImportGoal, RefusesOptionsThatContradictTheFile) {
  GoalOptions options;
  options.ranks = 3;
  EXPECT_HAS(GoalFile().errors("num_ranks 1\nrank 0 { calc 1 }\n", options), "[rank-conflict]");
  options.ranks = 1;
  EXPECT_EQ(GoalFile().errors("num_ranks 1\nrank 0 { calc 1 }\n", options), "");
  options.time_unit = "s";
  EXPECT_HAS(GoalFile().errors("num_ranks 1\nrank 0 { calc 1 }\n", options), "[bad-value]");
}

TEST(ImportGoal, ManyErrorsAreCountedToo) {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 100; ++i) text += "clac 1\n";
  EXPECT_HAS(GoalFile().errors(text + "}\n"), "[unknown-keyword]");
}

/// What read_goal_text() finds, the slow way: for files of the plain form that random_schedule()
/// writes.
struct PlainOp {
  std::string kind;
  std::int64_t amount = 0;
  std::uint32_t peer = 0;
};

TEST(GoalText, ReadsWhatWasWrittenWhateverTheBlanks) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto blank = [&] { return std::vector<std::string>{" ", "  ", "\t", " /* c */ "}[below(4)]; };
  for (int round = 0; round < 200; ++round) {
    std::vector<PlainOp> wanted;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::string text = "num_ranks 2\nrank 1 {}\nrank 0 {";
    const std::uint32_t count = 1 + below(40);
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool is_calc = below(2) == 0;
      const std::uint32_t amount = below(1'000'000);
      wanted.push_back({is_calc ? "calc" : "send", amount, 1});
      text += blank() + "l" + std::to_string(i) + ":" + blank() +
              (is_calc ? "calc" + blank() + std::to_string(amount)
                       : "send" + blank() + std::to_string(amount) + "b" + blank() + "to" + blank() + "1");
      text += std::vector<std::string>{"\n", ";", " // x\n", "\r\n"}[below(4)];
      for (std::uint32_t k = 0; i > 0 && k < below(3); ++k) {
        const std::uint32_t before = below(i);
        edges.emplace_back(before, i);
        text +=
            "l" + std::to_string(i) + blank() + "requires" + blank() + "l" + std::to_string(before) + (below(2) == 0 ? ";" : "\n");
      }
    }
    const TemporaryFolder folder;
    GoalRank found;
    const auto take = [&](GoalRank& rank) {
      if (rank.rank == 0) found = rank;
    };
    read_goal_text(folder.write("s.goal", text + "}"), {}, take);
    ASSERT_EQ(found.ops.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool is_calc = wanted[i].kind == "calc";
      EXPECT_EQ(found.ops[i].kind, is_calc ? OpKind::compute : OpKind::send);
      EXPECT_EQ(found.ops[i].amount, is_calc ? wanted[i].amount * Duration::ticks_per_ns : wanted[i].amount);
    }
    EXPECT_EQ(found.after_end, edges);
  }
}

TEST(ImportGoal, DamagedFilesAreReadOrRefused) {
  std::mt19937_64 random(3);
  const std::string whole =
      "num_ranks 3\nrank 0 { a: calc 5 cpu 1; b: send 8b to 1 tag 2 }\n/* x */ rank 1 {\n r: recv 8b from -1 tag 2\n c: calc 3\n c "
      "irequires r\n}\n"
      "rank 2 { calc 1; calc 2 // y\n}\n";
  const GoalFile file;
  ASSERT_EQ(file.errors(whole), "");
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (std::uint64_t k = 0; k < 1 + random() % 3; ++k) damaged[random() % damaged.size()] = "0123 {}\n;:/*abr-"[random() % 16];
    if (!file.errors(damaged.substr(0, random() % 4 == 0 ? random() % damaged.size() : damaged.size())).empty()) ++refused;
  }
  EXPECT_EQ(refused, 1947) << "of 2000";
}

TEST(ImportGoal, IsListedAsAFormat) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.goal", "num_ranks 1\nrank 0 { calc 4 }\n");
  WorkloadOptions options;
  options.time_unit = "ms";
  EXPECT_EQ(load_workload(path, "goal", options).roles[0].op(OpId(0)).duration, Duration::ms(4));
}

}  // namespace
}  // namespace weft::goal_test
