// SPDX-License-Identifier: Apache-2.0
// Collective programs, executed without a network: every algorithm moves the right data and the
// right number of bytes for any group.
#include "host/collectives/collective.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "host/collectives/collective_library.hpp"
#include "tests/host/collectives/collective_machine.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::collective_test {
namespace {

/// A group on hosts with equally many ranks, host after host.
struct Group {
  std::uint32_t hosts = 1;
  std::uint32_t ranks_per_host = 1;
};

struct AlgorithmCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;
};

class CollectivePrograms : public testing::TestWithParam<std::tuple<AlgorithmCase, Group>> {
 protected:
  CollectivePrograms()
      : algorithm(make_algorithm(std::get<0>(GetParam()).name, std::get<0>(GetParam()).settings)),
        layout(GroupLayout::blocks(std::get<1>(GetParam()).hosts, std::get<1>(GetParam()).ranks_per_host)),
        n(layout.ranks()) {}

  const std::string& name() const { return std::get<0>(GetParam()).name; }
  CollectiveRequest request(CollectiveType type, Bytes bytes, std::uint32_t root = 0) const {
    return {type, root, bytes, &layout, nullptr};
  }

  /// Nothing, less than a byte per rank, uneven, even.
  static std::vector<Bytes> sizes() {
    return {Bytes::zero(), Bytes::of(1), Bytes::of(7), Bytes::of(1000), Bytes::mib(1), Bytes::of(3'000'001)};
  }

  std::unique_ptr<CollectiveAlgorithm> algorithm;
  GroupLayout layout;
  std::int64_t n;
};

TEST_P(CollectivePrograms, EndWithWhatTheCollectiveMeans) {
  for (const CollectiveType type :
       {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::all_to_all}) {
    for (const Bytes bytes : sizes()) {
      if (!algorithm->supports(type) || !algorithm->objection(request(type, bytes)).empty()) continue;
      SCOPED_TRACE(std::string(to_text(type)) + " of " + to_text(bytes));
      const CollectivePlan plan = algorithm->compile(request(type, bytes));
      for (std::uint64_t seed = 1; seed <= 3; ++seed) expect_carried_out(plan, seed);
    }
  }
}

TEST_P(CollectivePrograms, ServeEveryRoot) {
  for (const CollectiveType type :
       {CollectiveType::broadcast, CollectiveType::reduce, CollectiveType::gather, CollectiveType::scatter}) {
    if (!algorithm->supports(type)) continue;
    for (const Bytes bytes : sizes()) {
      SCOPED_TRACE(std::string(to_text(type)) + " of " + to_text(bytes));
      for (std::uint32_t root = 0; root < n; ++root) {
        if (!algorithm->objection(request(type, bytes, root)).empty()) continue;
        const CollectivePlan plan = algorithm->compile(request(type, bytes, root));
        const CollectiveMachine machine = expect_carried_out(plan, root);
        // A whole buffer or a shard reaches or leaves everybody but the root; scatter moves n-1 of
        // the n shares.
        if (name() == "hierarchical") {
          // All-gather brings the root of a broadcast what it has already; of the scatter its own
          // share stays.
          const std::uint32_t root_in_host = layout.hosts()->index_of(root);
          EXPECT_EQ(machine.bytes_sent(), bytes * n - part_bytes(bytes, layout.ranks_per_host(), root_in_host));
        } else if (type == CollectiveType::scatter) {
          EXPECT_EQ(machine.bytes_sent(), bytes - part_bytes(bytes, layout.ranks(), root));
        } else {
          EXPECT_EQ(machine.bytes_sent(), bytes * (n - 1));
        }
      }
    }
  }
}

TEST_P(CollectivePrograms, KeepEverybodyInTheBarrierUntilTheLastHasCome) {
  if (!algorithm->supports(CollectiveType::barrier)) return;
  const CollectivePlan plan = algorithm->compile(request(CollectiveType::barrier, Bytes::zero()));
  EXPECT_EQ(expect_carried_out(plan).bytes_sent(), Bytes::zero());
}

