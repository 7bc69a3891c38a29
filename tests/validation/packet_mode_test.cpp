// SPDX-License-Identifier: Apache-2.0
// Packet mode against what is known: a transfer alone takes its time to the tick, and where nothing
// queues for long packet and flow mode agree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "scenario_run.hpp"
#include "topologies/topology.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::packet_mode_test {
namespace {

double value(const std::map<std::string, std::string>& row, const char* column) { return std::stod(row.at(column)); }

double mean_fct_ns(const ScenarioRun& run) {
  double sum = 0;
  for (const auto& row : run.flows) sum += value(row, "fct_ns");
  return sum / static_cast<double>(run.flows.size());
}

std::uint64_t sum_of_links(const ScenarioRun& run, const char* column) {
  std::uint64_t sum = 0;
  for (const auto& row : run.links) sum += std::stoull(row.at(column));
  return sum;
}

/// A flow list in hpcc's format from rows without their number.
std::string flow_list(const std::vector<std::string>& rows) {
  std::string text = std::to_string(rows.size()) + "\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

/// Packet mode on a fat tree of 16 hosts.
RunFlags on_a_fat_tree(const ScratchFolder& folder) {
  RunFlags flags;
  flags.mode = "packet";
  flags.topology = folder.write("net.textproto", "builder: \"fat_tree\" set { name: \"k\" value: \"4\" }");
  return flags;
}

/// Flows of 2 MB from all other hosts of the fat tree to host 0.
std::string incast_of_15(const ScratchFolder& folder) {
  std::vector<std::string> rows;
  for (int i = 1; i < 16; ++i) rows.push_back(std::to_string(i) + " 0 3 100 2000000 0");
  return folder.write("flow.txt", flow_list(rows)) + ":hpcc";
}

/// How long they take on the last link of 400 Gb/s: 4,096 B of content per packet, 16 B of them
/// once per message; 82 B of headers.
double busy_with_incast_of_15_ns() {
  const double packets = 15 * std::ceil(2'000'016 / 4096.0);
  return (15 * 2'000'016.0 + packets * 82) * 8 / 400.0;
}

double last_end_ns(const ScenarioRun& run) {
  double last_ns = 0;
  for (const auto& row : run.flows) last_ns = std::max(last_ns, value(row, "end_ns"));
  return last_ns;
}

// Expectation: two packets of 1,000 B reach a switch at once: with 16 B of their message and 82 B
// of headers, the second waits the 21.96 ns that the first takes at 400 Gb/s, and the two wait
// 10.98 ns on average.
TEST(PacketMode, ThePacketBehindAnotherWaits) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.mode = "packet";
  flags.topology =
      folder.write("net.txt", "4 1 3\n3\n0 3 400Gbps 0.001ms 0\n1 3 400Gbps 0.001ms 0\n2 3 400Gbps 0.001ms 0\n") + ":hpcc";
  flags.flows = folder.write("flow.txt", flow_list({"0 2 3 100 1000 0", "1 2 3 100 1000 0"})) + ":hpcc";
  const ScenarioRun run = run_scenario(flags);
  ASSERT_TRUE(run.summary.packets.has_value());
  EXPECT_EQ(run.summary.packets->data_packets, 2U);
  EXPECT_NEAR(run.summary.packets->waiting.in_ns(), 21.96, 0.01);
}

// Expectation: packet.buffer is that of the sites' switches; border routers, whose memory is the
// builder's, hold the headroom of long cables still.
TEST(PacketMode, BordersKeepTheirMemory) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.mode = "packet";
  flags.topology =
      folder.write("net.textproto",
                   "builder: \"multi_site\" set { name: \"wan_rtt\" value: \"0.5ms\" } set { name: \"fabric_params\" value: "
                   "\"hosts=4\" }");
  flags.flows = folder.write("flow.txt", flow_list({"0 40 3 100 1000000 0"})) + ":hpcc";
  flags.settings = {"packet.buffer=16MB"};
  EXPECT_EQ(run_scenario(flags).flows.size(), 1U);
}

