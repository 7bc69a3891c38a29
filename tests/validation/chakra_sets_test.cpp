// SPDX-License-Identifier: Apache-2.0
// Real traces on real networks: the four 16-rank Chakra sets on one switch and on three 32-GPU
// networks in SimAI's topology format.
//
// Ring collectives meet no contention on any of them (each directed link carries one flow), so
// their time is a max-plus recurrence over 16 ranks that this file computes by itself:
//   start[r][s] = max(received[r][s-1], sent[r][s-1])         a rank sends one message at a time,
//                                                             after the data it forwards
//   left[r][s]  = start[r][s] + entry + bytes / rate          entry: work queue, or NVLink inside a
//                                                             host
//   sent[r][s]  = left[r][s] + completion
//   received[r+1][s] = left[r][s] + propagation + switches * switching + last packet + receive
// where the last packet, a full one before it, crosses every cable of the network but the slowest
// once more, since switches store packets before they forward them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scenario_run.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::chakra_sets_test {
namespace {

constexpr int kRanks = 16;
constexpr double kMegabyte = 1 << 20;

/// Bytes on the wire of RoCEv2 over IPv4 at a path MTU of 4,096 B: as much of content per packet,
/// 16 B once per message, 82 B around each.
double wire_bytes(double bytes) { return bytes + 16 + std::ceil((bytes + 16) / 4096) * 82; }
constexpr double kFullPacket = 4096 + 82;

/// One hop of the ring: seconds until the last byte has left, until the sender knows, until the
/// receiver may use it.
struct Hop {
  double left_s = 0;
  double sent_s = 0;
  double received_s = 0;
};

Hop hop_between(const Topology& topology, NodeId from, NodeId to, double bytes) {
  double rate_bps = 1e18;
  double propagation_s = 0;
  double packet_s = 0;  // a full packet on every cable
  int switches = 0;
  std::vector<LinkId> next;
  for (NodeId at = from; at != to;) {
    topology.routes().next_hops(topology, at, to, next);
    const Link& link = topology.link(next.front());
    rate_bps = std::min(rate_bps, static_cast<double>(link.rate.in_bps()));
    propagation_s += link.propagation_delay.in_s();
    const HostId host = topology.node(at).host;
    if (host.is_none() || host != topology.node(link.destination).host)
      packet_s += kFullPacket * 8 / static_cast<double>(link.rate.in_bps());
    at = link.destination;
    if (topology.node(at).kind == NodeKind::packet_switch) ++switches;
  }
  const bool inside_host = topology.node(from).host == topology.node(to).host;
  Hop hop;
  hop.left_s = inside_host ? 600e-9 + bytes * 8 / rate_bps : 1e-6 + wire_bytes(bytes) * 8 / rate_bps;
  hop.sent_s = hop.left_s + 200e-9;
  const double last_packet_s = inside_host ? 0 : packet_s - kFullPacket * 8 / rate_bps;
  hop.received_s = hop.left_s + propagation_s + switches * 500e-9 + last_packet_s + (inside_host ? 200e-9 : 500e-9);
  return hop;
}

/// Seconds that a ring of the first 16 endpoints takes for `steps` rounds of messages of `bytes`.
double ring_s(const Topology& topology, int steps, double bytes) {
  std::vector<Hop> hops;
  for (int r = 0; r < kRanks; ++r) {
    hops.push_back(hop_between(topology, topology.endpoints()[static_cast<std::size_t>(r)],
                               topology.endpoints()[static_cast<std::size_t>((r + 1) % kRanks)], bytes));
  }
  std::vector<double> received(kRanks, 0);
  std::vector<double> sent(kRanks, 0);
  for (int s = 0; s < steps; ++s) {
    std::vector<double> start(kRanks);
    for (std::size_t r = 0; r < kRanks; ++r) start[r] = std::max(received[r], sent[r]);
    for (std::size_t r = 0; r < kRanks; ++r) {
      sent[r] = start[r] + hops[r].sent_s;
      received[(r + 1) % kRanks] = start[r] + hops[r].received_s;
    }
  }
  return std::max(*std::max_element(received.begin(), received.end()), *std::max_element(sent.begin(), sent.end()));
}

double simulated_s(const std::string& topology, const std::string& set) {
  RunFlags flags;
  flags.topology = topology;
  flags.workload = real_data("workloads/chakra/" + set) + "/" + set + ":chakra";
  const ScenarioRun run = run_scenario(flags);
  EXPECT_EQ(run.collectives.size(), 1u);
  return std::stod(run.collectives.at(0).at("duration_ns")) * 1e-9;
}

class ChakraSets : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (real_data("workloads/chakra/all_reduce").empty()) GTEST_SKIP() << "../shared/data is not there";
  }
};

