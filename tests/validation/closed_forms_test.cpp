// SPDX-License-Identifier: Apache-2.0
// Closed forms: whole runs whose time follows from a line of arithmetic, derived beside each
// expectation. Switches cut through, so that what packets add is left out: modes_agree_test looks
// at that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scenario_run.hpp"

namespace weft::closed_forms_test {
namespace {

// The defaults of the flow table, and one switch 2 m away from every host at 400 Gb/s.
constexpr double kWqe_s = 1e-6;
constexpr double kReceive_s = 500e-9;
constexpr double kSwitching_s = 500e-9;
constexpr double kPropagation_s = 2 * 10e-9;  // 2 m of fibre at 5 ns per metre, twice
constexpr double kRate_bps = 400e9;
constexpr double kCompletion_s = 200e-9;
/// From the last byte of a message until the first of the next one of the same sender that waits
/// for it.
constexpr double kGap_s = kCompletion_s + kWqe_s;

/// Time of an empty message between two hosts.
constexpr double kAlpha_s = kWqe_s + kPropagation_s + kSwitching_s + kReceive_s;

/// Bytes of a message on the link: RoCEv2 over IPv4 with a path MTU of 4,096 B puts at most as much
/// of content, of which 16 B per message are the RDMA header, into packets that cost 82 B more.
double wire_bytes(double bytes) {
  const double content = bytes + 16;
  return content + std::ceil(content / 4096) * 82;
}
/// Seconds that a message keeps the link busy.
double wire_s(double bytes) { return wire_bytes(bytes) * 8 / kRate_bps; }

/// Duration of the only collective of a run in seconds.
double collective_s(const ScenarioRun& run) {
  EXPECT_EQ(run.collectives.size(), 1u);
  return std::stod(run.collectives.at(0).at("duration_ns")) * 1e-9;
}

/// The workload's tables, and the fields of its collective besides the type.
struct Operation {
  std::string tables;
  std::string fields;
};

ScenarioRun run_operation(const std::string& type, int ranks, const Operation& operation, const std::string& algorithm,
                          const std::vector<std::string>& settings = {}) {
  const ScratchFolder folder;
  folder.write("work.textproto", "ranks: " + std::to_string(ranks) + "\n" + operation.tables +
                                     "role { name: \"all\" op { name: \"c\" collective { type: " + type + " " + operation.fields +
                                     " } } }\n");
  RunFlags flags;
  flags.scenario_file =
      folder.write("scenario.textproto", "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"" +
                                             std::to_string(ranks) + "\" } }\njob { workload { file: \"work.textproto\" } }\n");
  std::string parameter = type;
  for (char& c : parameter) c = static_cast<char>(std::tolower(c));
  flags.settings = settings;
  flags.settings.push_back("flow.forwarding=cut_through");
  flags.settings.push_back("collective." + parameter + "=" + algorithm);
  return run_scenario(flags);
}

ScenarioRun run_collective(const std::string& type, int ranks, double bytes, const std::string& algorithm,
                           const std::vector<std::string>& settings = {}) {
  return run_operation(type, ranks, {"", fmt::format("size: \"{}B\"", static_cast<long long>(bytes))}, algorithm, settings);
}

void expect_duration(const ScenarioRun& run, double expected_s) { EXPECT_NEAR(collective_s(run), expected_s, expected_s * 5e-3); }

/// `sent` and `received` say by rank what crosses the link from and to its host.
template <class Sent, class Received>
void expect_bytes(const ScenarioRun& run, int ranks, const Sent& sent, const Received& received) {
  int links = 0;
  for (const auto& row : run.links) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string endpoint = fmt::format("host{}/gpu0", rank);
      if (row.at("src") != endpoint && row.at("dst") != endpoint) continue;
      const double expected = row.at("src") == endpoint ? sent(rank) : received(rank);
      EXPECT_NEAR(std::stod(row.at("bytes")), expected, 1) << row.at("link");
      ++links;
    }
  }
  EXPECT_EQ(links, 2 * ranks);
}