/// Two hosts at each of two leaves, "4" and "5", under a spine "6", whose cable to leaf 5 carries a
/// quarter of the other: hosts 0 and 1 send 2 MB each to host 2. `switches` are entries of the
/// scenario.
ScenarioRun two_leaves(const ScratchFolder& folder, const std::string& switches) {
  folder.write("net.txt",
               "7 3 6\n4 5 6\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n2 5 100Gbps 0.001ms 0\n3 5 100Gbps 0.001ms 0\n"
               "4 6 400Gbps 0.001ms 0\n6 5 100Gbps 0.001ms 0\n");
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto", "mode: PACKET\ntopology { file: \"net.txt\" format: \"hpcc\" }\n" + switches);
  flags.flows = folder.write("flow.txt", flow_list({"0 2 3 100 2000000 0", "1 2 3 100 2000000 0"})) + ":hpcc";
  flags.settings = {"packet.congestion_control=none"};
  return run_scenario(flags);
}

/// Sum of a column over the links from or to a node.
std::uint64_t links_sum(const ScenarioRun& run, const std::string& end, const std::string& node, const std::string& column) {
  std::uint64_t sum = 0;
  for (const auto& row : run.links) sum += row.at(end) == node ? std::stoull(row.at(column)) : 0;
  return sum;
}

// Expectation: 200 Gb/s come to the spine for a cable of 100, and 250 kB wait there. Of 32 MB the
// port from leaf 4 may take a ninth (packet.alpha = 1/8 of what it leaves), 3.5 MB, and asks for no
// pause; of 600 kB it may take less than 67 kB, and does. Leaves, named by the file, have little to
// keep.
TEST(PacketMode, SwitchesOfAFileHaveMemoryByName) {
  const ScratchFolder folder;
  EXPECT_EQ(two_leaves(folder, "").summary.packets->pauses, 0U);
  EXPECT_GT(two_leaves(folder, "switches { name: \"6\" buffer: \"600kB\" }").summary.packets->pauses, 0U);
  EXPECT_EQ(two_leaves(folder, "switches { name: \"[45]\" buffer: \"600kB\" }").summary.packets->pauses, 0U);
  // The last entry that names a switch stands.
  EXPECT_EQ(two_leaves(folder, "switches { name: \"6\" buffer: \"600kB\" } switches { name: \"?\" buffer: \"32MB\" }")
                .summary.packets->pauses,
            0U);
  EXPECT_GT(two_leaves(folder, "switches { name: \"?\" buffer: \"32MB\" } switches { tier: 2 buffer: \"600kB\" }")
                .summary.packets->pauses,
            0U);
}

// Expectation: what waits is at the spine, of tier 2 as counted from the hosts: with marks above 20
// kB there almost all of the 978 packets get one as they leave it, and none at the leaves; with the
// same marks at the leaves none does, where not more than a packet waits behind another (2.5 kB).
TEST(PacketMode, SwitchesOfAFileMarkByTier) {
  const ScratchFolder folder;
  const ScenarioRun at_spine = two_leaves(folder, "switches { tier: 2 ecn_kmin: \"10kB\" ecn_kmax: \"20kB\" }");
  EXPECT_GT(links_sum(at_spine, "src", "6", "ecn_marks"), 900U);
  EXPECT_EQ(at_spine.summary.packets->ecn_marks, links_sum(at_spine, "src", "6", "ecn_marks"));
  EXPECT_EQ(two_leaves(folder, "switches { tier: 1 ecn_kmin: \"10kB\" ecn_kmax: \"20kB\" }").summary.packets->ecn_marks, 0U);
}

