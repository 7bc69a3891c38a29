// SPDX-License-Identifier: Apache-2.0
// Packet mode under congestion control against flow mode on the same paths, and against what the
// receivers' links can take at best.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/values/random.hpp"
#include "scenario_run.hpp"

namespace weft::packet_against_flow_test {
namespace {

struct Times {
  double mean_us = 0;
  double max_us = 0;
  std::uint64_t drops = 0;
};

/// Flow completion times of a run of `rows`, a flow list in hpcc's format without its first line.
Times times_of(const std::string& topology, const std::vector<std::string>& rows, const std::string& mode,
               const std::vector<std::string>& settings) {
  const ScratchFolder folder;
  std::string list = std::to_string(rows.size()) + "\n";
  for (const std::string& row : rows) list += row + "\n";
  RunFlags flags;
  flags.mode = mode;
  flags.topology = topology;
  flags.flows = folder.write("flow.txt", list) + ":hpcc";
  flags.settings = settings;
  const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
  EXPECT_EQ(run.flows.size(), rows.size());
  Times times;
  for (const auto& row : run.flows) {
    const double us = std::stod(row.at("fct_ns")) / 1000;
    times.mean_us += us / static_cast<double>(rows.size());
    times.max_us = std::max(times.max_us, us);
  }
  for (const auto& row : run.links) times.drops += std::stoull(row.at("drops"));
  return times;
}

const std::string kFatTree = std::string(WEFT_SOURCE_DIR) + "/topologies/presets/fat_tree_k8.textproto";

std::string row(int from, int to, long bytes) { return fmt::format("{} {} 0 100 {} 0", from, to, bytes); }

std::vector<std::string> permutation(long bytes) {
  std::vector<int> order(128);
  for (int i = 0; i < 128; ++i) order[static_cast<std::size_t>(i)] = i;
  RandomStream random(1, 0, 0);
  for (std::uint32_t i = 127; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < 128; ++i) rows.push_back(row(order[i], order[(i + 1) % 128], bytes));
  return rows;
}

// Expectation: on a path of its own, a flow from a card of 400 Gb/s over a link of 100 Gb/s is as
// fast as the link. HPCC leaves a twentieth of it free.
TEST(PacketAgainstFlow, AFastCardOnASlowLink) {
  const ScratchFolder folder;
  const std::string net = folder.write("net.txt", "3 1 2\n2\n0 2 400Gbps 0.0005ms 0\n1 2 100Gbps 0.0005ms 0\n") + ":hpcc";
  const std::vector<std::string> rows{row(0, 1, 10'000'000)};
  const double flow_us = times_of(net, rows, "flow", {}).mean_us;
  for (const char* algorithm : {"dcqcn", "dctcp", "swift", "hpcc", "none"}) {
    const Times packet = times_of(net, rows, "packet", {std::string("packet.congestion_control=") + algorithm});
    EXPECT_NEAR(packet.mean_us / flow_us, 1, std::string(algorithm) == "hpcc" ? 0.06 : 0.01) << algorithm;
  }
}

// Expectation: with queue pairs spread over hashed paths, which collide, the mean over 128 flows is
// within 15 % of max-min fair shares.
TEST(PacketAgainstFlow, AHashedPermutation) {
  const ScratchFolder folder;
  for (const int gbps : {100, 400}) {
    const std::string rate = std::to_string(gbps) + "Gbps";
    const std::string net =
        folder.write("net.textproto", "builder: \"fat_tree\" set { name: \"k\" value: \"8\" } set { name: \"nic_rate\" value: \"" +
                                          rate + "\" } set { name: \"fabric_rate\" value: \"" + rate + "\" }\n");
    const std::vector<std::string> rows = permutation(10'000'000);
    const double flow_us = times_of(net, rows, "flow", {}).mean_us;
    const Times packet = times_of(net, rows, "packet", {});
    EXPECT_NEAR(packet.mean_us / flow_us, 1, 0.15) << gbps;
    EXPECT_EQ(packet.drops, 0U);
  }
}

// Expectation: 15 flows of 1 MB to one host lose packets in switches without PFC. What is missing
// alone is sent again under selective repeat, as slowly at first as under go-back-N, which sends
// more: the last one ends no later.
TEST(PacketAgainstFlow, SelectiveRepeatIsNoSlowerThanGoBackN) {
  const ScratchFolder folder;
  const std::string net = folder.write(
      "net.textproto",
      "builder: \"fat_tree\" set { name: \"k\" value: \"4\" } set { name: \"nic_rate\" value: \"100Gbps\" } set { name: "
      "\"fabric_rate\" value: \"100Gbps\" }\n");
  std::vector<std::string> rows;
  for (int from = 1; from <= 15; ++from) rows.push_back(std::to_string(from) + " 0 3 100 1000000 0");
  for (const char* buffer : {"4MB", "500kB", "100kB"}) {
    std::vector<std::string> settings{"packet.congestion_control=none", "packet.lossy=0", "packet.reserved=0B",
                                      std::string("packet.buffer=") + buffer};
    const Times all = times_of(net, rows, "packet", settings);
    settings.emplace_back("packet.retransmission=selective_repeat");
    const Times alone = times_of(net, rows, "packet", settings);
    EXPECT_LT(alone.max_us, 1.02 * all.max_us) << buffer;
    EXPECT_LT(alone.mean_us, 1.15 * all.mean_us) << buffer;
  }
}

// Expectation: 64 flows of 1 MB end in the 5.37 ms that 64 x 1000 packets of 1048 B take on the
// link of 100 Gb/s to their receiver, as it hardly idles. Without a window 64 MB set out at once,
// and what rates lose while they come back down the link is one or two percent more.
TEST(PacketAgainstFlow, AnIncastUnderThePresetHpcc) {
  std::vector<std::string> rows;
  for (int from = 1; from <= 64; ++from) rows.push_back(row(from, 0, 1'000'000));
  const double floor_us = 64 * 1000 * 1048 * 8 / 100e3;
  for (const char* preset : {"hpcc", "hpcc_no_window"}) {
    const Times packet = times_of(kFatTree, rows, "packet", {std::string("preset=") + preset});
    EXPECT_GE(packet.max_us, floor_us) << preset;
    EXPECT_LT(packet.max_us, (std::string(preset) == "hpcc" ? 1.03 : 1.05) * floor_us) << preset;
    EXPECT_EQ(packet.drops, 0U) << preset;
  }
}

// Expectation: among 64 hosts, each receives 63 x 256 packets of 1048 B, for which its link takes
// 1.35 ms.
TEST(PacketAgainstFlow, AnAllToAllUnderThePresetHpcc) {
  std::vector<std::string> rows;
  for (int from = 0; from < 64; ++from) {
    for (int to = 0; to < 64; ++to) {
      if (from != to) rows.push_back(row(2 * from, 2 * to, 256'000));
    }
  }
  const double floor_us = 63 * 256 * 1048 * 8 / 100e3;
  for (const char* preset : {"hpcc", "hpcc_no_window"}) {
    const Times packet = times_of(kFatTree, rows, "packet", {std::string("preset=") + preset});
    EXPECT_LT(packet.max_us, 1.5 * floor_us) << preset;
    EXPECT_EQ(packet.drops, 0U) << preset;
  }
}

// Expectation: each of 64 hosts sends to the next one; acknowledgements of every packet take 8 % of
// the links beside them, which flow mode does not know.
TEST(PacketAgainstFlow, ARingUnderThePresetHpcc) {
  std::vector<std::string> rows;
  for (int from = 0; from < 64; ++from) rows.push_back(row(2 * from, 2 * ((from + 1) % 64), 256'000));
  for (const char* preset : {"hpcc", "hpcc_no_window"}) {
    const std::string setting = std::string("preset=") + preset;
    const double flow_us = times_of(kFatTree, rows, "flow", {setting}).max_us;
    EXPECT_LT(times_of(kFatTree, rows, "packet", {setting}).max_us, 1.1 * flow_us) << preset;
    for (const char* mtu : {"4200B", "9000B"}) {
      const std::vector<std::string> settings{setting, std::string("flow.mtu=") + mtu};
      EXPECT_LT(times_of(kFatTree, rows, "packet", settings).max_us, 1.15 * times_of(kFatTree, rows, "flow", settings).max_us)
          << preset << mtu;
    }
  }
}

/// Pairs of hosts with cards of 400 Gb/s, each at another end of a link of 100 Gb/s that all share.
std::string two_sites(const ScratchFolder& folder, int pairs, double rtt_ms) {
  const int west = 2 * pairs;
  std::string text = fmt::format("{} 2 {}\n{} {}\n", 2 * pairs + 2, 2 * pairs + 1, west, west + 1);
  for (int host = 0; host < 2 * pairs; ++host) {
    text += fmt::format("{} {} 400Gbps 0.001ms 0\n", host, host < pairs ? west : west + 1);
  }
  text += fmt::format("{} {} 100Gbps {:f}ms 0\n", west, west + 1, rtt_ms / 2);
  return folder.write("net.txt", text) + ":hpcc";
}

// Expectation: over up to 25 ms of fibre, a lone flow takes as long as in flow mode, whatever
// congestion control: its window is what the way holds, and it is paced by the slowest link, so
// that no queue is built. HPCC leaves a twentieth free.
TEST(PacketAgainstFlow, TwoSites) {
  const ScratchFolder folder;
  for (const auto& [rtt_ms, bytes] : {std::pair(0.1, 20'000'000L), std::pair(1.0, 100'000'000L), std::pair(10.0, 500'000'000L),
                                      std::pair(50.0, 1'000'000'000L)}) {
    const std::string net = two_sites(folder, 1, rtt_ms);
    const std::vector<std::string> rows{row(0, 1, bytes)};
    const double flow_us = times_of(net, rows, "flow", {}).mean_us;
    for (const char* algorithm : {"dcqcn", "dctcp", "swift", "none"}) {
      const Times packet = times_of(net, rows, "packet", {std::string("packet.congestion_control=") + algorithm});
      EXPECT_NEAR(packet.mean_us / flow_us, 1, 0.01) << algorithm << ", " << rtt_ms << " ms";
    }
  }
}

// Expectation: two and four flows that begin together send more than the link takes for a round
// trip, are marked, and share it from then on. DCQCN answers a queue once, and looks again when
// what it did shows: the mean is within a tenth of max-min fair shares.
TEST(PacketAgainstFlow, FlowsThatShareALongLink) {
  const ScratchFolder folder;
  for (const auto& [rtt_ms, bytes] : {std::pair(0.1, 20'000'000L), std::pair(1.0, 100'000'000L), std::pair(10.0, 500'000'000L)}) {
    for (const int pairs : {2, 4}) {
      const std::string net = two_sites(folder, pairs, rtt_ms);
      std::vector<std::string> rows;
      for (int pair = 0; pair < pairs; ++pair) rows.push_back(row(pair, pairs + pair, bytes));
      const double flow_us = times_of(net, rows, "flow", {}).mean_us;
      const Times packet = times_of(net, rows, "packet", {});
      EXPECT_NEAR(packet.mean_us / flow_us, 1, 0.1) << pairs << ", " << rtt_ms << " ms";
      EXPECT_EQ(packet.drops, 0U);
    }
  }
}

}  // namespace
}  // namespace weft::packet_against_flow_test