/// Every link carries the same.
void expect_bytes(const ScenarioRun& run, int ranks, double each) {
  const auto bytes = [each](int) { return each; };
  expect_bytes(run, ranks, bytes, bytes);
}

TEST(ClosedForms, RingAllReduceOnOneSwitch) {
  for (const int n : {2, 4, 16, 33}) {
    for (const double bytes : {1e6, 64e6, 1e9}) {
      // 2 (n-1) steps, each an empty message's time and the wire time of 1/n of the buffer: 2
      // (n-1)/n S/B plus latency terms.
      const double expected_s = 2 * (n - 1) * (kAlpha_s + wire_s(bytes / n));
      EXPECT_NEAR(collective_s(run_collective("ALL_REDUCE", n, bytes, "ring")), expected_s, expected_s * 1e-3) << n << " ranks";
    }
  }
}

TEST(ClosedForms, RingsOfFewMessagesTakeTheTimeOfAllRounds) {
  for (const auto& [type, passes] : {std::pair("ALL_REDUCE", 2), std::pair("REDUCE_SCATTER", 1)}) {
    for (const int n : {4, 17, 33}) {
      // What the flow table has as an empty message's time (kAlpha_s) is 2.02 us here; a round that
      // has no message of its own takes 2.3 us. Bytes of all rounds are the same but for headers.
      constexpr double bytes = 64e6;
      constexpr int most = 4;
      constexpr double empty_s = 2.3e-6;
      const int messages = std::min(n - 1, most);
      const double expected_s = passes * (messages * kAlpha_s + (n - 1 - messages) * empty_s + (n - 1) * wire_s(bytes / n));
      const auto run = run_collective(type, n, bytes, "ring", {fmt::format("ring.messages_max={}", most)});
      EXPECT_NEAR(collective_s(run), expected_s, expected_s * 1e-3) << type << " of " << n;
      // As many bytes cross each link.
      expect_bytes(run, n, passes * messages * wire_bytes(bytes / n * (n - 1) / messages));
    }
  }
}

TEST(ClosedForms, BandwidthTermOfRingAllReduceWithoutHeadersAndLatency) {
  // With headers and latencies off, what remains is 2 (n-1)/n S/B.
  const ScratchFolder folder;
  folder.write("work.textproto",
               "ranks: 8\nrole { name: \"all\" op { name: \"c\" collective { type: ALL_REDUCE size: \"800MB\" } } }\n");
  RunFlags flags;
  flags.scenario_file = folder.write(
      "scenario.textproto",
      "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"8\" } set { name: \"fibre\" value: \"0m\" } }\n"
      "job { workload { file: \"work.textproto\" } }\n");
  flags.settings = {"flow.protocol=none",       "flow.wqe_latency=0ns",        "flow.receive_latency=0ns",
                    "flow.switching_delay=0ns", "flow.completion_latency=0ns", "flow.forwarding=cut_through"};
  const double expected_s = 2 * 7.0 / 8 * 800e6 * 8 / 400e9;
  EXPECT_NEAR(collective_s(run_scenario(flags)), expected_s, expected_s * 1e-9);
}

TEST(ClosedForms, DirectAllToAllOnOneSwitch) {
  for (const int n : {2, 8, 24}) {
    for (const double bytes : {1e6, 256e6}) {
      // Every rank's link carries n-1 messages of 1/n of the buffer at once; each gets 1/(n-1) of
      // it: alpha + (n-1) wire(S/n).
      const double expected_s = kAlpha_s + (n - 1) * wire_s(bytes / n);
      EXPECT_NEAR(collective_s(run_collective("ALL_TO_ALL", n, bytes, "direct")), expected_s, expected_s * 1e-3) << n << " ranks";
    }
  }
}