// Expectation: `ideal_fct_ns` is the closed form of a train of packets through store-and-forward
// hops of any rates, plus latencies; one queue pair alone takes exactly that. Over fat trees, cards
// behind PCIe switches, cards with two ports, and dragonflies.
TEST(PacketMode, ATransferAloneTakesItsIdealTime) {
  const ScratchFolder folder;
  for (const char* text :
       {"builder: \"fat_tree\" set { name: \"k\" value: \"4\" }",
        "builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" }",
        "builder: \"clos\" set { name: \"hosts\" value: \"16\" } set { name: \"leaf_uplink_rate\" value: \"200Gbps\" }",
        "builder: \"dragonfly\"", "builder: \"dual_plane_rail\""}) {
    RunFlags flags;
    flags.mode = "packet";
    flags.topology = folder.write("net.textproto", text);
    const auto topology = load_topology(flags.topology, "weft");
    const auto endpoints = topology->endpoints();
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < 24; ++i) {
      const NodeId from = endpoints[i * 37 % endpoints.size()];
      const NodeId to = endpoints[(i * 37 + 11 + i * 53) % endpoints.size()];
      if (topology->node(from).host == topology->node(to).host) continue;
      const std::int64_t bytes = i % 3 == 0 ? 1 + static_cast<std::int64_t>(i) : 4096 * static_cast<std::int64_t>(i * i) + 700;
      rows.push_back(fmt::format("{} {} 3 100 {} {:f}", from.index(), to.index(), bytes, 0.001 * static_cast<double>(rows.size())));
    }
    flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
    const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
    ASSERT_EQ(run.flows.size(), rows.size());
    for (const auto& row : run.flows) {
      EXPECT_EQ(row.at("fct_ns"), row.at("ideal_fct_ns")) << text << ", flow " << row.at("flow_id") << ", " << row.at("src")
                                                          << " to " << row.at("dst") << ", " << row.at("size_bytes") << " B";
    }
  }
}

// Whatever part of a delivery each of them takes, and however little is sent: a lone transfer's
// time is known to the tick.
TEST(PacketMode, LatenciesMayBeOfAnyOrderAndMessagesEmpty) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  flags.flows = folder.write("flow.txt", flow_list({"0 15 3 100 50000 0", "1 15 3 100 0 0.001", "2 3 3 100 1 0.002"})) + ":hpcc";
  for (const char* setting :
       {"flow.receive_latency=300ns", "flow.receive_latency=0ns", "packet.card_delay=400ns", "packet.card_delay=0ns",
        "flow.completion_latency=400ns", "flow.completion_latency=0ns", "flow.wqe_latency=0ns", "flow.protocol=none"}) {
    flags.settings = {setting};
    const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
    ASSERT_EQ(run.flows.size(), 3U) << setting;
    for (const auto& row : run.flows)
      EXPECT_EQ(row.at("fct_ns"), row.at("ideal_fct_ns")) << setting << ", flow " << row.at("flow_id");
  }
}

// State knows times only by their differences, so that time can be skipped: an incast with marks
// and pauses and what meets it happen three hours later as they do at once, to the tick. Windows
// begin elsewhere then.
TEST(PacketMode, WhatHappensDoesNotDependOnWhen) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  flags.settings = {"packet.buffer=8MB"};
  const auto run_after = [&](std::int64_t seconds) {
    std::vector<std::string> rows;
    for (int i = 1; i < 16; ++i) {
      const std::string start = std::to_string(seconds) + (i % 2 == 0 ? ".0000013" : ".0000000");
      rows.push_back(fmt::format("{} 0 3 100 2000000 {}", i, start));
      rows.push_back(fmt::format("{} {} 3 101 123456 {}7", i, 16 - i == i ? 1 : 16 - i, start));
    }
    flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
    return run_scenario(flags, ScenarioRunOptions{});
  };
  const ScenarioRun now = run_after(0);
  const ScenarioRun later = run_after(3 * 3600);
  for (const char* column : {"ecn_marks", "pause_ns", "bytes"}) {
    EXPECT_GT(sum_of_links(now, column), 0U) << column;
    EXPECT_EQ(sum_of_links(now, column), sum_of_links(later, column)) << column;
  }
  ASSERT_EQ(now.flows.size(), later.flows.size());
  for (std::size_t i = 0; i < now.flows.size(); ++i) EXPECT_EQ(now.flows[i].at("fct_ns"), later.flows[i].at("fct_ns")) << i;
}

// With several queue pairs the bound is one: they share the first link in turn and never wait for
// long.
TEST(PacketMode, QueuePairsOfATransferAloneComeCloseToItsIdealTime) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  flags.flows = folder.write("flow.txt", flow_list({"0 15 3 100 4000000 0", "1 14 3 100 123457 0.002"})) + ":hpcc";
  flags.settings = {"flow.queue_pairs=5", "flow.mtu=1456B"};
  for (const auto& row : run_scenario(flags, ScenarioRunOptions{}).flows) {
    EXPECT_GE(value(row, "slowdown"), 1);
    EXPECT_LE(value(row, "slowdown"), 1.01);
  }
}