TEST_P(ChakraSets, RingCollectivesTakeTheTimeDerivedByHand) {
  const ScratchFolder folder;
  std::string topology_flag;
  if (GetParam() == "single_switch") {
    topology_flag = folder.write("one.textproto", "builder: \"single_switch\"\nset { name: \"hosts\" value: \"16\" }\n");
  } else {
    topology_flag = real_data("workloads/topologies/" + GetParam()) + ":simai";
  }
  const bool is_ours = GetParam() == "single_switch";
  const auto topology =
      load_topology(is_ours ? topology_flag : topology_flag.substr(0, topology_flag.rfind(':')), is_ours ? "" : "simai");
  // The buffer is 1 MiB; an all-gather's shard is 1 MiB.
  const double all_reduce_s = ring_s(*topology, 2 * (kRanks - 1), kMegabyte / kRanks);
  const double reduce_scatter_s = ring_s(*topology, kRanks - 1, kMegabyte / kRanks);
  const double all_gather_s = ring_s(*topology, kRanks - 1, kMegabyte);
  EXPECT_NEAR(simulated_s(topology_flag, "all_reduce"), all_reduce_s, all_reduce_s * 0.001);
  EXPECT_NEAR(simulated_s(topology_flag, "reduce_scatter"), reduce_scatter_s, reduce_scatter_s * 0.001);
  EXPECT_NEAR(simulated_s(topology_flag, "all_gather"), all_gather_s, all_gather_s * 0.001);
}

TEST_P(ChakraSets, AllToAllIsNeverFasterThanItsNetworkLinks) {
  const ScratchFolder folder;
  const double block = kMegabyte / kRanks;
  if (GetParam() == "single_switch") {
    // Uncontended but for the rank's own link: alpha + 15 messages of a sixteenth of the buffer at
    // 400 Gb/s, and a packet that the switch forwards last.
    const double expected_s = 1e-6 + 20e-9 + 500e-9 + 500e-9 + (15 * wire_bytes(block) + kFullPacket) * 8 / 400e9;
    const std::string file = folder.write("one.textproto", "builder: \"single_switch\"\nset { name: \"hosts\" value: \"16\" }\n");
    EXPECT_NEAR(simulated_s(file, "all_to_all"), expected_s, expected_s * 0.001);
    return;
  }
  // 8 of the 15 messages of every rank leave the host, over at most 400 Gb/s; hashed paths collide
  // in the fabric and only add to that.
  const double bound_s = 1e-6 + 8 * wire_bytes(block) * 8 / 400e9;
  const double simulated = simulated_s(real_data("workloads/topologies/" + GetParam()) + ":simai", "all_to_all");
  EXPECT_GE(simulated, bound_s);
  // With one queue pair a rank uses one of its ports per peer. At the worst, all 64 messages of a
  // direction meet on one 200 Gb/s link.
  EXPECT_LE(simulated, 10e-6 + 64 * wire_bytes(block) * 8 / 200e9);
}

INSTANTIATE_TEST_SUITE_P(Networks, ChakraSets,
                         testing::Values("single_switch", "Spectrum-X_32g_8gps_400Gbps_H100", "DCN+SingleToR_32g_8gps_400Gbps_H100",
                                         "AlibabaHPN_32g_8gps_DualToR_DualPlane_200Gbps_H100"),
                         [](const auto& test) {
                           std::string name = test.param.substr(0, 8);
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(PyTorchRank, ReplaysOn128RanksOfARailOptimizedFabric) {
  const std::string trace = real_data("workloads/chakra/pytorch_rank0.0.et.gz");
  if (trace.empty()) GTEST_SKIP() << "../shared/data is not there";
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("rail.textproto", "builder: \"rail_optimized\"\nset { name: \"hosts\" value: \"16\" }\n");
  flags.workload = trace.substr(0, trace.size() - std::string(".0.et.gz").size()) + ":chakra";
  flags.workload_options.ranks = 128;
  const ScenarioRun run = run_scenario(flags);
  ASSERT_EQ(run.jobs.size(), 1u);
  EXPECT_EQ(run.jobs[0].at("gpus"), "128");
  EXPECT_EQ(run.jobs[0].at("iterations"), "1");
  // The five all-reduces of the gradients and both broadcasts of one data-parallel iteration.
  int all_reduces = 0;
  int broadcasts = 0;
  for (const auto& row : run.collectives) {
    EXPECT_EQ(row.at("ranks"), "128");
    all_reduces += row.at("kind") == "all_reduce" ? 1 : 0;
    broadcasts += row.at("kind") == "broadcast" ? 1 : 0;
  }
  EXPECT_EQ(all_reduces, 5);
  EXPECT_EQ(broadcasts, 2);
}

}  // namespace
}  // namespace weft::chakra_sets_test