TEST_P(CollectivePrograms, MoveWhatTheSplitTableSays) {
  if (!algorithm->supports(CollectiveType::all_to_all_v)) return;
  std::vector<Bytes> entries;
  // A pattern with zeros, and with different sums of rows and columns.
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) entries.push_back((i + 2 * j) % 3 == 0 ? Bytes::zero() : Bytes::of(1000 * i + j));
  }
  const SplitTable table("uneven", layout.ranks(), std::move(entries));
  CollectiveRequest uneven = request(CollectiveType::all_to_all_v, table.row_sum_max());
  uneven.splits = &table;
  expect_carried_out(algorithm->compile(uneven));
}

TEST_P(CollectivePrograms, SendAsManyBytesAsTheoryAsks) {
  for (const Bytes bytes : sizes()) {
    SCOPED_TRACE(to_text(bytes));
    const auto sent = [&](CollectiveType type) {
      const CollectivePlan plan = algorithm->compile(request(type, bytes));
      return expect_carried_out(plan).bytes_sent();
    };
    // Rings and direct exchanges: each rank sends 2 (n-1)/n B; over all ranks that is 2 (n-1) B
    // whatever the remainder of B/n. Trees: n-1 edges, over each of which the buffer goes up and
    // down.
    if (algorithm->supports(CollectiveType::all_reduce) &&
        algorithm->objection(request(CollectiveType::all_reduce, bytes)).empty()) {
      EXPECT_EQ(sent(CollectiveType::all_reduce), bytes * (2 * (n - 1)));
    }
    if (algorithm->supports(CollectiveType::reduce_scatter)) {
      EXPECT_EQ(sent(CollectiveType::reduce_scatter), bytes * (n - 1));
    }
    // Every rank passes on or sends n-1 shards of the given size.
    if (algorithm->supports(CollectiveType::all_gather)) {
      EXPECT_EQ(sent(CollectiveType::all_gather), bytes * (n * (n - 1)));
    }
    if (!algorithm->supports(CollectiveType::all_to_all)) continue;
    if (name() == "bruck") {
      // A block for the rank k places on travels once per binary digit 1 of k.
      std::int64_t hops = 0;
      for (std::int64_t k = 1; k < n; ++k) hops += std::popcount(static_cast<std::uint64_t>(k));
      EXPECT_EQ(sent(CollectiveType::all_to_all), bytes * hops);
    } else if (name() == "hierarchical") {
      // Inside its host every rank hands on all but the blocks of its own rail; then every block of
      // another host goes there once.
      const std::int64_t hosts = layout.host_count();
      const std::int64_t per_host = layout.ranks_per_host();
      EXPECT_EQ(sent(CollectiveType::all_to_all), bytes * (hosts * (per_host - 1) + (hosts - 1) * per_host));
    } else if (name() == "ring") {
      // On a ring a block for the rank k places on takes k hops: sum over k of k * (sum of all
      // blocks) = B n (n-1) / 2.
      EXPECT_EQ(sent(CollectiveType::all_to_all), bytes * (n * (n - 1) / 2));
    } else {
      // Block i of every buffer goes to rank i in one message; the rank's own block stays: (n-1) B
      // in all.
      EXPECT_EQ(sent(CollectiveType::all_to_all), bytes * (n - 1));
    }
  }
}

std::string name_of(const AlgorithmCase& algorithm) {
  std::string text = algorithm.name;
  for (const auto& [parameter, value] : algorithm.settings) text += "_" + parameter + "_" + value;
  return text;
}

std::string case_name(const testing::TestParamInfo<CollectivePrograms::ParamType>& test) {
  const auto& [algorithm, group] = test.param;
  return fmt::format("{}_{}x{}", name_of(algorithm), group.hosts, group.ranks_per_host);
}

const std::vector<AlgorithmCase> kAlgorithms = {{"ring", {}},
                                                {"ring", {{"channels", "3"}}},
                                                {"ring", {{"order", "hosts"}}},
                                                {"direct", {}},
                                                {"double_binary_tree", {{"piece", "200000B"}}},
                                                {"double_binary_tree", {{"channels", "6"}, {"piece", "100000B"}}},
                                                {"nvls_tree", {{"piece", "100000B"}}},
                                                {"nvls_tree", {{"pieces", "1"}}},
                                                {"halving_doubling", {}},
                                                {"bruck", {}},
                                                {"pairwise", {}},
                                                {"hierarchical", {}},
                                                {"hierarchical", {{"inside", "direct"}, {"pieces", "3"}}},
                                                {"hierarchical", {{"between", "direct"}, {"pieces", "1"}}},
                                                {"hierarchical", {{"inside", "direct"}, {"between", "direct"}, {"pieces", "2"}}}};