// Random pairs, each host sending to one and receiving from one; sizes over two decades, starts
// within half a millisecond. Where hashed paths meet, pauses alone share the links nearly as
// max-min does; DCQCN leaves some of them unused until it has found its rates, tens of milliseconds
// later.
TEST(PacketMode, AgreesWithFlowModeOnFiftyRandomScenarios) {
  const ScratchFolder folder;
  std::vector<double> with_dcqcn;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed, 0, 0);
    RunFlags flags;
    const char* const texts[] = {"builder: \"fat_tree\" set { name: \"k\" value: \"4\" }",
                                 "builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" }",
                                 "builder: \"fat_tree\" set { name: \"k\" value: \"6\" }",
                                 "builder: \"clos\" set { name: \"hosts\" value: \"16\" }"};
    flags.topology = folder.write("net.textproto", texts[random.below(4)]);
    const auto topology = load_topology(flags.topology, "weft");
    const auto endpoints = topology->endpoints();
    std::vector<std::size_t> to(endpoints.size());
    std::iota(to.begin(), to.end(), std::size_t{0});
    for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
    std::vector<std::string> rows;
    const std::uint64_t pairs = 2 + random.below(std::min<std::uint64_t>(24, endpoints.size() - 2));
    for (std::size_t i = 0; i < pairs; ++i) {
      if (topology->node(endpoints[i]).host == topology->node(endpoints[to[i]]).host) continue;
      const double bytes = std::pow(10.0, 4.5 + 2 * random.uniform());
      const double start_s = 5e-4 * random.uniform();
      rows.push_back(
          fmt::format("{} {} 3 100 {} {:f}", endpoints[i].index(), endpoints[to[i]].index(), std::llround(bytes), start_s));
    }
    if (rows.empty()) rows.push_back(fmt::format("{} {} 3 100 9999 0", endpoints.front().index(), endpoints.back().index()));
    flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
    flags.mode = "flow";
    const double flow = mean_fct_ns(run_scenario(flags, ScenarioRunOptions{}));
    flags.mode = "packet";
    const ScenarioRun dcqcn = run_scenario(flags, ScenarioRunOptions{});
    EXPECT_EQ(sum_of_links(dcqcn, "drops"), 0U);
    with_dcqcn.push_back(std::abs(mean_fct_ns(dcqcn) / flow - 1));
    flags.settings = {"packet.congestion_control=none"};
    EXPECT_NEAR(mean_fct_ns(run_scenario(flags, ScenarioRunOptions{})) / flow, 1, 0.05) << "seed " << seed;
  }
  const double mean = std::accumulate(with_dcqcn.begin(), with_dcqcn.end(), 0.0) / static_cast<double>(with_dcqcn.size());
  std::sort(with_dcqcn.begin(), with_dcqcn.end());
  RecordProperty("mean", std::to_string(mean));
  RecordProperty("median", std::to_string(with_dcqcn[25]));
  EXPECT_LE(mean, 0.05);
  EXPECT_LE(with_dcqcn[25], 0.02);
}

// A collective without contention, large enough that latencies hardly count: within 5 % of flow
// mode.
TEST(PacketMode, AgreesWithFlowModeOnLargeUncongestedCollectives) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"single_switch\" set { name: \"hosts\" value: \"8\" }");
  for (const char* type : {"ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL"}) {
    flags.workload = folder.write(
        "work.textproto", std::string("ranks: 8 role { op { name: \"c\" collective { type: ") + type + " size: \"16MB\" } } }");
    std::vector<double> durations;
    for (const char* mode : {"flow", "packet"}) {
      flags.mode = mode;
      durations.push_back(value(run_scenario(flags, ScenarioRunOptions{}).collectives.front(), "duration_ns"));
    }
    EXPECT_NEAR(durations[1] / durations[0], 1, 0.05) << type;
  }
}