TEST(ClosedForms, ReduceScatterAllGatherAndBroadcastOnOneSwitch) {
  const int n = 16;
  const double bytes = 32e6;
  const double step_s = kAlpha_s + wire_s(bytes / n);
  EXPECT_NEAR(collective_s(run_collective("REDUCE_SCATTER", n, bytes, "ring")), (n - 1) * step_s, n * step_s * 1e-3);
  // The size of an all-gather is one rank's shard.
  EXPECT_NEAR(collective_s(run_collective("ALL_GATHER", n, bytes / n, "ring")), (n - 1) * step_s, n * step_s * 1e-3);
  EXPECT_NEAR(collective_s(run_collective("REDUCE_SCATTER", n, bytes, "direct")), kAlpha_s + (n - 1) * wire_s(bytes / n),
              n * step_s * 1e-3);
  // Direct broadcast: the root's link carries n-1 copies.
  EXPECT_NEAR(collective_s(run_collective("BROADCAST", n, bytes, "direct")), kAlpha_s + (n - 1) * wire_s(bytes),
              bytes * n * 8 / kRate_bps * 1e-3);
}

TEST(ClosedForms, RingWithTwoChannelsOnOneSwitch) {
  // Two rings at once, each with half of the buffer: a round has two messages of 1/(2n) of it on
  // every link.
  const int n = 8;
  const double part = 64e6 / (2 * n);
  const ScenarioRun run = run_collective("ALL_REDUCE", n, 64e6, "ring", {"ring.channels=2"});
  expect_duration(run, 2 * (n - 1) * (kAlpha_s + 2 * wire_s(part)));
  expect_bytes(run, n, 2 * (n - 1) * 2 * wire_bytes(part));
}

TEST(ClosedForms, RingWithOneSlotOnOneSwitch) {
  // A message goes when the one before has been taken over, and its receiver has said so, which
  // takes as long as an empty message: all but the last pay for that.
  const int n = 5;
  const double part = 1e6 / n;
  const ScenarioRun run = run_collective("ALL_REDUCE", n, 1e6, "ring", {"collective.slots=1"});
  const double rounds = 2 * (n - 1);
  expect_duration(run, rounds * (kAlpha_s + wire_s(part)) + (rounds - 1) * kAlpha_s);
  expect_bytes(run, n, rounds * wire_bytes(part));
  EXPECT_EQ(run.flows.size(), static_cast<std::size_t>(rounds) * n) << "what receivers tell is in no table";
}

TEST(ClosedForms, RingReduceOnOneSwitch) {
  // A pipeline of k pieces over n-1 hops: the first piece takes n-1 hops, the others follow one
  // message and one gap after each other.
  const int n = 6;
  const double k = 16;
  const double piece = 500'000;
  const ScenarioRun run = run_collective("REDUCE", n, k * piece, "ring", {"ring.broadcast_piece=500kB"});
  expect_duration(run, (n - 1) * (kAlpha_s + wire_s(piece)) + (k - 1) * (kGap_s + wire_s(piece)));
  // Rank 1 begins and rank 0, the root, ends.
  const double whole = k * wire_bytes(piece);
  expect_bytes(
      run, n, [&](int rank) { return rank == 0 ? 0 : whole; }, [&](int rank) { return rank == 1 ? 0 : whole; });
}

TEST(ClosedForms, DirectWithARootOnOneSwitch) {
  const int n = 12;
  const double bytes = 6e6;
  // All but the root send at once, and share its link.
  const double whole = wire_bytes(bytes);
  const auto to_root = [&](int rank) { return rank == 0 ? (n - 1) * whole : 0; };
  const auto from_others = [&](int rank) { return rank == 0 ? 0 : whole; };
  for (const char* type : {"REDUCE", "GATHER"}) {
    const ScenarioRun run = run_collective(type, n, bytes, "direct");
    expect_duration(run, kAlpha_s + (n - 1) * wire_s(bytes));
    expect_bytes(run, n, from_others, to_root);
  }
  // The root's buffer has a share for everybody, itself included.
  const double share = wire_bytes(bytes / n);
  const ScenarioRun scatter = run_collective("SCATTER", n, bytes, "direct");
  expect_duration(scatter, kAlpha_s + (n - 1) * wire_s(bytes / n));
  expect_bytes(
      scatter, n, [&](int rank) { return rank == 0 ? (n - 1) * share : 0; }, [&](int rank) { return rank == 0 ? 0 : share; });
}