const std::vector<Group> kGroups = {{2, 1}, {3, 1}, {1, 4}, {1, 5}, {2, 4}, {3, 4}, {8, 1}, {13, 1}};

INSTANTIATE_TEST_SUITE_P(AllGroups, CollectivePrograms,
                         testing::Combine(testing::ValuesIn(kAlgorithms), testing::ValuesIn(kGroups)), case_name);

/// Layouts in which hosts have unequally many members, in no order; and groups of any size, a
/// member per host.
std::vector<GroupLayout> irregular_layouts() {
  std::vector<GroupLayout> layouts = {
      GroupLayout({{0, 3}, {1, 0}, {0, 1}, {2, 5}, {1, 7}, {0, 0}, {2, 2}}), GroupLayout({{0, 0}, {0, 1}, {0, 2}, {1, 0}, {2, 0}}),
      GroupLayout({{0, 1}, {1, 1}, {2, 1}, {0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {0, 2}, {3, 2}})};
  for (const std::uint32_t n : {2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 15, 16, 17, 22, 31, 33})
    layouts.push_back(GroupLayout::one_per_host(n));
  const std::vector<GroupLayout::Seat> meshes = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}, {1, 3}};
  layouts.emplace_back(meshes, InsideLinks::full_mesh);
  layouts.emplace_back(std::vector<GroupLayout::Seat>{{0, 4}, {0, 1}, {0, 2}, {0, 0}, {0, 3}}, InsideLinks::full_mesh);
  return layouts;
}

class IrregularGroups : public testing::TestWithParam<AlgorithmCase> {};

TEST_P(IrregularGroups, AreServedAsWell) {
  const auto algorithm = make_algorithm(GetParam().name, GetParam().settings);
  for (const GroupLayout& layout : irregular_layouts()) {
    for (int i = 0; i <= static_cast<int>(CollectiveType::barrier); ++i) {
      const auto type = static_cast<CollectiveType>(i);
      const Bytes bytes = type == CollectiveType::barrier ? Bytes::zero() : Bytes::of(1'000'003);
      if (!algorithm->supports(type)) continue;
      for (std::uint32_t root = 0; root < (has_root(type) ? layout.ranks() : 1);
           root += 1 + layout.ranks() / (WEFT_SANITIZED ? 2 : 8)) {
        SCOPED_TRACE(fmt::format("{} of {}, root {}", to_text(type), layout.ranks(), root));
        const CollectiveRequest request{type, root, bytes, &layout, nullptr};
        if (algorithm->objection(request).empty()) expect_carried_out(algorithm->compile(request), root + 1);
      }
    }
  }
}