// 15 hosts send to one: the link to it is never idle from the first packet's arrival on, so the
// last transfer ends when all bytes have crossed it; nothing is dropped though switches have little
// memory, and the pauses reach back to the hosts.
TEST(PacketMode, AnIncastKeepsItsLinkBusyAndLosesNothing) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  flags.flows = incast_of_15(folder);
  flags.settings = {"packet.buffer=1MB", "packet.congestion_control=none"};
  const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
  const double busy_ns = busy_with_incast_of_15_ns();
  const double last_ns = last_end_ns(run);
  EXPECT_GE(last_ns, busy_ns);
  EXPECT_LE(last_ns, busy_ns + 10'000);
  EXPECT_EQ(sum_of_links(run, "drops"), 0U);
  EXPECT_EQ(run.summary.packets->drops, 0U);
  EXPECT_GT(run.summary.packets->pauses, 0U);
  const auto tier = std::ranges::find(run.summary.tiers, "host->leaf", &TierUsage::tiers);
  ASSERT_NE(tier, run.summary.tiers.end());
  EXPECT_GT(tier->paused, Duration::zero());
}

// Expectation: the slices of a link in the trace are as long together as links.csv says that it was
// paused; none meets another.
TEST(PacketMode, TheTraceHasEveryPause) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  flags.flows = incast_of_15(folder);
  for (const char* pause_time : {"0ns", "5us"}) {
    flags.settings = {"packet.buffer=1MB", "packet.congestion_control=none", std::string("packet.pause_time=") + pause_time};
    ScenarioRunOptions options;
    options.trace = true;
    const ScenarioRun run = run_scenario(flags, options);
    struct OfLink {
      double sum_us = 0;
      double end_us = 0;
      int slices = 0;
    };
    std::map<std::uint32_t, OfLink> links;
    std::map<std::string, std::uint32_t> track_of;
    const nlohmann::json trace = nlohmann::json::parse(run.trace);
    for (const auto& event : trace["traceEvents"]) {
      if (event["name"] == "thread_name") track_of[event["args"]["name"]] = event["tid"];
      if (event["name"] != "paused") continue;
      OfLink& link = links[event["tid"]];
      EXPECT_GT(event["dur"].get<double>(), 0);
      EXPECT_GE(event["ts"].get<double>(), link.end_us);
      link.sum_us += event["dur"].get<double>();
      link.end_us = event["ts"].get<double>() + event["dur"].get<double>();
      ++link.slices;
    }
    int slices = 0;
    for (const auto& row : run.links) {
      const auto track = track_of.find(row.at("link"));
      const double paused_ns = value(row, "pause_ns");
      if (paused_ns == 0) {
        EXPECT_EQ(track, track_of.end()) << row.at("link");
        continue;
      }
      ASSERT_NE(track, track_of.end()) << row.at("link");
      EXPECT_NEAR(1e3 * links[track->second].sum_us, paused_ns, 1e-6 * paused_ns + 0.01) << row.at("link");
      slices += links[track->second].slices;
    }
    EXPECT_GT(slices, 50);
  }
}