TEST(ClosedForms, BarriersOnOneSwitch) {
  // Messages without bytes take the latencies and no part of a link: one after the other by
  // dissemination, all at once otherwise.
  for (const int n : {2, 5, 16, 33}) {
    const ScenarioRun direct = run_operation("BARRIER", n, {}, "direct");
    expect_duration(direct, kAlpha_s);
    expect_bytes(direct, n, 0);
    const ScenarioRun dissemination = run_operation("BARRIER", n, {}, "bruck");
    expect_duration(dissemination, std::ceil(std::log2(n)) * kAlpha_s);
    expect_bytes(dissemination, n, 0);
  }
}

TEST(ClosedForms, AllToAllOfUnevenSizesOnOneSwitch) {
  // Every rank sends k MB to the rank k places on, but nothing where k is a multiple of 3.
  const int n = 8;
  const auto size_at = [](int distance) { return distance % 3 == 0 ? 0 : distance * 1e6; };
  Operation operation{"splits { name: \"skew\"", "splits: \"skew\""};
  for (int i = 0; i < n; ++i) {
    operation.tables += " row {";
    for (int j = 0; j < n; ++j) operation.tables += fmt::format(" size: \"{}B\"", int(size_at((j - i + n) % n)));
    operation.tables += " }";
  }
  operation.tables += " }\n";
  double together_s = kAlpha_s;
  double in_turn_s = 0;
  double bytes = 0;
  for (int distance = 1; distance < n; ++distance) {
    if (distance % 3 == 0) continue;
    // At once, the link is busy until the last byte of all; in turn, every message pays for itself.
    together_s += wire_s(size_at(distance));
    in_turn_s += kAlpha_s + wire_s(size_at(distance));
    bytes += wire_bytes(size_at(distance));
  }
  const ScenarioRun direct = run_operation("ALL_TO_ALL_V", n, operation, "direct");
  expect_duration(direct, together_s);
  expect_bytes(direct, n, bytes);
  const ScenarioRun pairwise = run_operation("ALL_TO_ALL_V", n, operation, "pairwise");
  expect_duration(pairwise, in_turn_s);
  expect_bytes(pairwise, n, bytes);
}

TEST(ClosedForms, PairwiseOnOneSwitch) {
  for (const int n : {2, 7, 16}) {
    const double share = 48e3;
    for (const char* type : {"ALL_TO_ALL", "REDUCE_SCATTER", "ALL_GATHER"}) {
      const ScenarioRun run = run_collective(type, n, type == std::string("ALL_GATHER") ? share : share * n, "pairwise");
      expect_duration(run, (n - 1) * (kAlpha_s + wire_s(share)));
      expect_bytes(run, n, (n - 1) * wire_bytes(share));
    }
  }
}

TEST(ClosedForms, BruckOnOneSwitch) {
  for (const int n : {2, 7, 13, 16}) {
    const double share = 20e3;
    double gather_s = 0;
    double gather_bytes = 0;
    double exchange_s = 0;
    double exchange_bytes = 0;
    for (int distance = 1; distance < n; distance *= 2) {
      // What a rank has gathered doubles, until the rest is less; of an all-to-all go the blocks
      // for distances with this binary digit.
      const double gathered = std::min(distance, n - distance) * share;
      int blocks = 0;
      for (int k = 1; k < n; ++k) blocks += (k & distance) != 0 ? 1 : 0;
      gather_s += kAlpha_s + wire_s(gathered);
      gather_bytes += wire_bytes(gathered);
      exchange_s += kAlpha_s + wire_s(blocks * share);
      exchange_bytes += wire_bytes(blocks * share);
    }
    const ScenarioRun gather = run_collective("ALL_GATHER", n, share, "bruck");
    expect_duration(gather, gather_s);
    expect_bytes(gather, n, gather_bytes);
    const ScenarioRun exchange = run_collective("ALL_TO_ALL", n, share * n, "bruck");
    expect_duration(exchange, exchange_s);
    expect_bytes(exchange, n, exchange_bytes);
  }
}