// Folding tells messages apart by the rules of both sides (host/symmetry/rank_folding).
TEST_P(IrregularGroups, ReceiveFromOneSenderByEachPairOfRules) {
  using Rule = std::tuple<PeerRule::Kind, std::uint8_t, std::int32_t>;
  const auto rule_of = [](const PeerRule& rule) { return Rule(rule.kind, rule.division, rule.operand); };
  const auto algorithm = make_algorithm(GetParam().name, GetParam().settings);
  for (const GroupLayout& layout : irregular_layouts()) {
    for (int i = 0; i <= static_cast<int>(CollectiveType::barrier); ++i) {
      const CollectiveRequest request{static_cast<CollectiveType>(i), 0, Bytes::of(3'000'000), &layout, nullptr};
      if (!algorithm->supports(request.type) || !algorithm->objection(request).empty()) continue;
      const CollectivePlan plan = algorithm->compile(request);
      std::map<std::tuple<std::uint32_t, std::uint8_t, Rule, Rule>, std::uint32_t> sender_of;
      for (std::uint32_t p = 0; p < layout.ranks(); ++p) {
        for (std::uint32_t s = 0; s < plan.program_of(p).size(); ++s) {
          const CollectiveStep& step = plan.program_of(p).step(s);
          if (step.kind != StepKind::send) continue;
          const std::uint32_t to = plan.peer(step, p);
          const Rule back = rule_of(plan.program_of(to).step(step.remote_step).peer);
          EXPECT_EQ(sender_of.try_emplace({to, step.channel, rule_of(step.peer), back}, p).first->second, p);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, IrregularGroups, testing::ValuesIn(kAlgorithms),
                         [](const auto& given) { return name_of(given.param); });

const std::vector<AlgorithmCase> kInSwitches = {{"nvls", {}},
                                                {"sharp", {}},
                                                {"sharp", {{"inside", "ring"}, {"pieces", "3"}}},
                                                {"sharp", {{"inside", "direct"}, {"pieces", "1"}}}};

INSTANTIATE_TEST_SUITE_P(InSwitches, IrregularGroups, testing::ValuesIn(kInSwitches),
                         [](const auto& given) { return name_of(given.param); });

/// Channels of what one member sends another, in all, by (from, to).
std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint8_t>> channels_between(const CollectivePlan& plan) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint8_t>> channels;
  for (std::uint32_t p = 0; p < plan.request.ranks(); ++p) {
    const CollectiveProgram& program = plan.program_of(p);
    for (std::uint32_t s = 0; s < program.size(); ++s) {
      const CollectiveStep& step = program.step(s);
      if (step.kind == StepKind::send) channels[{p, plan.peer(step, p)}].insert(step.channel);
    }
  }
  return channels;
}

GroupLayout meshes_of_eight(std::uint32_t hosts) {
  std::vector<GroupLayout::Seat> seats;
  for (std::uint32_t i = 0; i < 8 * hosts; ++i) seats.push_back({i / 8, i % 8});
  return GroupLayout(std::move(seats), InsideLinks::full_mesh);
}

TEST(RingOrders, OfEightChannelsTakeEveryCableOfAMeshOfEightOnceInEachDirection) {
  const GroupLayout layout = meshes_of_eight(3);
  const auto ring = make_algorithm("ring", {{"channels", "8"}});
  const auto channels = channels_between(ring->compile({CollectiveType::all_gather, 0, Bytes::mib(1), &layout, nullptr}));
  std::map<std::uint32_t, std::size_t> out_of_host;
  for (std::uint32_t from = 0; from < layout.ranks(); ++from) {
    for (std::uint32_t to = 0; to < layout.ranks(); ++to) {
      const auto found = channels.find({from, to});
      const std::size_t count = found == channels.end() ? 0 : found->second.size();
      if (from / 8 != to / 8) {
        out_of_host[from] += count;
      } else if (from != to) {
        EXPECT_EQ(count, 1U) << from << " -> " << to;
      }
    }
  }
  // And every NIC sends for one of them.
  for (std::uint32_t from = 0; from < layout.ranks(); ++from) EXPECT_EQ(out_of_host[from], 1U) << from;
}

TEST(RingOrders, ChainsFromARootTakeEveryCableBetweenTheOthersTwice) {
  const GroupLayout layout = meshes_of_eight(1);
  constexpr std::uint32_t root = 3;
  for (const auto type : {CollectiveType::broadcast, CollectiveType::reduce}) {
    const auto ring = make_algorithm("ring", {{"channels", "14"}});
    for (const auto& [ends, channels] : channels_between(ring->compile({type, root, Bytes::mib(1), &layout, nullptr}))) {
      const bool is_of_root = ends.first == root || ends.second == root;
      EXPECT_EQ(channels.size(), 2U) << ends.first << " -> " << ends.second << (is_of_root ? ", of the root" : "");
      EXPECT_NE(type == CollectiveType::broadcast ? ends.second : ends.first, root);
    }
  }
}

TEST(RingOrders, UseAllNicsOfHostsWithUnequallyManyMembers) {
  std::vector<GroupLayout::Seat> seats;
  for (std::uint32_t i = 0; i < 23; ++i) seats.push_back({i / 8, i % 8});
  const GroupLayout layout(std::move(seats));
  const auto ring = make_algorithm("ring", {{"channels", "7"}});
  std::map<std::uint32_t, std::size_t> out_of_host;
  for (const auto& [ends, channels] :
       channels_between(ring->compile({CollectiveType::all_gather, 0, Bytes::mib(1), &layout, nullptr}))) {
    if (layout.seat(ends.first).host != layout.seat(ends.second).host) out_of_host[ends.first] += channels.size();
  }
  // Seven of the eight of the first two hosts, and the seven of the last.
  EXPECT_EQ(out_of_host.size(), 21U);
  for (const auto& [member, count] : out_of_host) EXPECT_EQ(count, 1U) << member;
}

// Five hosts of four, one and four channels: 19 rounds in 4 messages of 4, 5, 5 and 5, which carry
// the bytes of all of them and have their latencies.
TEST(RingMessages, StandForSeveralRounds) {
  const GroupLayout layout = GroupLayout::blocks(5, 4);
  for (const char* channels : {"1", "4"}) {
    for (const CollectiveType type : {CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::all_reduce}) {
      const CollectiveRequest request{type, 0, Bytes::of(20 * 4000), &layout, nullptr};
      CollectivePlan all = make_algorithm("ring", {{"channels", channels}})->compile(request);
      CollectivePlan few = make_algorithm("ring", {{"channels", channels}, {"messages_max", "4"}})->compile(request);
      for (CollectivePlan* plan : {&all, &few}) {
        plan->protocol.hop_latency_inside = Duration::us(1);
        plan->protocol.hop_latency_network = Duration::us(10);
      }
      const std::uint32_t passes = type == CollectiveType::all_reduce ? 2 : 1;
      const std::uint32_t rings = all.programs.front().size() / (2 * 19 * passes);
      ASSERT_EQ(few.programs.front().size(), 2 * 4 * passes * rings);
      for (std::uint32_t position = 0; position < 20; ++position) {
        const auto sums = [&](const CollectivePlan& plan) {
          Bytes bytes;
          std::uint32_t rounds = 0;
          Duration waits;
          const CollectiveProgram& program = plan.program_of(position);
          for (std::uint32_t s = 0; s < program.size(); ++s) {
            const CollectiveStep& step = program.step(s);
            if (step.kind == StepKind::send) {
              bytes += plan.message_bytes(step, position);
              rounds += step.rounds;
            } else {
              waits += plan.hop_latency(step, position);
            }
          }
          return std::tuple(bytes, rounds, waits);
        };
        const auto [bytes, rounds, waits] = sums(all);
        const auto [few_bytes, few_rounds, few_waits] = sums(few);
        EXPECT_EQ(few_bytes, bytes);
        EXPECT_EQ(few_rounds, rounds);
        EXPECT_EQ(rounds, 19 * passes * rings);
        // 15 rounds of a pass have no message of their own: what empty ones take by themselves.
        std::uint32_t from_network = 0;
        const CollectiveProgram& program = few.program_of(position);
        for (std::uint32_t s = 0; s < program.size(); ++s) {
          const CollectiveStep& step = program.step(s);
          if (step.kind == StepKind::send) continue;
          const std::uint32_t from = few.peer(step, position);
          if (from / 4 != position / 4) from_network += step.rounds - 1;
        }
        const std::uint32_t from_inside = 15 * passes * rings - from_network;
        EXPECT_EQ(few_waits, waits + Duration::from_us(2.3) * std::int64_t{from_network} +
                                 Duration::from_us(0.85) * std::int64_t{from_inside});
      }
    }
  }
}

TEST(RingMessages, OfFewMembersAreAllRounds) {
  const GroupLayout layout = GroupLayout::blocks(1, 4);
  const CollectiveRequest request{CollectiveType::all_gather, 0, Bytes::of(4000), &layout, nullptr};
  const CollectivePlan plan = make_algorithm("ring", {{"messages_max", "3"}})->compile(request);
  EXPECT_EQ(plan.programs.front().size(), 2U * 3);
  for (std::uint32_t s = 0; s < plan.programs.front().size(); ++s) EXPECT_EQ(plan.programs.front().step(s).rounds, 1U);
}

TEST(DoubleBinaryTrees, PutFourHalvesOnEveryNicOfEveryHostIfThereIsOneForEveryPair) {
  // Up and down, a host with two children sends one half up and two down, and another half up, as a
  // leaf of the other tree: four. Its pairs do so on a NIC each. Roots send up nothing.
  const GroupLayout layout = GroupLayout::blocks(7, 4);
  const auto trees = make_algorithm("double_binary_tree", {{"channels", "8"}});
  std::map<std::uint32_t, std::size_t> out_of_host;
  const CollectivePlan plan = trees->compile({CollectiveType::all_reduce, 0, Bytes::mib(1), &layout, nullptr});
  for (std::uint32_t p = 0; p < layout.ranks(); ++p) {
    const CollectiveProgram& program = plan.program_of(p);
    std::set<std::pair<std::uint8_t, std::uint32_t>> sends;
    for (std::uint32_t s = 0; s < program.size(); ++s) {
      const CollectiveStep& step = program.step(s);
      if (step.kind == StepKind::send && plan.peer(step, p) / 4 != p / 4) sends.emplace(step.channel, plan.peer(step, p));
    }
    out_of_host[p] = sends.size();
  }
  std::size_t all = 0;
  for (std::uint32_t p = 0; p < layout.ranks(); ++p) {
    EXPECT_EQ(out_of_host[p], out_of_host[p / 4 * 4]) << "NICs of a host are alike: " << p;
    EXPECT_LE(out_of_host[p], 4U) << p;
    all += out_of_host[p];
  }
  // Every edge of a tree is used both ways: 6 edges, 8 trees.
  EXPECT_EQ(all, 6U * 2 * 8);
}

TEST(PartBytes, AddUpToTheBufferAndDifferByAtMostOne) {
  for (const std::int64_t buffer : {0LL, 1LL, 6LL, 7LL, 1000LL, 999'999'999'999LL}) {
    for (const std::uint32_t parts : {1u, 2u, 3u, 7u, 128u, 65'535u}) {
      Bytes sum;
      for (std::uint32_t i = 0; i < parts; ++i) {
        const Bytes part = part_bytes(Bytes::of(buffer), parts, i);
        EXPECT_GE(part.count(), buffer / parts);
        EXPECT_LE(part.count(), buffer / parts + 1);
        sum += part;
      }
      EXPECT_EQ(sum, Bytes::of(buffer));
    }
  }
}

// A misspelt algorithm used to be found once the library was made, when nobody knew any more where
// it had been set: "collective.all_reduce: error: there is no collective ...".
TEST(CollectiveAlgorithms, AreTheChoicesOfTheirTypes) {
  ParamSet selection("collective", CollectiveLibrary::params());
  const SourcePlace place = SourcePlace::named("--set=collective.all_reduce=rign");
  try {
    selection.set("all_reduce", "rign", place);
    FAIL() << "a misspelt algorithm must be refused";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].place.file, place.file);
    EXPECT_EQ(error.diagnostics()[0].help, "did you mean \"ring\"?");
  }
  for (std::size_t type = 0; type < collective_types; ++type) {
    EXPECT_EQ(selection.table()[type].name, to_text(static_cast<CollectiveType>(type)));
    for (const auto& module : collective_algorithms()) {
      const auto algorithm = module.make(ParamSet(std::string(module.info.name), module.info.params));
      if (algorithm->supports(static_cast<CollectiveType>(type))) {
        EXPECT_NO_THROW(selection.set(selection.table()[type].name, module.info.name, place));
      } else {
        EXPECT_THROW(selection.set(selection.table()[type].name, module.info.name, place), InputError);
      }
    }
  }
}

TEST(CollectiveAlgorithms, AreChosenByNameAndAMisspeltNameGetsASuggestion) {
  EXPECT_EQ(find_module(collective_algorithms(), "ring", {}).info.name, "ring");
  try {
    find_module(collective_algorithms(), "rnig", {});
    FAIL() << "a misspelt name is refused";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "unknown-module");
    EXPECT_EQ(error.diagnostics().front().help, "did you mean \"ring\"?");
  }
}

}  // namespace
}  // namespace weft::collective_test