// Expectation: five switches in a circle, each host sends over three of them, and the pauses of the
// five links between switches wait for each other (the golden case packet_deadlock). A watchdog
// empties a queue of the circle; what it dropped is sent again, and all transfers end.
TEST(PacketMode, AWatchdogEndsADeadlock) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.mode = "packet";
  std::string cables = "10 5 10\n5 6 7 8 9\n";
  std::vector<std::string> flows;
  for (int i = 0; i < 5; ++i) cables += fmt::format("{} {} 100Gbps 0.001ms 0\n", i, 5 + i);
  for (int i = 0; i < 5; ++i) {
    cables += fmt::format("{} {} 100Gbps 0.001ms 0\n", 5 + i, 5 + (i + 1) % 5);
    flows.push_back(fmt::format("{} {} 3 100 1000000 0", i, (i + 2) % 5));
  }
  flags.topology = folder.write("net.txt", cables) + ":hpcc";
  flags.flows = folder.write("flow.txt", flow_list(flows)) + ":hpcc";
  flags.settings = {"packet.congestion_control=none", "packet.buffer=400kB", "packet.retransmission_timeout=1ms"};
  try {
    run_scenario(flags);
    FAIL() << "the pauses wait for each other";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "pfc-deadlock");
  }
  flags.settings.insert(flags.settings.end(), {"packet.watchdog=100us", "packet.watchdog_restoration=10us"});
  for (const char* pause_time : {"0ns", "20us"}) {
    RunFlags watched = flags;
    watched.settings.push_back(std::string("packet.pause_time=") + pause_time);
    const ScenarioRun run = run_scenario(watched);
    EXPECT_EQ(run.flows.size(), 5U);
    ASSERT_FALSE(run.pause_storms.empty());
    std::uint64_t drops = 0;
    for (const auto& row : run.pause_storms) {
      const std::string& link = row.at("link");
      const int from = std::stoi(link);
      EXPECT_EQ(link, fmt::format("{}->{}", from, 5 + (from - 4) % 5)) << "a link of the circle";
      EXPECT_GE(from, 5);
      drops += std::stoull(row.at("drops"));
    }
    EXPECT_EQ(drops, run.summary.packets->drops);
    EXPECT_EQ(run.pause_storms.size(), run.summary.packets->pause_storms);
    EXPECT_GT(run.summary.packets->data_repeated, 0U);
  }
}

// What samples say of a link adds up to what links.csv says of it, whatever the interval and the
// number of threads; taking them changes nothing. The last of the flows begins a second after the
// others: intervals in between are passed over.
TEST(PacketMode, SamplesOfLinksAddUp) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  std::vector<std::string> rows;
  for (int i = 1; i < 16; ++i) rows.push_back(std::to_string(i) + " 0 3 100 200000 0");
  rows.emplace_back("3 9 3 100 100000 1");
  flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
  flags.settings = {"packet.buffer=1MB", "packet.pause_time=10us", "packet.ecn_kmin=50kB", "packet.ecn_kmax=100kB"};
  const ScenarioRun plain = run_scenario(flags, ScenarioRunOptions{});
  for (const Duration interval : {Duration::us(1), Duration::ns(7'777)}) {
    ScenarioRunOptions options;
    options.sample = interval;
    const ScenarioRun run = run_scenario(flags, options);
    EXPECT_EQ(run.summary.fingerprint, plain.summary.fingerprint);
    std::map<std::string, double> bytes, paused_ns, marks, longest;
    for (const auto& row : run.link_samples) {
      const std::string& link = row.at("link");
      bytes[link] += value(row, "rate_bps") * interval.in_s() / 8;
      paused_ns[link] += value(row, "pause_ns");
      marks[link] += value(row, "ecn_marks");
      longest[link] = std::max(longest[link], value(row, "queue_bytes"));
    }
    double queued = 0;
    for (const auto& row : run.links) {
      const std::string& link = row.at("link");
      EXPECT_NEAR(bytes[link], value(row, "bytes"), 0.5) << link;
      EXPECT_NEAR(paused_ns[link], value(row, "pause_ns"), 0.01 * static_cast<double>(run.link_samples.size())) << link;
      EXPECT_EQ(marks[link], value(row, "ecn_marks")) << link;
      EXPECT_LE(longest[link], value(row, "peak_queue_bytes")) << link;
      queued = std::max(queued, longest[link]);
    }
    EXPECT_GT(queued, 50'000) << "samples see the queues";
    options.threads = 2;
    EXPECT_EQ(run_scenario(flags, options).link_samples, run.link_samples);
  }
}

// The same incast under windows: nothing is lost, and as all windows together fit the last switch,
// nobody is paused. Windows begin with what the line carries alone, so that they are cut again and
// again at first; and when others end, those left grow by a packet in a round trip: the link idles
// for up to a fifth of the time.
TEST(PacketMode, WindowsHoldAnIncastWithoutPauses) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  flags.flows = incast_of_15(folder);
  flags.settings = {"packet.congestion_control=dctcp", "packet.ecn_kmin=25kB", "packet.ecn_kmax=25kB", "packet.ecn_pmax=1"};
  const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
  const double busy_ns = busy_with_incast_of_15_ns();
  const double last_ns = last_end_ns(run);
  EXPECT_GE(last_ns, busy_ns);
  EXPECT_LE(last_ns, 1.25 * busy_ns);
  EXPECT_EQ(run.summary.packets->drops, 0U);
  EXPECT_EQ(run.summary.packets->pauses, 0U);
  EXPECT_GT(run.summary.packets->ecn_marks, 0U);
}

// Eight queue pairs of one source port share one way through the fabric, so that two such transfers
// out of one leaf may meet; E-ECMP tells queue pairs apart by their number at the destination, as
// if each had a port of its own.
TEST(PacketMode, EnhancedEcmpTellsQueuePairsOfOneSourcePortApart) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  flags.flows = folder.write("flow.txt", flow_list({"0 15 3 100 4000000 0"})) + ":hpcc";
  const auto leaf_links_used = [&](const std::string& routing, const std::string& ports) {
    flags.settings = {"flow.queue_pairs=8", "flow.routing=" + routing, "flow.source_ports=" + ports};
    const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
    return std::ranges::count_if(
        run.links, [&](const auto& row) { return row.at("link").starts_with("leaf0->agg") && value(row, "bytes") > 0; });
  };
  EXPECT_EQ(leaf_links_used("ecmp", "1"), 1);
  EXPECT_EQ(leaf_links_used("ecmp", "0"), 2);
  EXPECT_EQ(leaf_links_used("e_ecmp", "1"), 2);
}

