// SPDX-License-Identifier: Apache-2.0
// Hierarchical collectives on a small rail-optimised fabric: time and bytes on every link follow
// from a few lines of arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/validation/scenario_run.hpp"

namespace weft::hierarchical_test {
namespace {

constexpr int kHosts = 4;
constexpr int kPerHost = 4;
constexpr int kRanks = kHosts * kPerHost;
constexpr double kBytes = 64e6;
constexpr double kNvlink_bps = 3600e9;
constexpr double kNic_bps = 400e9;

double seconds(double bytes, double rate_bps) { return bytes * 8 / rate_bps; }

/// Of every message on a rail: the leaf takes in its last packet before it forwards it.
const double kLastPacket_s = seconds(4096, kNic_bps);

/// Every host's GPU r below one leaf; no headers, no latencies, cables without length.
ScenarioRun run_hierarchical(const std::string& type, double bytes, const std::vector<std::string>& settings,
                             const std::string& more = "") {
  const ScratchFolder folder;
  RunFlags flags;
  const auto set = [](const std::string& name, const std::string& value) {
    return " set { name: \"" + name + "\" value: \"" + value + "\" }";
  };
  flags.topology = folder.write("topology.textproto", "builder: \"rail_optimized\"" + set("hosts", std::to_string(kHosts)) +
                                                          set("gpus_per_host", std::to_string(kPerHost)) +
                                                          set("nics_per_host", std::to_string(kPerHost)) + set("host_fibre", "0m") +
                                                          set("nvlink_delay", "0ns") + set("pcie_delay", "0ns"));
  flags.workload =
      folder.write("work.textproto", "ranks: " + std::to_string(kRanks) + " role { op { name: \"c\" collective { type: " + type +
                                         " size: \"" + std::to_string(static_cast<long long>(bytes)) + "B\" " + more + "} } }");
  std::string name = type;
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  flags.settings = {"collective." + name + "=hierarchical",
                    "flow.protocol=none",
                    "flow.wqe_latency=0ns",
                    "flow.receive_latency=0ns",
                    "flow.switching_delay=0ns",
                    "flow.completion_latency=0ns",
                    "flow.nvlink_latency=0ns"};
  flags.settings.insert(flags.settings.end(), settings.begin(), settings.end());
  return run_scenario(flags);
}

double collective_s(const ScenarioRun& run) {
  EXPECT_EQ(run.collectives.size(), 1U);
  return std::stod(run.collectives.at(0).at("duration_ns")) * 1e-9;
}

/// Expectation: every GPU's NVLink carries `nvlink` bytes each way, every NIC's cable `nic`.
void expect_bytes(const ScenarioRun& run, double nvlink, double nic) {
  for (const auto& row : run.links) {
    const std::string& link = row.at("link");
    const bool inside = link.find("nvswitch") != std::string::npos;
    const bool rail = link.find("leaf") != std::string::npos && link.find("spine") == std::string::npos;
    if (inside || rail) {
      EXPECT_NEAR(std::stod(row.at("bytes")), inside ? nvlink : nic, 2) << link;
    }
  }
}

TEST(HierarchicalRuns, AllReduceTakesTwoPhasesInsideAndAllPiecesOnTheRails) {
  for (const int pieces : {1, 2, 4, 8}) {
    for (const std::string inside : {"ring", "direct"}) {
      const ScenarioRun run = run_hierarchical("ALL_REDUCE", kBytes,
                                               {"hierarchical.pieces=" + std::to_string(pieces), "hierarchical.inside=" + inside});
      // A phase inside a host brings (G-1)/G of a piece through every NVLink, one on the rails 2
      // (H-1)/H of a GPU's share of a piece. Rails are slower, so that they are busy from the end
      // of the first reduce-scatter to the start of the last all-gather; of each of the 2 (H-1)
      // messages of a piece the next waits for the last packet.
      const double t_inside = seconds(kBytes / pieces * (kPerHost - 1) / kPerHost, kNvlink_bps);
      const double t_rails = seconds(2 * kBytes / kPerHost * (kHosts - 1) / kHosts, kNic_bps);
      const double expected_s = 2 * t_inside + t_rails + pieces * 2 * (kHosts - 1) * kLastPacket_s;
      EXPECT_NEAR(collective_s(run), expected_s, 0.0001 * expected_s) << pieces << " pieces, " << inside;
      expect_bytes(run, 2 * kBytes * (kPerHost - 1) / kPerHost, 2 * kBytes / kPerHost * (kHosts - 1) / kHosts);
    }
  }
}

TEST(HierarchicalRuns, ReduceScatterAndAllGatherTakeHalfOfThat) {
  const double t_inside = seconds(kBytes / 4 * (kPerHost - 1) / kPerHost, kNvlink_bps);
  const double t_rails = seconds(kBytes / kPerHost * (kHosts - 1) / kHosts, kNic_bps);
  const double expected_s = t_inside + t_rails + 4 * (kHosts - 1) * kLastPacket_s;
  const ScenarioRun scattered = run_hierarchical("REDUCE_SCATTER", kBytes, {});
  EXPECT_NEAR(collective_s(scattered), expected_s, 0.0001 * expected_s);
  expect_bytes(scattered, kBytes * (kPerHost - 1) / kPerHost, kBytes / kPerHost * (kHosts - 1) / kHosts);
  // The size of an all-gather is one rank's shard.
  const ScenarioRun gathered = run_hierarchical("ALL_GATHER", kBytes / kRanks, {});
  EXPECT_NEAR(collective_s(gathered), expected_s, 0.0001 * expected_s);
  expect_bytes(gathered, kBytes * (kPerHost - 1) / kPerHost, kBytes / kPerHost * (kHosts - 1) / kHosts);
}

TEST(HierarchicalRuns, AllToAllHandsOnInsideAndSendsAlongTheRails) {
  // Inside a host a GPU hands on all but its rail's 1/G of the buffer; along its rail go the G
  // blocks of its host for each other host.
  const double nvlink = kBytes * (kPerHost - 1) / kPerHost;
  const double nic = kBytes / kRanks * kPerHost * (kHosts - 1);
  const double expected_s = seconds(nvlink, kNvlink_bps) + seconds(nic, kNic_bps) + kLastPacket_s;
  const ScenarioRun run = run_hierarchical("ALL_TO_ALL", kBytes, {});
  EXPECT_NEAR(collective_s(run), expected_s, 0.0001 * expected_s);
  expect_bytes(run, nvlink, nic);
}

TEST(HierarchicalRuns, BroadcastPassesSharesAlongTheRails) {
  const int pieces = 64;
  const ScenarioRun run = run_hierarchical("BROADCAST", kBytes, {"hierarchical.pieces=" + std::to_string(pieces)}, "root: 5 ");
  // A chain of H-1 cables, pieces one after the other: pieces + H-2 times a share of a piece.
  // Before, the root scatters a piece to the G-1 others, and afterwards the last piece is gathered.
  // The scatter of later pieces is over long before.
  const double piece = kBytes / pieces;
  const double expected_s = 2 * seconds(piece * (kPerHost - 1) / kPerHost, kNvlink_bps) +
                            (pieces + kHosts - 2) * seconds(piece / kPerHost, kNic_bps) + (kHosts - 1) * kLastPacket_s;
  EXPECT_NEAR(collective_s(run), expected_s, 0.0001 * expected_s);
}

// The example program: log2 n rounds of the whole buffer.
TEST(ProgramRuns, RecursiveDoublingTakesTwoBuffersAmongFour) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology =
      folder.write("topology.textproto",
                   "builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } set { name: \"fibre\" value: \"0m\" }");
  flags.workload =
      folder.write("work.textproto", "ranks: 4 role { op { name: \"c\" collective { type: ALL_REDUCE size: \"64MB\" } } }");
  flags.settings = {"collective.all_reduce=program",
                    "program.file=" + std::string(WEFT_SOURCE_DIR) + "/host/collectives/examples/recursive_doubling_4.textproto",
                    "flow.protocol=none",
                    "flow.wqe_latency=0ns",
                    "flow.receive_latency=0ns",
                    "flow.switching_delay=0ns",
                    "flow.completion_latency=0ns"};
  const double expected_s = 2 * (seconds(64e6, 400e9) + kLastPacket_s);
  flags.settings.push_back("host.fold_ranks=off");
  const ScenarioRun whole = run_scenario(flags);
  EXPECT_NEAR(collective_s(whole), expected_s, 0.0001 * expected_s);
  for (const auto& row : whole.links) EXPECT_NEAR(std::stod(row.at("bytes")), 2 * 64e6, 2) << row.at("link");
  flags.settings.back() = "host.fold_ranks=on";
  const ScenarioRun folded = run_scenario(flags);
  EXPECT_EQ(folded.summary.ranks_simulated, 1U);
  EXPECT_EQ(folded.summary.makespan, whole.summary.makespan);
}

}  // namespace
}  // namespace weft::hierarchical_test