TEST(ClosedForms, HalvingDoublingOfAPowerOfTwoOnOneSwitch) {
  for (const int n : {2, 8, 32}) {
    const double bytes = 8e6;
    double half_s = 0;
    double half_bytes = 0;
    for (int members = 2; members <= n; members *= 2) {
      half_s += kAlpha_s + wire_s(bytes / members);
      half_bytes += wire_bytes(bytes / members);
    }
    const ScenarioRun all_reduce = run_collective("ALL_REDUCE", n, bytes, "halving_doubling");
    expect_duration(all_reduce, 2 * half_s);
    expect_bytes(all_reduce, n, 2 * half_bytes);
    const ScenarioRun scatter = run_collective("REDUCE_SCATTER", n, bytes, "halving_doubling");
    expect_duration(scatter, half_s);
    expect_bytes(scatter, n, half_bytes);
    const ScenarioRun gather = run_collective("ALL_GATHER", n, bytes / n, "halving_doubling");
    expect_duration(gather, half_s);
    expect_bytes(gather, n, half_bytes);
  }
}

TEST(ClosedForms, HalvingDoublingOfThreeOnOneSwitch) {
  // Rank 0 hands in to rank 1, which exchanges with rank 2. Rank 2 waits for nobody, so that what
  // it sends shares the link to rank 1 with what rank 0 hands in; a rank's second send follows its
  // first by a gap, if it has waited for nothing else.
  const double share = 400e3;
  const double bytes = 3 * share;
  // In with the first half, the other half back, the sum of that half and back; out.
  const ScenarioRun all_reduce = run_collective("ALL_REDUCE", 3, bytes, "halving_doubling");
  expect_duration(all_reduce,
                  kAlpha_s + wire_s(bytes) + wire_s(bytes / 2) + 2 * (kAlpha_s + wire_s(bytes / 2)) + kAlpha_s + wire_s(bytes));
  // Two shares from either side at once; then rank 2's share to it and rank 0's share back to rank
  // 0.
  const ScenarioRun scatter = run_collective("REDUCE_SCATTER", 3, bytes, "halving_doubling");
  expect_duration(scatter, kAlpha_s + 2 * wire_s(2 * share) + wire_s(share) + kGap_s + wire_s(share) + kAlpha_s);
  // A share from either side at once; then two shares to rank 2 and two to rank 0.
  const ScenarioRun gather = run_collective("ALL_GATHER", 3, share, "halving_doubling");
  expect_duration(gather, kAlpha_s + 2 * wire_s(share) + wire_s(2 * share) + kGap_s + wire_s(2 * share) + kAlpha_s);
}

TEST(ClosedForms, HalvingDoublingOfSixOnOneSwitch) {
  // Ranks 0 and 2 hand in to ranks 1 and 3, which exchange with ranks 4 and 5. The latter have
  // nothing to wait for and meet what is handed in.
  const double share = 400e3;
  const double bytes = 6 * share;
  // In, sharing the link with the quarter that ranks 4 and 5 send once they have exchanged halves;
  // halves between ranks 1 and 3; a quarter to ranks 4 and 5; a quarter back; halves; out.
  const ScenarioRun all_reduce = run_collective("ALL_REDUCE", 6, bytes, "halving_doubling");
  expect_duration(all_reduce, 6 * kAlpha_s + 2 * wire_s(bytes) + 3 * wire_s(bytes / 4) + 2 * wire_s(bytes / 2));
  // Five shares in, together with four from rank 4 or 5; its two shares to that one, and after a
  // gap two between ranks 1 and 3; out.
  const ScenarioRun scatter = run_collective("REDUCE_SCATTER", 6, bytes, "halving_doubling");
  expect_duration(scatter, 3 * kAlpha_s + kGap_s + wire_s(5 * share) + wire_s(4 * share) + 2 * wire_s(2 * share) + wire_s(share));
  // The same backwards: a share in; two between ranks 1 and 3, together with two from ranks 4 and
  // 5; four to these, and after a gap five out.
  const ScenarioRun gather = run_collective("ALL_GATHER", 6, share, "halving_doubling");
  expect_duration(gather, 3 * kAlpha_s + kGap_s + wire_s(share) + 2 * wire_s(2 * share) + wire_s(4 * share) + wire_s(5 * share));
}