// Routed by destination, 16 transfers by half the fat tree meet nowhere: each takes its ideal time,
// give or take acknowledgements of others, which go first.
TEST(PacketMode, StaticRoutesKeepAShiftPermutationApart) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  std::vector<std::string> rows;
  for (int i = 0; i < 16; ++i) rows.push_back(fmt::format("{} {} 3 100 1000000 0", i, (i + 8) % 16));
  flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
  flags.settings = {"flow.routing=static", "packet.answers=own_priority"};
  const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
  ASSERT_EQ(run.flows.size(), 16U);
  for (const auto& row : run.flows) EXPECT_LT(value(row, "fct_ns"), 1.02 * value(row, "ideal_fct_ns"));
}

// A lossy priority drops what finds no room, and go-back-N brings it all there nevertheless.
TEST(PacketMode, WhatALossyPriorityDropsIsSentAgain) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  std::vector<std::string> rows;
  for (int i = 1; i < 9; ++i) rows.push_back(std::to_string(i) + " 0 3 100 500000 0");
  flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
  flags.settings = {"packet.lossy=0", "packet.buffer=300kB", "packet.retransmission_timeout=100us"};
  const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
  EXPECT_EQ(run.flows.size(), rows.size());
  EXPECT_GT(run.summary.packets->drops, 0U);
  EXPECT_GE(run.summary.packets->data_repeated, run.summary.packets->drops);
  EXPECT_EQ(run.summary.packets->pauses, 0U);
}

// Of the same losses selective repeat sends less again than go-back-N that goes on at full rate,
// and all arrives.
TEST(PacketMode, SelectiveRepeatSendsOnlyWhatIsMissing) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  std::vector<std::string> rows;
  for (int i = 1; i < 9; ++i) rows.push_back(std::to_string(i) + " 0 3 100 500000 0");
  flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
  std::vector<std::uint64_t> repeated;
  for (const char* way : {"go_back_n", "selective_repeat"}) {
    flags.settings = {"packet.lossy=0", "packet.buffer=300kB", "packet.retransmission_timeout=100us", "packet.slow_restart=false",
                      std::string("packet.retransmission=") + way};
    const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
    EXPECT_EQ(run.flows.size(), rows.size());
    EXPECT_GT(run.summary.packets->drops, 0U);
    EXPECT_GE(run.summary.packets->data_repeated, run.summary.packets->drops);
    repeated.push_back(run.summary.packets->data_repeated);
  }
  EXPECT_LT(repeated[1], repeated[0] / 2);
}

