// SPDX-License-Identifier: Apache-2.0
// Next hops weighed by capacity (flow.path_weights) in whole runs: what flows get on unequal paths,
// in both modes, while cables change, and folded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "scenario_run.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::path_weights_test {
namespace {

const std::string kCapacity = "flow.path_weights=capacity";

double number(const std::map<std::string, std::string>& row, const std::string& column) { return std::stod(row.at(column)); }

/// Hosts 0 to 3 of leaf 8 and 4 to 7 of leaf 9, of `nic` each, one way over spine 10 at 400 Gb/s,
/// the other over spine 11; `up` and `down` are the rates of that spine's cables from leaf 8 and to
/// leaf 9.
std::string two_leafs(const ScratchFolder& folder, const std::string& nic, const std::string& up, const std::string& down) {
  std::string text = "12 4 12\n8 9 10 11\n";
  for (int host = 0; host < 8; ++host) text += fmt::format("{}{}{} 0.0005ms 0\n", host, host < 4 ? " 8 " : " 9 ", nic);
  text += "8 10 400Gbps 0.0005ms 0\n9 10 400Gbps 0.0005ms 0\n8 11 " + up + " 0.0005ms 0\n9 11 " + down + " 0.0005ms 0\n";
  return folder.write("net.txt", text) + ":hpcc";
}

RunFlags flow_list(const ScratchFolder& folder, const std::string& topology, const std::vector<std::string>& rows,
                   const std::string& mode, const std::vector<std::string>& settings) {
  std::string list = std::to_string(rows.size()) + "\n";
  for (const std::string& row : rows) list += row + "\n";
  RunFlags flags;
  flags.mode = mode;
  flags.topology = topology;
  flags.flows = folder.write("flow.txt", list) + ":hpcc";
  flags.settings = settings;
  return flags;
}

std::string row(int from, int to, long bytes) { return fmt::format("{} {} 0 100 {} 0", from, to, bytes); }

/// From every host of one leaf to one of the other.
std::vector<std::string> across(long bytes) {
  std::vector<std::string> rows;
  for (int host = 0; host < 4; ++host) rows.push_back(row(host, 4 + host, bytes));
  return rows;
}

double longest_us(const ScenarioRun& run) {
  double longest = 0;
  for (const auto& flow : run.flows) longest = std::max(longest, number(flow, "fct_ns") / 1000);
  return longest;
}

double bytes_of(const ScenarioRun& run, const std::string& link) {
  for (const auto& row : run.links) {
    if (row.at("link") == link) return number(row, "bytes");
  }
  ADD_FAILURE() << "no link " << link;
  return 0;
}

// Expectation: four flows from cards of 100 Gb/s over uplinks of 400 and 100 Gb/s. Sprayed evenly,
// half of each crosses the 100: 4 r / 2 = 100, r = 50 Gb/s. By capacity a fifth of each does: 4 r /
// 5 = 80 at the cards' own r = 100 Gb/s. 10 MB are 2,442 packets of up to 4,096 B with 82 B of
// headers. In packet mode by capacity nothing is in the way either.
TEST(PathWeights, SprayFillsUnequalUplinks) {
  const ScratchFolder folder;
  const std::string net = two_leafs(folder, "100Gbps", "100Gbps", "100Gbps");
  const double wire_us = (10e6 + 2442 * 82) * 8 / 100e3;
  const auto run_with = [&](const std::string& mode, std::vector<std::string> settings) {
    settings.push_back("flow.routing=spray");
    return run_scenario(flow_list(folder, net, across(10'000'000), mode, settings));
  };
  EXPECT_NEAR(longest_us(run_with("flow", {})) / wire_us, 2, 0.02);
  const ScenarioRun flow = run_with("flow", {kCapacity});
  EXPECT_NEAR(longest_us(flow) / wire_us, 1, 0.01);
  EXPECT_NEAR(bytes_of(flow, "8->10") / bytes_of(flow, "8->11"), 4, 1e-6);
  EXPECT_NEAR(bytes_of(flow, "10->9") / bytes_of(flow, "11->9"), 4, 1e-6);
  const ScenarioRun packet = run_with("packet", {kCapacity});
  EXPECT_NEAR(longest_us(packet) / longest_us(flow), 1, 0.02);
  // 9,768 packets over the two, binomial with 1/5: 1,954 with a standard deviation of 40.
  const double packets_over_slow = bytes_of(packet, "8->11") / 4178;
  EXPECT_NEAR(packets_over_slow, 1954, 5 * 40);
  EXPECT_GT(longest_us(run_with("packet", {})), 1.8 * longest_us(packet));
}

// Expectation: one card of 400 Gb/s alone, over uplinks of 400 and 100. Where half goes each way,
// the 100 let 200 Gb/s through in all; by capacity 400 do, the card's own. A window for these is
// open in packet mode, whatever way acknowledgements take.
TEST(PathWeights, OneSprayedFlowIsAsFastAsItsWaysTogether) {
  const ScratchFolder folder;
  const std::string net = two_leafs(folder, "400Gbps", "100Gbps", "100Gbps");
  for (const int from : {0, 1, 2, 3}) {
    const std::vector<std::string> rows{row(from, 4, 50'000'000)};
    const double wire_us = (50e6 + 12208 * 82) * 8 / 400e3;
    const auto run_with = [&](const std::string& mode, const std::vector<std::string>& settings) {
      return longest_us(run_scenario(flow_list(folder, net, rows, mode, settings), ScenarioRunOptions{}));
    };
    EXPECT_NEAR(run_with("flow", {"flow.routing=spray"}) / wire_us, 2, 0.02);
    const double flow_us = run_with("flow", {"flow.routing=spray", kCapacity});
    EXPECT_NEAR(flow_us / wire_us, 1, 0.01);
    EXPECT_NEAR(run_with("packet", {"flow.routing=spray", kCapacity, "packet.congestion_control=none"}) / flow_us, 1, 0.02);
  }
}

// Expectation: the bottleneck of 100 Gb/s is one hop further, behind an uplink of 400 Gb/s, and
// counts as much.
TEST(PathWeights, ABottleneckOneHopFurtherCountsInBothModes) {
  const ScratchFolder folder;
  const std::string net = two_leafs(folder, "100Gbps", "400Gbps", "100Gbps");
  const double wire_us = (10e6 + 2442 * 82) * 8 / 100e3;
  for (const char* mode : {"flow", "packet"}) {
    const ScenarioRun run =
        run_scenario(flow_list(folder, net, across(10'000'000), mode, {"flow.routing=spray", kCapacity}), ScenarioRunOptions{});
    EXPECT_NEAR(longest_us(run) / wire_us, 1, 0.02) << mode;
    EXPECT_NEAR(bytes_of(run, "8->10") / bytes_of(run, "8->11"), 4, 0.5) << mode;
  }
}

// Expectation: 2,000 hashed flows take the 100 of 500 Gb/s in one of five cases, 400 +- 18, and the
// same ones in both modes: what crosses the uplinks is the same to the byte.
TEST(PathWeights, EcmpChoosesAlikeInBothModes) {
  const ScratchFolder folder;
  const std::string net = two_leafs(folder, "100Gbps", "100Gbps", "100Gbps");
  std::vector<std::string> rows;
  for (int i = 0; i < 2000; ++i) rows.push_back(row(i % 4, 4 + i / 4 % 4, 1000));
  for (const char* routing : {"ecmp", "e_ecmp"}) {
    const std::vector<std::string> settings{std::string("flow.routing=") + routing, kCapacity};
    const ScenarioRun flow = run_scenario(flow_list(folder, net, rows, "flow", settings), ScenarioRunOptions{});
    const ScenarioRun packet = run_scenario(flow_list(folder, net, rows, "packet", settings));
    EXPECT_NEAR(bytes_of(flow, "8->11") / 1098, 400, 5 * 18) << routing;
    EXPECT_EQ(bytes_of(flow, "8->10") + bytes_of(flow, "8->11"), 2000 * 1098.0);
    EXPECT_EQ(bytes_of(packet, "8->11"), bytes_of(flow, "8->11")) << routing;
    EXPECT_EQ(bytes_of(packet, "8->10"), bytes_of(flow, "8->10")) << routing;
  }
}

// Equal next hops weigh nothing: the very run, whatever its routing.
TEST(PathWeights, ChangeNothingWhereAllWaysAreAlike) {
  const ScratchFolder folder;
  const std::string net = folder.write("net.textproto", "builder: \"fat_tree\" set { name: \"k\" value: \"4\" }\n");
  std::vector<std::string> rows;
  for (int from = 0; from < 16; ++from) rows.push_back(row(from, (from + 5) % 16, 300'000));
  for (const char* routing : {"ecmp", "spray"}) {
    for (const char* mode : {"flow", "packet"}) {
      const std::string setting = std::string("flow.routing=") + routing;
      // Only the window of a sprayed queue pair is another: all ways together are at least as fast
      // as one of them, here no faster.
      const ScenarioRun equal = run_scenario(flow_list(folder, net, rows, mode, {setting}), ScenarioRunOptions{});
      const ScenarioRun weighed = run_scenario(flow_list(folder, net, rows, mode, {setting, kCapacity}), ScenarioRunOptions{});
      EXPECT_EQ(weighed.summary.fingerprint, equal.summary.fingerprint) << mode << routing;
    }
  }
}

// --- While cables change -------------------------------------------------------------------------

/// A rank on each of two hosts of 100 Gb/s at two leafs, joined over two spines at 100 Gb/s each;
/// one sends the other 1 GB while a cable of one spine is at a quarter of its rate, of which the
/// network knows after 50 ms.
RunFlags degraded(const ScratchFolder& folder, const std::string& mode, const std::string& weights) {
  folder.write(
      "net.textproto",
      "host { port: \"a\" } host { port: \"b\" } switch { name: \"leaf0\" level: LEAF } switch { name: \"leaf1\" level: LEAF }\n"
      "switch { name: \"spine0\" level: SPINE } switch { name: \"spine1\" level: SPINE }\n"
      "link { a: \"a\" b: \"leaf0\" rate: \"100Gbps\" fibre: \"2m\" } link { a: \"b\" b: \"leaf1\" rate: \"100Gbps\" fibre: \"2m\" "
      "}\n"
      "link { a: \"leaf0\" b: \"spine0\" rate: \"100Gbps\" fibre: \"2m\" } link { a: \"leaf0\" b: \"spine1\" rate: \"100Gbps\" "
      "fibre: \"2m\" }\n"
      "link { a: \"leaf1\" b: \"spine0\" rate: \"100Gbps\" fibre: \"2m\" } link { a: \"leaf1\" b: \"spine1\" rate: \"100Gbps\" "
      "fibre: \"2m\" }\n");
  folder.write(
      "work.textproto",
      "ranks: 2 communicator { name: \"all\" size: 2 }\n"
      "role { name: \"first\" ranks: \"0\" op { name: \"s\" send { communicator: \"all\" peer_offset: 1 size: \"1GB\" } } }\n"
      "role { name: \"second\" ranks: \"1\" op { name: \"r\" receive { communicator: \"all\" peer_offset: -1 size: \"1GB\" } } "
      "}\n");
  std::string text = "name: \"degraded\" topology { file: \"net.textproto\" }\n";
  text += "job { name: \"a\" iterations: 1 workload { file: \"work.textproto\" } }\n";
  text += "set { name: \"failure.reroute\" value: \"50ms\" } set { name: \"failure.detection\" value: \"0s\" }\n";
  text += "set { name: \"flow.routing\" value: \"spray\" } set { name: \"flow.path_weights\" value: \"" + weights + "\" }\n";
  text += "event { at: \"0s\" fail { part: \"leaf0->spine1\" factor: 0.25 repair: \"10s\" } }\n";
  RunFlags flags;
  flags.scenario_file = folder.write("scenario.textproto", text);
  flags.mode = mode;
  if (mode == "packet") flags.settings = {"packet.congestion_control=none"};
  return flags;
}

// Expectation: 1 GB in packets of 4,096 B with 82 B of headers are 8.160 Gb. While half goes each
// way, 2 x 25 Gb/s: 163.2 ms if that is all. By capacity, from 50 ms on 4/5 go over the other
// spine, which would do for 125 Gb/s, more than the card's 100: 2.5 Gb until then and 56.6 ms for
// the rest.
TEST(PathWeights, FollowWhatCablesCarry) {
  const ScratchFolder folder;
  const double bits = 1e9 / 4096 * 4178 * 8;
  const double equal_ms = bits / 50e9 * 1e3;
  const double followed_ms = 50 + (bits - 50e9 * 0.05) / 100e9 * 1e3;
  for (const char* mode : {"flow", "packet"}) {
    const double tolerance = std::string(mode) == "flow" ? 0.001 : 0.02;
    EXPECT_NEAR(run_scenario(degraded(folder, mode, "equal")).summary.makespan.in_ns() / 1e6 / equal_ms, 1, tolerance) << mode;
    EXPECT_NEAR(run_scenario(degraded(folder, mode, "capacity")).summary.makespan.in_ns() / 1e6 / followed_ms, 1, tolerance)
        << mode;
  }
}

// --- Folded --------------------------------------------------------------------------------------

/// An all-to-all of all hosts with host.fold_ranks "on" and "off".
std::map<std::string, ScenarioRun> with_and_without_folding(const std::vector<std::string>& settings) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = two_leafs(folder, "400Gbps", "100Gbps", "100Gbps");
  flags.workload =
      folder.write("work.textproto", "ranks: 8 role { op { name: \"a\" collective { type: ALL_TO_ALL size: \"8MB\" } } }");
  std::map<std::string, ScenarioRun> runs;
  for (const char* fold : {"on", "off"}) {
    flags.settings = settings;
    flags.settings.push_back(std::string("host.fold_ranks=") + fold);
    runs.emplace(fold, run_scenario(flags));
  }
  return runs;
}

// Expectation: ranks that are alike stay so, as what is sprayed by capacity differs by link and not
// by rank; folding changes no result. Leafs of four hosts and uplinks of 400 and 100 Gb/s: a ring
// that goes round leaf by leaf has one in four of its messages on them.
TEST(PathWeights, FoldedRanksTakeTheSameShares) {
  const std::map<std::string, ScenarioRun> runs = with_and_without_folding({"flow.routing=spray", kCapacity});
  EXPECT_GT(runs.at("on").summary.ranks_simulated, 0U);
  EXPECT_LT(runs.at("on").summary.ranks_simulated, 8U);
  EXPECT_NEAR(runs.at("on").summary.makespan.in_ns(), runs.at("off").summary.makespan.in_ns(), 1);
  for (const char* link : {"8->10", "8->11", "10->9", "11->9"})
    EXPECT_NEAR(bytes_of(runs.at("on"), link), bytes_of(runs.at("off"), link), 100) << link;
  // All-to-all: of each rank's 8 MB an eighth goes to every rank, half of all over the uplinks of
  // its leaf, 4 x 4 MB at 500 Gb/s.
  EXPECT_NEAR(bytes_of(runs.at("off"), "8->10") / bytes_of(runs.at("off"), "8->11"), 4, 1e-3);
}

// Expectation: hashed paths that differ tell ranks apart as they do without weights; where folding
// finds no two ranks alike it says nothing wrong.
TEST(PathWeights, HashedPathsAreFoldedOnlyWhereTheyAreAlike) {
  const std::map<std::string, ScenarioRun> runs = with_and_without_folding({kCapacity});
  EXPECT_NEAR(runs.at("on").summary.makespan.in_ns(), runs.at("off").summary.makespan.in_ns(), 1);
}

}  // namespace
}  // namespace weft::path_weights_test