TEST(ClosedForms, HalvingDoublingOfOtherNumbersOnOneSwitch) {
  for (const int n : {6, 13}) {
    const double share = 400e3;
    const double bytes = n * share;
    const int core = n >= 8 ? 8 : 4;
    const int extras = n - core;
    // In: the whole buffer; log2(core) rounds there and back; out: the whole buffer.
    double reduce_s = 2 * (kAlpha_s + wire_s(bytes));
    double core_bytes = 0;
    for (int members = 2; members <= core; members *= 2) {
      reduce_s += 2 * (kAlpha_s + wire_s(bytes / members));
      core_bytes += 2 * wire_bytes(bytes / members);
    }
    // In: all shares but the own one; blocks of 1, 2, 4... members of the core with two shares each
    // as far as there are extra ranks; out: the own share.
    double scatter_s = 2 * kAlpha_s + wire_s((n - 1) * share) + wire_s(share);
    for (int members = 1; members < core; members *= 2) {
      scatter_s += kAlpha_s + wire_s(std::min(2 * members, members + extras) * share);
    }
    // Those that nobody hands in to begin early: at worst, all that they send in one half of the
    // exchange meets what is handed in.
    const double early_s = wire_s(bytes) * (core - 1) / core;
    const auto expect_between = [&](const ScenarioRun& run, double expected_s) {
      EXPECT_GE(collective_s(run), expected_s * 0.995);
      EXPECT_LE(collective_s(run), expected_s * 1.005 + early_s);
    };
    const ScenarioRun all_reduce = run_collective("ALL_REDUCE", n, bytes, "halving_doubling");
    const ScenarioRun scatter = run_collective("REDUCE_SCATTER", n, bytes, "halving_doubling");
    const ScenarioRun gather = run_collective("ALL_GATHER", n, share, "halving_doubling");
    expect_between(all_reduce, reduce_s);
    expect_between(scatter, scatter_s);
    expect_between(gather, scatter_s);
    const auto by_rank = [&](int rank) {
      if (rank >= 2 * extras) return core_bytes;
      return wire_bytes(bytes) + (rank % 2 == 0 ? 0 : core_bytes);
    };
    expect_bytes(all_reduce, n, by_rank, by_rank);
    EXPECT_DOUBLE_EQ(all_reduce.summary.payload_bytes, 2 * (n - 1) * bytes);
    EXPECT_DOUBLE_EQ(scatter.summary.payload_bytes, (n - 1) * bytes);
    EXPECT_DOUBLE_EQ(gather.summary.payload_bytes, (n - 1) * bytes);
  }
}

TEST(ClosedForms, DoubleBinaryTreeFromAndToARootOnOneSwitch) {
  for (const int levels : {1, 2, 4}) {
    for (const double k : {1, 20}) {
      // 2^levels ranks: under the root hang two perfect trees with a piece of 1/(2k) of the buffer
      // each. A piece goes level by level, always two at once on a link: the root's for both trees,
      // or an inner rank's for or from two children.
      const int n = 1 << levels;
      const double piece = 250e3;
      const double expected_s = levels * (kAlpha_s + 2 * wire_s(piece)) + (k - 1) * (kGap_s + 2 * wire_s(piece));
      const ScenarioRun broadcast =
          run_collective("BROADCAST", n, 2 * k * piece, "double_binary_tree", {"double_binary_tree.piece=250kB"});
      const ScenarioRun reduce =
          run_collective("REDUCE", n, 2 * k * piece, "double_binary_tree", {"double_binary_tree.piece=250kB"});
      expect_duration(broadcast, expected_s);
      expect_duration(reduce, expected_s);
      const double whole = 2 * k * wire_bytes(piece);
      for (const ScenarioRun& run : {broadcast, reduce}) {
        double sent = 0;
        for (const auto& row : run.links) {
          if (!row.at("src").starts_with("host")) continue;
          EXPECT_LE(std::stod(row.at("bytes")), whole + 1) << "nobody sends more than it gets";
          sent += std::stod(row.at("bytes"));
        }
        EXPECT_NEAR(sent, (n - 1) * whole, n);
      }
    }
  }
}