// Every host of a fat tree with full bisection sends to another pod. Hashed paths collide; sprayed
// packets use all of them, so that each transfer takes little more than its ideal time; nothing is
// sent again though packets overtake each other.
TEST(PacketMode, SprayedPacketsUseAllPaths) {
  const ScratchFolder folder;
  RunFlags flags = on_a_fat_tree(folder);
  std::vector<std::string> rows;
  for (int i = 0; i < 16; ++i) rows.push_back(fmt::format("{} {} 3 100 2000000 0", i, (i + 5) % 16));
  flags.flows = folder.write("flow.txt", flow_list(rows)) + ":hpcc";
  std::map<std::string, double> slowdown;
  std::map<std::string, double> queue_up;
  for (const char* routing : {"ecmp", "spray", "adaptive"}) {
    flags.settings = {std::string("flow.routing=") + routing, "packet.congestion_control=none"};
    const ScenarioRun run = run_scenario(flags, ScenarioRunOptions{});
    EXPECT_EQ(run.flows.size(), rows.size());
    EXPECT_EQ(run.summary.packets->data_repeated, 0U) << routing;
    slowdown[routing] = run.summary.mean_slowdown;
    const auto up = std::ranges::find(run.summary.tiers, "leaf->agg", &TierUsage::tiers);
    ASSERT_NE(up, run.summary.tiers.end());
    queue_up[routing] = static_cast<double>(up->queue_peak.count());
  }
  EXPECT_GT(slowdown["ecmp"], 1.3);
  EXPECT_LT(slowdown["spray"], 1.1);
  // Ports at which a packet would wait 1 us longer than at the best one (packet.adaptive_band) are
  // as good: 50 kB at 400 Gb/s, and the packets that join then from the two hosts below.
  EXPECT_LT(queue_up["adaptive"], 50'000 + 2 * 4178);
  EXPECT_GT(queue_up["spray"], 10 * 4178);
  EXPECT_LT(slowdown["adaptive"], slowdown["ecmp"]);
}

// Four cables of 100 Gb/s between switches carry what a card of 400 Gb/s sends, whose 10 MB and 2 %
// of headers take 204 us. Expectation: sprayed at random, ports of 100 Gb/s take turns unevenly,
// 2,442 packets by sqrt(2,442 x 3 / 16) = 21 each of 610, and those too many wait: within 10 %.
// Chosen by queues, within 2 %. One cable would take 4 times as long.
TEST(PacketMode, SprayedPacketsAreAsFastAsAllTheirCables) {
  const ScratchFolder folder;
  RunFlags flags;
  std::string net = "host { port: \"from\" } host { port: \"to\" } switch { name: \"a\" } switch { name: \"b\" } ";
  for (const auto& [host, leaf] : {std::pair("from", "a"), std::pair("to", "b")})
    net += fmt::format("link {{ a: \"{}\" b: \"{}\" rate: \"400Gbps\" delay: \"1us\" }} ", host, leaf);
  for (int i = 0; i < 4; ++i) {
    net += fmt::format(
        "switch {{ name: \"s{0}\" }} link {{ a: \"a\" b: \"s{0}\" rate: \"100Gbps\" delay: \"1us\" }} "
        "link {{ a: \"s{0}\" b: \"b\" rate: \"100Gbps\" delay: \"1us\" }} ",
        i);
  }
  flags.topology = folder.write("net.textproto", net);
  flags.flows = folder.write("flow.txt", flow_list({"0 1 3 100 10000000 0"})) + ":hpcc";
  flags.settings = {"flow.routing=spray"};
  const double flow_ns = mean_fct_ns(run_scenario(flags, ScenarioRunOptions{}));
  // And the four cables' 1 us each; cards, switches and the last packet take less than 6 us.
  EXPECT_GT(flow_ns, 208e3);
  EXPECT_LT(flow_ns, 214e3);
  flags.mode = "packet";
  EXPECT_NEAR(mean_fct_ns(run_scenario(flags, ScenarioRunOptions{})) / flow_ns, 1.05, 0.05);
  flags.settings = {"flow.routing=adaptive"};
  EXPECT_NEAR(mean_fct_ns(run_scenario(flags, ScenarioRunOptions{})) / flow_ns, 1, 0.02);
}

}  // namespace
}  // namespace weft::packet_mode_test
