// Closed forms: whole runs whose time follows from a line of arithmetic, derived beside each expectation.
#include <gtest/gtest.h>

#include <cmath>

#include "scenario_run.hpp"

namespace weft {
namespace {

// The defaults of the flow table, and one switch 2 m away from every host at 400 Gb/s.
constexpr double kWqe_s = 1e-6;
constexpr double kReceive_s = 500e-9;
constexpr double kSwitching_s = 500e-9;
constexpr double kPropagation_s = 2 * 10e-9;  // 2 m of fibre at 5 ns per metre, twice
constexpr double kRate_bps = 400e9;

/// Time of an empty message between two hosts.
constexpr double kAlpha_s = kWqe_s + kPropagation_s + kSwitching_s + kReceive_s;

/// Seconds that a message of `bytes` keeps the link busy: RoCEv2 over IPv4 with an MTU of 1,500 B puts at most 1,456 B of content, of which 16 B per
/// message are the RDMA header, into packets that cost 82 B more.
double wire_s(double bytes) {
  const double content = bytes + 16;
  return (content + std::ceil(content / 1456) * 82) * 8 / kRate_bps;
}

/// Duration of the only collective of a run in seconds.
double collective_s(const ScenarioRun& run) {
  EXPECT_EQ(run.collectives.size(), 1u);
  return std::stod(run.collectives.at(0).at("duration_ns")) * 1e-9;
}

ScenarioRun run_collective(const std::string& type, int ranks, double bytes, const std::string& algorithm) {
  const ScratchFolder folder;
  folder.write("work.textproto", "ranks: " + std::to_string(ranks) + "\nrole { name: \"all\" op { name: \"c\" collective { type: " +
                                     type + " size: \"" + std::to_string(static_cast<long long>(bytes)) + "B\" } } }\n");
  RunFlags flags;
  flags.scenario_file =
      folder.write("scenario.textproto", "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"" +
                                             std::to_string(ranks) + "\" } }\njob { workload { file: \"work.textproto\" } }\n");
  std::string parameter = type;
  for (char& c : parameter) c = static_cast<char>(std::tolower(c));
  flags.settings = {"collective." + parameter + "=" + algorithm};
  return run_scenario(flags);
}

TEST(ClosedForms, RingAllReduceOnOneSwitch) {
  for (const int n : {2, 4, 16, 33}) {
    for (const double bytes : {1e6, 64e6, 1e9}) {
      // 2 (n-1) steps, each an empty message's time and the wire time of 1/n of the buffer: 2 (n-1)/n S/B plus latency terms.
      const double expected_s = 2 * (n - 1) * (kAlpha_s + wire_s(bytes / n));
      EXPECT_NEAR(collective_s(run_collective("ALL_REDUCE", n, bytes, "ring")), expected_s, expected_s * 1e-3) << n << " ranks";
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
  flags.settings = {"flow.protocol=none", "flow.wqe_latency=0ns", "flow.receive_latency=0ns", "flow.switching_delay=0ns",
                    "flow.completion_latency=0ns"};
  const double expected_s = 2 * 7.0 / 8 * 800e6 * 8 / 400e9;
  EXPECT_NEAR(collective_s(run_scenario(flags)), expected_s, expected_s * 1e-9);
}

TEST(ClosedForms, DirectAllToAllOnOneSwitch) {
  for (const int n : {2, 8, 24}) {
    for (const double bytes : {1e6, 256e6}) {
      // Every rank's link carries n-1 messages of 1/n of the buffer at once; each gets 1/(n-1) of it: alpha + (n-1) wire(S/n).
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

/// Hosts 0..n-1 and one or more switches in hpcc's format; no headers, no latencies but propagation.
ScenarioRun run_flow_list(const std::string& topology, const std::string& flows) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("topology.txt", topology) + ":hpcc";
  flags.flows = folder.write("flow.txt", flows) + ":hpcc";
  flags.settings = {"flow.protocol=none", "flow.wqe_latency=0ns", "flow.receive_latency=0ns", "flow.switching_delay=0ns",
                    "flow.completion_latency=0ns"};
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
  // Three hosts send 1 MB each to host 3 through a switch, all links 100 Gb/s, 1 us each: each gets a third, 240 us + 2 us.
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
  // Switches 4-5-6 in a row at 100 Gb/s without delay; hosts 0 at 4, 1 at 5, 2 and 3 at 6. The long flow 0->2 shares 4-5 with nobody and 5-6
  // with 1->3: each gets 50 Gb/s. 1->3 (0.5 MB) ends at 80 us; until then the long one moved 0.5 MB of its 2 MB, the rest at 100 Gb/s takes
  // 120 us: 200 us.
  const ScenarioRun run = run_flow_list(
      "7 3 6\n4 5 6\n0 4 100Gbps 0ms 0\n1 5 100Gbps 0ms 0\n2 6 100Gbps 0ms 0\n3 6 100Gbps 0ms 0\n4 5 100Gbps 0ms 0\n5 6 100Gbps "
      "0ms 0\n",
      "2\n0 2 3 100 2000000 0\n1 3 3 100 500000 0\n");
  ASSERT_EQ(run.flows.size(), 2u);
  EXPECT_NEAR(fct_us(run, "1", "3"), 80, 1e-3);
  EXPECT_NEAR(fct_us(run, "0", "2"), 200, 1e-3);
}

TEST(ClosedForms, TwoLevelsByHand) {
  // Two leafs (6, 7) under one spine (8); three hosts each at 100 Gb/s; leaf-spine links 150 Gb/s. 0, 1, 2 send to 3, 4, 5 through the
  // uplink of 6: 50 Gb/s each. 1 MB ends at 160 us, when all three end together.
  // A fourth flow 0->1 stays under the leaf and shares host 0's link: it gets what 0->3 leaves, 100 - 50 = 50 Gb/s.
  const ScenarioRun run = run_flow_list(
      "9 3 8\n6 7 8\n0 6 100Gbps 0ms 0\n1 6 100Gbps 0ms 0\n2 6 100Gbps 0ms 0\n3 7 100Gbps 0ms 0\n4 7 100Gbps 0ms 0\n5 7 100Gbps "
      "0ms 0\n"
      "6 8 150Gbps 0ms 0\n7 8 150Gbps 0ms 0\n",
      "4\n0 3 3 100 1000000 0\n1 4 3 100 1000000 0\n2 5 3 100 1000000 0\n0 1 3 100 1000000 0\n");
  ASSERT_EQ(run.flows.size(), 4u);
  for (const auto& row : run.flows) EXPECT_NEAR(std::stod(row.at("fct_ns")), 160e3, 1) << row.at("src") << " to " << row.at("dst");
}

TEST(ClosedForms, AFlowThatStartsLaterTakesItsShareFromThenOn) {
  // 0->2 (1 MB, 100 Gb/s) starts at 0; 1->2 (0.25 MB) at 40 us: until then 0.5 MB are through, then both get 50 Gb/s. The second ends 40 us
  // later, the first has 0.25 MB left: 20 us more. 100 us in all.
  const ScenarioRun run = run_flow_list("4 1 3\n3\n0 3 100Gbps 0ms 0\n1 3 100Gbps 0ms 0\n2 3 100Gbps 0ms 0\n",
                                        "2\n0 2 3 100 1000000 0\n1 2 3 100 250000 0.00004\n");
  EXPECT_NEAR(fct_us(run, "1", "2"), 40, 1e-3);
  EXPECT_NEAR(fct_us(run, "0", "2"), 100, 1e-3);
}

}  // namespace
}  // namespace weft