TEST(ClosedForms, DoubleBinaryTreeAllReduceOnOneSwitch) {
  for (const int levels : {1, 2, 3, 5}) {
    // One piece per tree: the root of a tree of 2^levels ranks has one child and a message at a
    // time, the levels - 1 below two per inner rank.
    const int n = 1 << levels;
    const double half = 1e6;
    const ScenarioRun run = run_collective("ALL_REDUCE", n, 2 * half, "double_binary_tree", {"double_binary_tree.piece=1GB"});
    expect_duration(run, 2 * (kAlpha_s + wire_s(half)) + 2 * (levels - 1) * (kAlpha_s + 2 * wire_s(half)));
    // The roots, ranks 0 and n-1, are leaves of the other tree: one child here, one parent there.
    // Everybody else is a leaf once and once has a parent and two children.
    const auto bytes = [&](int rank) { return (rank == 0 || rank == n - 1 ? 2 : 4) * wire_bytes(half); };
    expect_bytes(run, n, bytes, bytes);
  }
}

TEST(ClosedForms, DoubleBinaryTreeAllReduceHasTheBandwidthOfARing) {
  // Everybody but the roots sends and receives the buffer twice, 2 B/R; what comes on top is the
  // time in which the trees fill.
  const int n = 16;
  const double bytes = 1e9;
  const std::vector<std::string> no_latency = {"flow.protocol=none", "flow.wqe_latency=0ns", "flow.receive_latency=0ns",
                                               "flow.switching_delay=0ns", "flow.completion_latency=0ns"};
  const double bound_s = 2 * bytes * 8 / kRate_bps;
  const double actual_s = collective_s(run_collective("ALL_REDUCE", n, bytes, "double_binary_tree", no_latency));
  EXPECT_GE(actual_s, bound_s);
  EXPECT_LE(actual_s, bound_s * 1.02);
}

/// Hosts 0..n-1 and one or more switches in hpcc's format; no headers, no latencies but
/// propagation.
ScenarioRun run_flow_list(const std::string& topology, const std::string& flows) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("topology.txt", topology) + ":hpcc";
  flags.flows = folder.write("flow.txt", flows) + ":hpcc";
  flags.settings = {"flow.protocol=none",       "flow.wqe_latency=0ns",        "flow.receive_latency=0ns",
                    "flow.switching_delay=0ns", "flow.completion_latency=0ns", "flow.forwarding=cut_through"};
  return run_scenario(flags);
}

double fct_us(const ScenarioRun& run, const std::string& source, const std::string& destination) {
  for (const auto& row : run.flows) {
    if (row.at("src").ends_with(source) && row.at("dst").ends_with(destination)) return std::stod(row.at("fct_ns")) * 1e-3;
  }
  ADD_FAILURE() << "no flow from " << source << " to " << destination;
  return 0;
}

TEST(ClosedForms, FlowsShareOneBottleneckEqually) {
  // Three hosts send 1 MB each to host 3 through a switch, all links 100 Gb/s, 1 us each: each gets
  // a third, 240 us + 2 us.
  const ScenarioRun run =
      run_flow_list("5 1 4\n4\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n2 4 100Gbps 0.001ms 0\n3 4 100Gbps 0.001ms 0\n",
                    "3\n0 3 3 100 1000000 0\n1 3 3 100 1000000 0\n2 3 3 100 1000000 0\n");
  ASSERT_EQ(run.flows.size(), 3u);
  for (const auto& row : run.flows) {
    EXPECT_NEAR(std::stod(row.at("fct_ns")), 242e3, 1);
    EXPECT_NEAR(std::stod(row.at("ideal_fct_ns")), 82e3, 1);
    EXPECT_NEAR(std::stod(row.at("slowdown")), 242.0 / 82.0, 1e-6);
  }
}

TEST(ClosedForms, ParkingLot) {
  // Switches 4-5-6 in a row at 100 Gb/s without delay; hosts 0 at 4, 1 at 5, 2 and 3 at 6. The long
  // flow 0->2 shares 4-5 with nobody and 5-6 with 1->3: each gets 50 Gb/s. 1->3 (0.5 MB) ends at 80
  // us; until then the long one moved 0.5 MB of its 2 MB, the rest at 100 Gb/s takes 120 us: 200
  // us.
  const ScenarioRun run = run_flow_list(
      "7 3 6\n4 5 6\n0 4 100Gbps 0ms 0\n1 5 100Gbps 0ms 0\n2 6 100Gbps 0ms 0\n3 6 100Gbps 0ms 0\n4 5 100Gbps 0ms 0\n5 6 100Gbps "
      "0ms 0\n",
      "2\n0 2 3 100 2000000 0\n1 3 3 100 500000 0\n");
  ASSERT_EQ(run.flows.size(), 2u);
  EXPECT_NEAR(fct_us(run, "1", "3"), 80, 1e-3);
  EXPECT_NEAR(fct_us(run, "0", "2"), 200, 1e-3);
}

TEST(ClosedForms, TwoLevelsByHand) {
  // Two leafs (6, 7) under one spine (8); three hosts each at 100 Gb/s; leaf-spine links 150 Gb/s.
  // 0, 1, 2 send to 3, 4, 5 through the uplink of 6: 50 Gb/s each. 1 MB ends at 160 us, when all
  // three end together.
  // A fourth flow 0->1 stays under the leaf and shares host 0's link: it gets what 0->3 leaves, 100
  // - 50 = 50 Gb/s.
  const ScenarioRun run = run_flow_list(
      "9 3 8\n6 7 8\n0 6 100Gbps 0ms 0\n1 6 100Gbps 0ms 0\n2 6 100Gbps 0ms 0\n3 7 100Gbps 0ms 0\n4 7 100Gbps 0ms 0\n5 7 100Gbps "
      "0ms 0\n"
      "6 8 150Gbps 0ms 0\n7 8 150Gbps 0ms 0\n",
      "4\n0 3 3 100 1000000 0\n1 4 3 100 1000000 0\n2 5 3 100 1000000 0\n0 1 3 100 1000000 0\n");
  ASSERT_EQ(run.flows.size(), 4u);
  for (const auto& row : run.flows) EXPECT_NEAR(std::stod(row.at("fct_ns")), 160e3, 1) << row.at("src") << " to " << row.at("dst");
}

TEST(ClosedForms, AFlowThatStartsLaterTakesItsShareFromThenOn) {
  // 0->2 (1 MB, 100 Gb/s) starts at 0; 1->2 (0.25 MB) at 40 us: until then 0.5 MB are through, then
  // both get 50 Gb/s. The second ends 40 us later, the first has 0.25 MB left: 20 us more. 100 us
  // in all.
  const ScenarioRun run = run_flow_list("4 1 3\n3\n0 3 100Gbps 0ms 0\n1 3 100Gbps 0ms 0\n2 3 100Gbps 0ms 0\n",
                                        "2\n0 2 3 100 1000000 0\n1 2 3 100 250000 0.00004\n");
  EXPECT_NEAR(fct_us(run, "1", "2"), 40, 1e-3);
  EXPECT_NEAR(fct_us(run, "0", "2"), 100, 1e-3);
}

}  // namespace
}  // namespace weft::closed_forms_test
