// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_fabric.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "tests/network/flow/scripted_transfers.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::flow_fabric_test {
namespace {

using namespace scripted_transfers;

constexpr std::int64_t kMegabit = 125'000;  // bytes: 10 us at 100 Gb/s

Time at(Duration since_start) { return Time::zero() + since_start; }

TEST(FlowFabric, ALoneTransferTakesLatencyPlusSizeOverRate) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const Outcome outcome =
      run(*topology, settings_with({{"protocol", "none"}}), {{at(Duration::us(3)), transfer(ends[0], ends[1], kMegabit, 5)}});
  // Enters at 3 us + 1 us of WQE, leaves 10 us later; the source polls for 200 ns; delivery takes 2
  // x 10 ns of cable, 500 ns in the switch, 500 ns to receive.
  EXPECT_EQ(outcome.sent.at(5), at(Duration::ns(14'200)));
  EXPECT_EQ(outcome.delivered.at(5), at(Duration::ns(14'000 + 20 + 500 + 500)));
  ASSERT_EQ(outcome.finished.size(), 1U);
  EXPECT_EQ(outcome.finished[0].start, at(Duration::us(3)));
  EXPECT_EQ(outcome.finished[0].end, outcome.delivered.at(5));
  EXPECT_EQ(outcome.finished[0].ideal, outcome.finished[0].end - outcome.finished[0].start);
  EXPECT_EQ(outcome.counters.solves, 2U) << "one to start, one to end";
}

TEST(FlowFabric, HeadersCountOnTheWire) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const Outcome outcome = run(*topology, settings_with({}), {{Time::zero(), transfer(ends[0], ends[1], 1'000'000, 0)}});
  // RoCEv2 at 4,096 B: ceil((1,000,000 + 16) / 4,096) = 245 packets of 82 B overhead: 1,020,106 B
  // on the wire, 0.08 ns each.
  const Bytes wire = Bytes::of(1'000'000 + 16 + 245 * 82);
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(1'000 + 200) + transmit_time(wire, Bandwidth::gbps(100))));
  Bytes on_links;
  for (const LinkUsage& link : outcome.links) on_links += link.bytes;
  EXPECT_EQ(on_links, wire * 2) << "up one cable and down the other";
  EXPECT_EQ(outcome.counters.payload_bytes, Bytes::of(1'000'000));
}

TEST(FlowFabric, WhatDataLosesOfALinkInsideAHostCountsOnTheWire) {
  const auto topology = built("lone_server", {{"gpus_per_host", "2"}, {"nvlink_rate", "100Gbps"}, {"nvlink_delay", "10ns"}});
  const auto ends = topology->endpoints();
  const Outcome outcome = run(*topology, settings_with({{"nvlink_efficiency", "0.8"}, {"nvlink_latency", "600ns"}}),
                              {{Time::zero(), transfer(ends[0], ends[1], kMegabit, 7)}});
  // 10 us become 12.5 us; two cables of 10 ns, 200 ns until both know.
  EXPECT_EQ(outcome.sent.at(7), at(Duration::ns(600 + 12'500 + 200)));
  EXPECT_EQ(outcome.delivered.at(7), at(Duration::ns(600 + 12'500 + 20 + 200)));
  Bytes on_links;
  for (const LinkUsage& link : outcome.links) on_links += link.bytes;
  EXPECT_EQ(on_links, Bytes::of(kMegabit / 4 * 5) * 2) << "to the NVSwitch and on to the GPU";
  EXPECT_EQ(outcome.counters.payload_bytes, Bytes::of(kMegabit));
}

TEST(FlowFabric, ATransferOfZeroBytesTakesLatencyOnly) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const Outcome outcome = run(*topology, settings_with({}), {{Time::zero(), transfer(ends[0], ends[1], 0, 1)}});
  EXPECT_EQ(outcome.sent.at(1), at(Duration::ns(1'200)));
  EXPECT_EQ(outcome.delivered.at(1), at(Duration::ns(1'000 + 20 + 500 + 500)));
  EXPECT_EQ(outcome.counters.solves, 0U);
  EXPECT_EQ(outcome.finished[0].ideal, Duration::ns(2'020));
}

TEST(FlowFabric, TransfersOfOneInstantAreOneSolve) {
  const auto topology = star("9");
  const auto ends = topology->endpoints();
  std::vector<Planned> script;
  for (std::uint32_t i = 1; i < 9; ++i) script.push_back({Time::zero(), transfer(ends[i], ends[0], kMegabit, i)});
  const Outcome outcome = run(*topology, settings_with({{"protocol", "none"}}), script);
  // Eight sources share the sink's cable: 8 Mbit at 100 Gb/s, all of them at once.
  for (std::uint32_t i = 1; i < 9; ++i) EXPECT_EQ(outcome.sent.at(i), at(Duration::ns(1'000 + 80'000 + 200)));
  EXPECT_EQ(outcome.counters.solves, 2U);
  EXPECT_EQ(outcome.counters.flows_active_peak, 8U);
  for (const FinishedTransfer& f : outcome.finished)
    EXPECT_EQ(f.ideal, Duration::ns(1'000 + 10'000 + 1'020)) << "alone it takes 10 us";
}

// Hosts on a row of four switches; one transfer all along, and one across each hop.
TEST(FlowFabric, ParkingLot) {
  TopologyBuilder builder("row");
  std::vector<NodeId> host, row;
  for (int i = 0; i < 4; ++i) row.push_back(builder.add_switch(1));
  const auto attach = [&](int i) {
    host.push_back(builder.add_endpoint(builder.add_host(), NodeKind::host));
    builder.add_cable(host.back(), row[static_cast<std::size_t>(i)], Bandwidth::gbps(400), Duration::zero());
  };
  for (int i : {0, 3, 0, 1, 1, 2, 2, 3}) attach(i);
  for (std::size_t i = 0; i < 3; ++i) builder.add_cable(row[i], row[i + 1], Bandwidth::gbps(100), Duration::zero());
  const auto topology = std::move(builder).build(nullptr, {"test", 0, 0, 1, ""});
  const Outcome outcome = run(*topology, settings_with({{"protocol", "none"}}),
                              {{Time::zero(), transfer(host[0], host[1], kMegabit, 0)},
                               {Time::zero(), transfer(host[2], host[3], kMegabit, 1)},
                               {Time::zero(), transfer(host[4], host[5], 2 * kMegabit, 2)},
                               {Time::zero(), transfer(host[6], host[7], 3 * kMegabit, 3)}});
  // Every hop is halved until 20 us, when the long one and the first short one have moved 1 Mbit
  // each. The others have 1 and 2 Mbit left and a hop of their own: 10 and 20 us more.
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(21'200)));
  EXPECT_EQ(outcome.sent.at(1), at(Duration::ns(21'200)));
  EXPECT_EQ(outcome.sent.at(2), at(Duration::ns(31'200)));
  EXPECT_EQ(outcome.sent.at(3), at(Duration::ns(41'200)));
}

TEST(FlowFabric, InsideAHostNvlinkCountsPayloadOnly) {
  const auto topology = built("rail_optimized", {{"hosts", "2"}, {"nvlink_rate", "3600Gbps"}, {"nvlink_delay", "25ns"}});
  const auto ends = topology->endpoints_of(HostId(0));
  const Outcome outcome =
      run(*topology, settings_with({{"queue_pairs", "4"}}), {{Time::zero(), transfer(ends[0], ends[5], 4'500'000, 9)}});
  // 600 ns to start, 36 Mbit at 3,600 Gb/s = 10 us, two cables of 25 ns, 200 ns to notice; no
  // headers, no queue pairs.
  EXPECT_EQ(outcome.sent.at(9), at(Duration::ns(600 + 10'000 + 200)));
  EXPECT_EQ(outcome.delivered.at(9), at(Duration::ns(600 + 10'000 + 50 + 200)));
  EXPECT_TRUE(outcome.finished[0].inside_host);
  EXPECT_EQ(outcome.counters.flows_started, 1U);
}

TEST(FlowFabric, QueuePairsSplitExactlyAndAreDoneTogether) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  // Seven bytes over four queue pairs: 2, 2, 2, 1. Three bytes over four: one stays empty.
  const FlowSettings settings = settings_with({{"protocol", "none"}, {"queue_pairs", "4"}});
  Outcome outcome = run(*topology, settings, {{Time::zero(), transfer(ends[0], ends[1], 7, 0)}});
  EXPECT_EQ(outcome.counters.flows_started, 4U);
  EXPECT_EQ(outcome.links[0].bytes, Bytes::of(7));
  EXPECT_EQ(outcome.counters.transfers_finished, 1U);
  outcome = run(*topology, settings, {{Time::zero(), transfer(ends[0], ends[1], 3, 0)}});
  EXPECT_EQ(outcome.counters.flows_started, 3U);
}

// A transfer that fills more queue pairs than its rival gets as many shares more, unless shares go
// by transfer.
TEST(FlowFabric, SharesGoByQueuePairOrByTransfer) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  // Three bytes of payload make three queue pairs of one byte; one byte makes one. Both end at host
  // 2, at 100 Gb/s (0.08 ns per byte).
  const std::vector<Planned> script = {{Time::zero(), transfer(ends[0], ends[2], 3, 0)},
                                       {Time::zero(), transfer(ends[1], ends[2], 1, 1)}};
  // Per queue pair all four move at 25 Gb/s: everything is done after 4 bytes' time.
  const Outcome by_pair = run(*topology, settings_with({{"protocol", "none"}, {"queue_pairs", "4"}}), script);
  EXPECT_EQ(by_pair.sent.at(0), at(Duration::ns(1'200) + Duration::ticks(32)));
  EXPECT_EQ(by_pair.sent.at(1), at(Duration::ns(1'200) + Duration::ticks(32)));
  // Per transfer each gets 50 Gb/s: the small one is done after 2 bytes' time.
  const Outcome by_transfer =
      run(*topology, settings_with({{"protocol", "none"}, {"queue_pairs", "4"}, {"share", "per_transfer"}}), script);
  EXPECT_EQ(by_transfer.sent.at(0), at(Duration::ns(1'200) + Duration::ticks(32)));
  EXPECT_EQ(by_transfer.sent.at(1), at(Duration::ns(1'200) + Duration::ticks(16)));
}

TEST(FlowFabric, AQueuePairKeepsToItsRateLimit) {
  const auto topology = star("4");
  const auto ends = topology->endpoints();
  const std::vector<Planned> alone = {{Time::zero(), transfer(ends[0], ends[1], kMegabit, 0)}};
  // 1 Mbit at 25 Gb/s takes 40 us. It is no slower than it can be.
  Outcome outcome = run(*topology, settings_with({{"protocol", "none"}, {"queue_pair_rate_max", "25Gbps"}}), alone);
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(41'200)));
  EXPECT_EQ(outcome.finished[0].ideal, outcome.finished[0].end - outcome.finished[0].start);
  // Three queue pairs get to 75 Gb/s, eight fill the cable of 100.
  outcome = run(*topology, settings_with({{"protocol", "none"}, {"queue_pair_rate_max", "25Gbps"}, {"queue_pairs", "3"}}),
                {{Time::zero(), transfer(ends[0], ends[1], 3 * kMegabit, 0)}});
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(41'200)));
  EXPECT_EQ(outcome.finished[0].ideal, outcome.finished[0].end - outcome.finished[0].start);
  outcome = run(*topology, settings_with({{"protocol", "none"}, {"queue_pair_rate_max", "25Gbps"}, {"queue_pairs", "8"}}), alone);
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(11'200)));
  EXPECT_EQ(outcome.finished[0].ideal, outcome.finished[0].end - outcome.finished[0].start);
  // Headers count: 16 B of the message and 82 B of its only packet.
  outcome =
      run(*topology, settings_with({{"queue_pair_rate_max", "1Gbps"}}), {{Time::zero(), transfer(ends[0], ends[1], 1'440, 0)}});
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(1'200) + transmit_time(Bytes::of(1'440 + 16 + 82), Bandwidth::gbps(1))));
  // Where only half of the network's rate is for packets, they may take 25 Gb/s of 50, and 50 of
  // 50.
  outcome = run(*topology, settings_with({{"protocol", "none"}, {"queue_pair_rate_max", "25Gbps"}, {"network_efficiency", "0.5"}}),
                alone);
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(41'200)));
  outcome = run(*topology, settings_with({{"protocol", "none"}, {"queue_pair_rate_max", "80Gbps"}, {"network_efficiency", "0.5"}}),
                alone);
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(21'200)));
}

TEST(FlowFabric, RateLimitsAndSharesMeet) {
  const auto topology = star("4");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({{"protocol", "none"}, {"queue_pair_rate_max", "40Gbps"}});
  // Two of them: 40 Gb/s each, 25 us for 1 Mbit. Three: a third of 100 Gb/s each, 30 us.
  Outcome outcome =
      run(*topology, settings,
          {{Time::zero(), transfer(ends[0], ends[3], kMegabit, 0)}, {Time::zero(), transfer(ends[1], ends[3], kMegabit, 1)}});
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(26'200)));
  EXPECT_EQ(outcome.sent.at(1), at(Duration::ns(26'200)));
  outcome = run(*topology, settings,
                {{Time::zero(), transfer(ends[0], ends[3], kMegabit, 0)},
                 {Time::zero(), transfer(ends[1], ends[3], kMegabit, 1)},
                 {Time::zero(), transfer(ends[2], ends[3], kMegabit, 2)}});
  for (const std::uint64_t tag : {0U, 1U, 2U}) EXPECT_EQ(outcome.sent.at(tag), at(Duration::ns(31'200)));
}

// The limit is that of the queue pair, not of each of its paths; inside a host there are no queue
// pairs.
TEST(FlowFabric, ASprayedQueuePairHasOneLimit) {
  const auto tree = built("fat_tree", {{"k", "4"}});
  const auto far = tree->endpoints();
  Outcome outcome = run(*tree, settings_with({{"protocol", "none"}, {"queue_pair_rate_max", "10Gbps"}, {"routing", "spray"}}),
                        {{Time::zero(), transfer(far.front(), far.back(), kMegabit, 0)}});
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(101'200)));
  EXPECT_EQ(outcome.finished[0].ideal, outcome.finished[0].end - outcome.finished[0].start);
  const auto server = built("lone_server", {{"gpus_per_host", "2"}, {"nvlink_rate", "100Gbps"}, {"nvlink_delay", "10ns"}});
  const auto near = server->endpoints();
  outcome = run(*server, settings_with({{"queue_pair_rate_max", "10Gbps"}, {"nvlink_latency", "600ns"}}),
                {{Time::zero(), transfer(near[0], near[1], kMegabit, 0)}});
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(600 + 10'000 + 200)));
}

TEST(FlowFabric, AHigherPriorityGoesFirst) {
  const auto topology = star("4");
  const auto ends = topology->endpoints();
  // Three transfers of 1 Mbit to one host: 10 us each if they are alone, one after the other by
  // priority, the last two of one class together.
  const std::vector<Planned> script = {{Time::zero(), transfer(ends[0], ends[3], kMegabit, 0)},
                                       {Time::zero(), transfer(ends[1], ends[3], kMegabit, 1, 0, 7)},
                                       {Time::zero(), transfer(ends[2], ends[3], kMegabit, 2)}};
  const Outcome strict = run(*topology, settings_with({{"protocol", "none"}}), script);
  EXPECT_EQ(strict.sent.at(1), at(Duration::ns(11'200)));
  EXPECT_EQ(strict.sent.at(0), at(Duration::ns(31'200)));
  EXPECT_EQ(strict.sent.at(2), at(Duration::ns(31'200)));
  const Outcome none = run(*topology, settings_with({{"protocol", "none"}, {"priorities", "none"}}), script);
  for (const std::uint64_t tag : {0U, 1U, 2U}) EXPECT_EQ(none.sent.at(tag), at(Duration::ns(31'200)));
}

TEST(FlowFabric, ALinkWithoutCapacityIsReportedAndTheRunEnds) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  std::vector<double> capacities = link_capacities_bps(*topology);
  const LinkId dead = topology->out_links(ends[0])[0];
  capacities[dead.index()] = 0;
  const Outcome outcome =
      run(*topology, settings_with({}),
          {{Time::zero(), transfer(ends[0], ends[2], kMegabit, 0)}, {Time::zero(), transfer(ends[1], ends[2], kMegabit, 1)}},
          policy_called("max_min", capacities));
  EXPECT_EQ(outcome.sent.size(), 1U);
  EXPECT_TRUE(outcome.delivered.contains(1));
  ASSERT_EQ(outcome.unfinished.size(), 1U);
  EXPECT_EQ(outcome.unfinished[0].transfer.tag, 0U);
  EXPECT_EQ(outcome.unfinished[0].stalled_at, dead);
}

// Attempts 0 and 1 share the cable to the third host; after 11 us, of which one is a latency,
// attempt 1 is stopped. Attempt 0 has moved half a megabit by then and takes 5 us for the rest.
// What attempt 1 hands over later is dropped, and so is an operation that only some of its members
// joined.
TEST(FlowFabric, AStoppedAttemptLeavesTheLinksToOthers) {
  const auto topology = star("4");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({{"protocol", "none"}});
  SwitchOperations operations(*topology, settings);
  const NodeId sum = operations.add(SwitchOperationKind::all_reduce, {ends[1], ends[3]}, NodeId::none(), 0).name;
  const auto of_attempt = [](std::uint32_t attempt, Transfer transfer) {
    transfer.attempt = AttemptId(attempt);
    return transfer;
  };
  const std::vector<Planned> script = {{at(Duration::zero()), of_attempt(0, transfer(ends[0], ends[2], kMegabit, 1))},
                                       {at(Duration::zero()), of_attempt(1, transfer(ends[1], ends[2], kMegabit, 2))},
                                       {at(Duration::us(1)), of_attempt(1, transfer(ends[1], sum, kMegabit, 3))},
                                       {at(Duration::us(12)), of_attempt(1, transfer(ends[1], ends[2], kMegabit, 4))}};
  const Outcome outcome =
      run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, &operations, {{at(Duration::us(11)), AttemptId(1)}});
  ASSERT_EQ(outcome.delivered.size(), 1U);
  EXPECT_EQ(outcome.sent.at(1), at(Duration::us(16) + settings.completion_latency));
  EXPECT_TRUE(outcome.results.empty());
  EXPECT_TRUE(outcome.unfinished.empty());
  ASSERT_EQ(outcome.finished.size(), 1U);
  // The link to the third host has carried what both moved.
  Bytes most;
  for (const LinkUsage& link : outcome.links) most = std::max(most, link.bytes);
  EXPECT_EQ(most, Bytes::of(kMegabit + kMegabit / 2));
}

// Seven bytes over four queue pairs: 2, 2, 2 and 1 at 25 Gb/s each. The last leaves after 0.32 ns,
// and 0.08 ns later the attempt is stopped, with one whole byte of each of the others gone. What
// comes next takes the transfer's place, and the time that it takes alone.
TEST(FlowFabric, AStoppedTransferLeavesNothingOfItsQueuePairs) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({{"protocol", "none"}, {"queue_pairs", "4"}});
  Transfer stopped = transfer(ends[0], ends[1], 7, 1);
  stopped.attempt = AttemptId(1);
  Transfer next = transfer(ends[0], ends[1], 7, 2);
  next.attempt = AttemptId(0);
  const Planned later = {at(Duration::us(20)), next};
  const Outcome alone = run(*topology, settings, {later});
  const Time stop = at(settings.wqe_latency + Duration::ticks(40));
  const Outcome after =
      run(*topology, settings, {{Time::zero(), stopped}, later}, nullptr, 1, PartitionAutomatic{}, nullptr, {{stop, AttemptId(1)}});
  EXPECT_EQ(after.delivered.size(), 1U);
  EXPECT_EQ(after.links[0].bytes, Bytes::of(4 + 7));
  EXPECT_EQ(after.delivered.at(2), alone.delivered.at(2));
  EXPECT_EQ(after.sent.at(2), alone.sent.at(2));
}

TEST(FlowFabric, RunsUnderAnotherPolicy) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  const Outcome outcome =
      run(*topology, settings_with({{"protocol", "none"}}),
          {{Time::zero(), transfer(ends[0], ends[2], kMegabit, 0)}, {Time::zero(), transfer(ends[1], ends[2], kMegabit, 1)}},
          policy_called("quantum_filling", link_capacities_bps(*topology)));
  // 50 Gb/s is a whole number of quanta of 100 Mb/s: as exact as max-min.
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(21'200)));
  EXPECT_EQ(outcome.sent.at(1), at(Duration::ns(21'200)));
}

// --- Transfers of one connection ----------------------------------------------------------------

/// Of no headers, and 1 us of latency before all else.
FlowSettings fluid_settings(const char* queue_pairs = "1") {
  return settings_with({{"protocol", "none"}, {"queue_pairs", queue_pairs}});
}

// Of three transfers of 1 Mbit to host 2, which takes 10 us for each, two are of one connection of
// host 0: that one moves at half of the rate until the first is done, and so does host 1. Then the
// second has the link, at whose end it would be behind host 1 if each had a third of it.
TEST(FlowFabric, AQueuePairMovesOneTransferAfterAnother) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  const std::vector<Planned> script = {{Time::zero(), transfer(ends[0], ends[2], kMegabit, 0)},
                                       {Time::zero(), transfer(ends[0], ends[2], kMegabit, 1)},
                                       {Time::zero(), transfer(ends[1], ends[2], kMegabit, 2)}};
  const Outcome one = run(*topology, fluid_settings(), script);
  EXPECT_EQ(one.sent.at(0), at(Duration::ns(1'200) + Duration::us(20)));
  EXPECT_EQ(one.sent.at(2), at(Duration::ns(1'200) + Duration::us(20)));
  EXPECT_EQ(one.sent.at(1), at(Duration::ns(1'200) + Duration::us(30)));
  EXPECT_EQ(one.counters.flows_started, 3U);
  // Another connection, or priority, is another queue pair: a third for each.
  for (const auto& [connection, priority] : {std::pair(1U, 0), std::pair(0U, 1)}) {
    std::vector<Planned> apart = script;
    apart[1].transfer = transfer(ends[0], ends[2], kMegabit, 1, connection, static_cast<std::uint8_t>(priority));
    const Outcome outcome =
        run(*topology, settings_with({{"protocol", "none"}, {"queue_pairs", "1"}, {"priorities", "none"}}), apart);
    for (const std::uint64_t tag : {0U, 1U, 2U}) EXPECT_EQ(outcome.sent.at(tag), at(Duration::ns(1'200) + Duration::us(30)));
  }
  // Transfers of a flow list are connections by themselves.
  std::vector<Planned> list = script;
  for (Planned& planned : list) planned.transfer.attempt = AttemptId::none();
  const Outcome of_list = run(*topology, fluid_settings(), list);
  for (const std::uint64_t tag : {0U, 1U, 2U}) EXPECT_EQ(of_list.sent.at(tag), at(Duration::ns(1'200) + Duration::us(30)));
}

// Two queue pairs at 50 Gb/s. The first transfer has 3 bytes: 2 and 1. The second has 4: 2 and 2.
// A byte takes 0.08 ns at 100 Gb/s. The second queue pair is free after 2 bytes' time and goes on
// at once; the first transfer's last byte leaves after 3, the second's after all 7.
TEST(FlowFabric, EachQueuePairGoesOnByItself) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const Outcome outcome = run(*topology, fluid_settings("2"),
                              {{Time::zero(), transfer(ends[0], ends[1], 3, 0)}, {Time::zero(), transfer(ends[0], ends[1], 4, 1)}});
  // 2 bytes' time at half of the rate each for one byte of both, then one more of the first beside
  // the second's.
  EXPECT_EQ(outcome.sent.at(0), at(Duration::ns(1'200) + Duration::ticks(32)));
  EXPECT_EQ(outcome.sent.at(1), at(Duration::ns(1'200) + Duration::ticks(56)));
  EXPECT_EQ(outcome.links[0].bytes, Bytes::of(7));
}

// What has no bytes waits for what entered before, and for those of its instant with lower tags. It
// holds nobody up. Control messages wait for nobody.
TEST(FlowFabric, WhatHasNoBytesWaitsForItsQueuePair) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const std::vector<Planned> script = {{Time::zero(), transfer(ends[0], ends[1], 0, 6)},
                                       {Time::zero(), transfer(ends[0], ends[1], kMegabit, 5)},
                                       {Time::zero(), transfer(ends[0], ends[1], 0, 4)},
                                       {at(Duration::us(2)), transfer(ends[0], ends[1], 0, 2)},
                                       {at(Duration::us(3)), transfer(ends[0], ends[1], kMegabit, 1)},
                                       {at(Duration::us(2)), transfer(ends[0], ends[1], 0, 9, control_connection)}};
  const Outcome outcome = run(*topology, fluid_settings(), script);
  EXPECT_EQ(outcome.sent.at(4), at(Duration::ns(1'200)));
  EXPECT_EQ(outcome.sent.at(5), at(Duration::ns(1'200) + Duration::us(10)));
  EXPECT_EQ(outcome.sent.at(6), outcome.sent.at(5));
  EXPECT_EQ(outcome.sent.at(2), outcome.sent.at(5));
  EXPECT_EQ(outcome.sent.at(1), at(Duration::ns(1'200) + Duration::us(20)));
  EXPECT_EQ(outcome.delivered.at(9) - outcome.delivered.at(4), Duration::us(2));
  EXPECT_EQ(outcome.counters.transfers_finished, 5U);
  EXPECT_TRUE(outcome.unfinished.empty());
}

// Expectation: the order in which a host hands over what enters at one instant changes nothing.
TEST(FlowFabric, WhatEntersAtOneInstantHasNoOrder) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  RandomStream random(34, 0, 0);
  std::vector<Planned> script;
  for (std::uint64_t tag = 0; tag < 40; ++tag) {
    const auto bytes = static_cast<std::int64_t>(random.below(4) == 0 ? 0 : 1 + random.below(200'000));
    script.push_back({at(Duration::us(static_cast<std::int64_t>(5 * random.below(6)))),
                      transfer(ends[random.below(2)], ends[2], bytes, tag, static_cast<std::uint32_t>(random.below(2)))});
  }
  // Over a network of several ways, nothing else is on them.
  const auto tree = built("fat_tree", {{"k", "4"}});
  const std::span<const NodeId> hosts = tree->endpoints();
  const std::vector<Planned> pair = {{Time::zero(), transfer(hosts[0], hosts[15], 1'000'000, 1)},
                                     {Time::zero(), transfer(hosts[0], hosts[15], 2'000'000, 2)}};
  const FlowSettings adaptive = settings_with({{"routing", "adaptive"}, {"queue_pairs", "1"}});
  const Outcome in_order = run(*tree, adaptive, pair);
  const Outcome reversed = run(*tree, adaptive, {pair[1], pair[0]});
  EXPECT_EQ(in_order.sent, reversed.sent);
  for (std::size_t link = 0; link < in_order.links.size(); ++link)
    EXPECT_EQ(in_order.links[link].bytes, reversed.links[link].bytes);
  for (const char* const queue_pairs : {"1", "3"}) {
    const Outcome expected = run(*topology, fluid_settings(queue_pairs), script);
    EXPECT_EQ(expected.sent.size(), script.size());
    for (int round = 0; round < 10; ++round) {
      std::vector<Planned> other = script;
      for (std::size_t i = other.size() - 1; i > 0; --i) std::swap(other[i], other[random.below(i + 1)]);
      const Outcome outcome = run(*topology, fluid_settings(queue_pairs), other);
      EXPECT_EQ(outcome.sent, expected.sent);
      EXPECT_EQ(outcome.delivered, expected.delivered);
      EXPECT_EQ(outcome.counters.flows_started, expected.counters.flows_started);
      for (std::size_t link = 0; link < outcome.links.size(); ++link)
        EXPECT_EQ(outcome.links[link].bytes, expected.links[link].bytes);
    }
  }
}

// Attempt 1 is stopped while one of its transfers moves and two wait; attempt 0's second goes on as
// if nothing had been.
TEST(FlowFabric, AStoppedAttemptLeavesNothingThatWaits) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  std::vector<Planned> script;
  for (std::uint64_t tag = 0; tag < 6; ++tag) {
    Transfer one = transfer(ends[0], ends[1], tag == 5 ? 0 : kMegabit, tag);
    one.attempt = AttemptId(static_cast<std::uint32_t>(tag % 2));
    script.push_back({at(Duration::ns(static_cast<std::int64_t>(tag))), one});
  }
  const Outcome outcome =
      run(*topology, fluid_settings(), script, nullptr, 1, PartitionAutomatic{}, nullptr, {{at(Duration::us(11)), AttemptId(1)}});
  ASSERT_EQ(outcome.sent.size(), 3U);
  EXPECT_TRUE(outcome.unfinished.empty());
  // 0.5 Mbit by 11 us, and the rest alone, but for a nanosecond in which attempt 0 was by itself.
  EXPECT_NEAR(outcome.sent.at(0).in_s(), 16.2e-6, 1.1e-9);
  EXPECT_NEAR(outcome.sent.at(2).in_s(), 26.2e-6, 1.1e-9);
  EXPECT_NEAR(outcome.sent.at(4).in_s(), 36.2e-6, 1.1e-9);
}

// Two queue pairs of 50 Gb/s each. The first transfer of attempt 1 has 3 bytes, 2 and 1. Its next,
// of 8, is on the second queue pair and waits on the first when the attempt is stopped, 1.5 bytes'
// time after the start of either. Attempt 0's transfer, which comes later, has all of the link.
TEST(FlowFabric, AStoppedAttemptLeavesNeitherWhatMovesNorWhatWaits) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const FlowSettings settings = fluid_settings("2");
  std::vector<Planned> script = {{Time::zero(), transfer(ends[0], ends[1], 3, 0)},
                                 {Time::zero(), transfer(ends[0], ends[1], 8, 1)}};
  for (Planned& planned : script) planned.transfer.attempt = AttemptId(1);
  const Planned later = {at(Duration::us(20)), transfer(ends[0], ends[1], 7, 2)};
  const Outcome alone = run(*topology, settings, {later});
  script.push_back(later);
  const Time stop = at(settings.wqe_latency + Duration::ticks(3 * 8));
  const Outcome outcome = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr, {{stop, AttemptId(1)}});
  EXPECT_EQ(outcome.delivered.size(), 1U);
  EXPECT_EQ(outcome.delivered.at(2), alone.delivered.at(2));
  EXPECT_EQ(outcome.counters.flows_started, 5U) << "two of the first, one of the second, two of the last";
  EXPECT_TRUE(outcome.unfinished.empty());
}

TEST(FlowFabric, WhatWaitsForAStalledTransferSaysWhere) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  std::vector<double> capacities = link_capacities_bps(*topology);
  const LinkId dead = topology->out_links(ends[0])[0];
  capacities[dead.index()] = 0;
  for (const char* const queue_pairs : {"1", "2"}) {
    const Outcome outcome = run(*topology, fluid_settings(queue_pairs),
                                {{Time::zero(), transfer(ends[0], ends[2], kMegabit, 0)},
                                 {at(Duration::us(1)), transfer(ends[0], ends[2], kMegabit, 1)},
                                 {at(Duration::us(2)), transfer(ends[0], ends[2], 0, 2)},
                                 {Time::zero(), transfer(ends[1], ends[2], kMegabit, 3)}},
                                policy_called("max_min", capacities));
    EXPECT_EQ(outcome.sent.size(), 1U);
    ASSERT_EQ(outcome.unfinished.size(), 3U);
    for (const UnfinishedTransfer& one : outcome.unfinished) EXPECT_EQ(one.stalled_at, dead);
  }
}

std::vector<Planned> random_script(const Topology& topology, std::uint32_t seed, int count) {
  RandomStream random(seed, 0, 1);
  const auto ends = topology.endpoints();
  std::vector<Planned> script;
  Time now;
  for (int i = 0; i < count; ++i) {
    if (random.below(4) > 0) now += Duration::ns(static_cast<std::int64_t>(random.below(2'000)));
    const NodeId a = ends[random.below(ends.size())];
    const NodeId b = ends[random.below(ends.size())];
    if (a == b) continue;
    const auto size = static_cast<std::int64_t>(random.below(10) == 0 ? 0 : random.below(300'000));
    script.push_back({now, transfer(a, b, size, static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(random.below(3)))});
  }
  return script;
}

TEST(FlowFabric, SameResultsForAnyThreadsAndPartition) {
  const auto topology = built("rail_optimized", {{"hosts", "4"}});
  const FlowSettings settings = settings_with({{"queue_pairs", "3"}});
  const std::vector<Planned> script = random_script(*topology, 4, 600);
  const Outcome expected = run(*topology, settings, script);
  for (const std::uint32_t threads : {1U, 2U, 8U}) {
    for (const PartitionChoice& partition :
         {PartitionChoice(PartitionAutomatic{}), PartitionChoice(PartitionByZeta{Duration::ns(1)}),
          PartitionChoice(PartitionByZeta{Duration::us(10)})}) {
      const Outcome outcome = run(*topology, settings, script, nullptr, threads, partition);
      EXPECT_EQ(outcome.report.fingerprint.to_text(), expected.report.fingerprint.to_text());
      EXPECT_EQ(outcome.sent, expected.sent);
      EXPECT_EQ(outcome.delivered, expected.delivered);
    }
  }
}

// Adaptive paths follow what is under way, and that the order of events.
TEST(FlowFabric, AdaptiveRoutesAreTheSameForAnyThreadsAndPartition) {
  const auto topology = built("fat_tree", {{"k", "4"}});
  const std::vector<Planned> script = random_script(*topology, 5, 600);
  for (const char* routing : {"adaptive", "adaptive_global"}) {
    const FlowSettings settings = settings_with({{"queue_pairs", "2"}, {"routing", routing}});
    const Outcome expected = run(*topology, settings, script);
    for (const std::uint32_t threads : {1U, 2U, 8U}) {
      for (const PartitionChoice& partition :
           {PartitionChoice(PartitionAutomatic{}), PartitionChoice(PartitionByZeta{Duration::ns(1)})}) {
        const Outcome outcome = run(*topology, settings, script, nullptr, threads, partition);
        EXPECT_EQ(outcome.report.fingerprint.to_text(), expected.report.fingerprint.to_text());
        EXPECT_EQ(outcome.delivered, expected.delivered);
      }
    }
  }
}

/// Mean completion time of permutations of 40 Mbit over the 128 hosts of a k = 8 fat tree of 400
/// Gb/s.
double mean_completion_us(const char* routing) {
  const auto topology = built("fat_tree", {{"k", "8"}});
  const auto ends = topology->endpoints();
  double sum_us = 0;
  std::size_t count = 0;
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    RandomStream random(3, seed, 1);
    std::vector<std::size_t> to(ends.size());
    std::iota(to.begin(), to.end(), std::size_t{0});
    for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
    std::vector<Planned> script;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] != i) script.push_back({Time::zero(), transfer(ends[i], ends[to[i]], 40 * kMegabit, i)});
    }
    for (const FinishedTransfer& f : run(*topology, settings_with({{"protocol", "none"}, {"routing", routing}}), script).finished) {
      sum_us += (f.end - f.start).in_us();
      ++count;
    }
  }
  return sum_us / static_cast<double>(count);
}

// Hashed paths collide, adaptive ones do so less: on the way down, which a switch does not see, or
// where earlier flows left no way free. Sprayed ones do not at all: there every flow has its host's
// 400 Gb/s and takes 100 us and latencies, of which those between pods, as most are, have 1 us to
// start, 2.5 us in five switches, 0.5 us to receive, and 1 us of fibre.
TEST(FlowFabric, HashCollisionsShow) {
  const double ecmp = mean_completion_us("ecmp");
  const double adaptive = mean_completion_us("adaptive");
  const double global = mean_completion_us("adaptive_global");
  const double spray = mean_completion_us("spray");
  RecordProperty("mean_completion_us_ecmp", std::to_string(ecmp));
  RecordProperty("mean_completion_us_adaptive", std::to_string(adaptive));
  RecordProperty("mean_completion_us_adaptive_global", std::to_string(global));
  RecordProperty("mean_completion_us_spray", std::to_string(spray));
  EXPECT_GT(ecmp, 1.1 * adaptive);
  EXPECT_GT(adaptive, 1.1 * global);
  EXPECT_GE(global, spray);
  EXPECT_NEAR(spray, 105, 0.5);
}

TEST(FlowFabric, EveryTransferEndsOnceAndNoneBeatsItsIdeal) {
  const auto topology = built("rail_optimized", {{"hosts", "4"}});
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    const std::vector<Planned> script = random_script(*topology, seed, 400);
    const Outcome outcome = run(*topology, settings_with({{"queue_pairs", seed % 2 == 0 ? "1" : "4"}}), script);
    EXPECT_EQ(outcome.sent.size(), script.size());
    EXPECT_EQ(outcome.delivered.size(), script.size());
    EXPECT_EQ(outcome.finished.size(), script.size());
    EXPECT_EQ(outcome.counters.transfers_started, script.size());
    EXPECT_EQ(outcome.counters.transfers_finished, script.size());
    EXPECT_TRUE(outcome.unfinished.empty());
    for (const FinishedTransfer& f : outcome.finished) {
      EXPECT_EQ(f.end, outcome.delivered.at(f.transfer.tag));
      EXPECT_GE(f.end - f.start + Duration::ticks(1), f.ideal) << "a tick for rounding";
    }
    for (const LinkUsage& link : outcome.links) EXPECT_LE(link.mean_utilization, 1.0);
  }
}

// With every latency at zero hosts and fabric share a logical process, and instants hold several
// batches.
TEST(FlowFabric, RunsWithoutAnyLatency) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({{"protocol", "none"},
                                               {"wqe_latency", "0ns"},
                                               {"receive_latency", "0ns"},
                                               {"completion_latency", "0ns"},
                                               {"switching_delay", "0ns"}});
  const Outcome outcome = run(*topology, settings, {{Time::zero(), transfer(ends[0], ends[1], kMegabit, 0)}}, nullptr, 2);
  EXPECT_EQ(outcome.sent.at(0), at(Duration::us(10)));
  EXPECT_EQ(outcome.delivered.at(0), at(Duration::ns(10'020)));
}

/// Two hosts of two GPUs with NICs of 400 Gb/s, each behind a PCIe cable of 512 Gb/s and 100 ns; 10
/// ns of fibre to one switch.
std::shared_ptr<const Topology> two_servers(const char* nics, const char* nic_affinity = "own") {
  return built("single_switch", {{"hosts", "2"},
                                 {"gpus_per_host", "2"},
                                 {"nics_per_host", nics},
                                 {"nic_affinity", nic_affinity},
                                 {"nic_rate", "400Gbps"},
                                 {"pcie_rate", "512Gbps"},
                                 {"pcie_delay", "100ns"},
                                 {"fibre", "2m"}});
}

constexpr std::int64_t kBig = 5'000'000;  // bytes: 40 Mb, 100 us at 400 Gb/s

TEST(Staging, AddsLatencyAtBothEnds) {
  const auto topology = two_servers("2");
  const auto ends = topology->endpoints();
  const std::vector<Planned> script = {{at(Duration::zero()), transfer(ends[0], ends[2], kBig, 5)},
                                       {at(Duration::zero()), transfer(ends[0], ends[1], kBig, 6)},
                                       {at(Duration::us(500)), transfer(ends[1], ends[3], 0, 7)}};
  const Outcome direct = run(*topology, settings_with({{"protocol", "none"}}), script);
  const Outcome staged =
      run(*topology, settings_with({{"protocol", "none"}, {"gpudirect", "off"}, {"staging_latency", "1500ns"}}), script);
  // The NIC's cable stays the narrowest: 100 us after 1 us of WQE; then 2 x (100 + 10) ns of
  // cables, 500 ns in the switch, 500 ns to receive.
  EXPECT_EQ(direct.sent.at(5), at(Duration::ns(101'200)));
  EXPECT_EQ(direct.delivered.at(5), at(Duration::ns(101'000 + 220 + 1000)));
  EXPECT_EQ(staged.sent.at(5), at(Duration::ns(102'700)));
  EXPECT_EQ(staged.delivered.at(5), at(Duration::ns(102'500 + 220 + 1000 + 1500)));
  EXPECT_EQ(staged.delivered.at(7) - direct.delivered.at(7), Duration::us(3)) << "a message without bytes waits as well";
  EXPECT_EQ(staged.delivered.at(6), direct.delivered.at(6)) << "nothing is staged inside a host";
  for (const FinishedTransfer& finished : staged.finished) EXPECT_EQ(finished.end - finished.start, finished.ideal);
}

TEST(Staging, CrossesTheGpusCableInBothDirections) {
  const auto topology = two_servers("2");
  const auto ends = topology->endpoints();
  const std::vector<Planned> exchange = {{at(Duration::zero()), transfer(ends[0], ends[2], kBig, 1)},
                                         {at(Duration::zero()), transfer(ends[2], ends[0], kBig, 2)}};
  for (const char* routing : {"ecmp", "spray"}) {
    // With GPUDirect each direction has its own 400 Gb/s. Without, a GPU's cable carries both
    // messages in each direction: 512 / 2 = 256 Gb/s.
    const Outcome direct = run(*topology, settings_with({{"protocol", "none"}, {"routing", routing}}), exchange);
    EXPECT_EQ(direct.sent.at(1), at(Duration::ns(101'200))) << routing;
    const Outcome staged =
        run(*topology, settings_with({{"protocol", "none"}, {"routing", routing}, {"gpudirect", "off"}}), exchange);
    EXPECT_EQ(staged.sent.at(1), at(Duration::ns(2'200 + 156'250))) << routing;
    EXPECT_EQ(staged.sent.at(2), staged.sent.at(1)) << routing;
    // Every byte is seen twice by the cable of its source, once in each direction, and so it is by
    // that of its destination.
    const LinkId cable = topology->out_links(ends[0]).back();
    EXPECT_EQ(direct.links[cable.index()].bytes, Bytes::of(kBig)) << routing;
    EXPECT_EQ(staged.links[cable.index()].bytes, Bytes::of(2 * kBig)) << routing;
    EXPECT_EQ(staged.links[topology->reverse(cable).index()].bytes, Bytes::of(2 * kBig)) << routing;
  }
}

TEST(Staging, HoldsATransferToItsRateWhateverItsQueuePairs) {
  const auto topology = two_servers("2");
  const auto ends = topology->endpoints();
  for (const char* queue_pairs : {"1", "4"}) {
    const Outcome staged = run(
        *topology,
        settings_with({{"protocol", "none"}, {"gpudirect", "off"}, {"staging_rate", "100Gbps"}, {"queue_pairs", queue_pairs}}),
        {{at(Duration::zero()), transfer(ends[0], ends[2], kBig, 1)}, {at(Duration::zero()), transfer(ends[0], ends[1], kBig, 2)}});
    // 40 Mb at 100 Gb/s, after 1 us of WQE and 1 us of staging.
    EXPECT_EQ(staged.sent.at(1), at(Duration::ns(402'200))) << queue_pairs;
    EXPECT_LT(staged.sent.at(2), at(Duration::us(100))) << "not inside the host";
    for (const FinishedTransfer& finished : staged.finished) EXPECT_EQ(finished.end - finished.start, finished.ideal);
  }
}

// The rate once held for the wire bytes that an efficiency below 1 blows up, unlike that of queue
// pairs.
TEST(Staging, HoldsAtAnyEfficiency) {
  const auto topology = two_servers("2");
  const auto ends = topology->endpoints();
  for (const char* efficiency : {"1", "0.5"}) {
    const Outcome staged =
        run(*topology,
            settings_with(
                {{"protocol", "none"}, {"gpudirect", "off"}, {"staging_rate", "100Gbps"}, {"network_efficiency", efficiency}}),
            {{at(Duration::zero()), transfer(ends[0], ends[2], kBig, 1)}});
    EXPECT_EQ(staged.sent.at(1), at(Duration::ns(402'200))) << efficiency;
  }
}

TEST(Staging, IsForGpusOnly) {
  TopologyBuilder builder("a host and a GPU");
  const NodeId of_host = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId gpu = builder.add_endpoint(builder.add_host(), NodeKind::gpu);
  const LinkId cable = builder.add_cable(of_host, gpu, Bandwidth::gbps(100), Duration::zero());
  const auto topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  const Staging off(*topology, settings_with({{"gpudirect", "off"}, {"staging_rate", "100Gbps"}}));
  const Staging on(*topology, settings_with({}));
  EXPECT_EQ(off.delay(of_host), Duration::zero());
  EXPECT_EQ(off.delay(gpu), Duration::us(1));
  EXPECT_EQ(off.cap_bps(of_host, gpu), 100e9);
  EXPECT_EQ(on.delay(gpu), Duration::zero());
  EXPECT_FALSE(std::isfinite(on.cap_bps(of_host, gpu)));
  EXPECT_TRUE(off.second_crossing(cable).is_none()) << "a NIC's port is no PCIe cable";
}

TEST(AnyNic, LetsAGpuUseAllNicsOfItsHost) {
  const auto own = two_servers("2");
  const auto any = two_servers("2", "any");
  const auto time_of = [](const Topology& topology, const char* routing, const char* queue_pairs) {
    const auto ends = topology.endpoints();
    const Outcome outcome = run(
        topology, settings_with({{"protocol", "none"}, {"routing", routing}, {"queue_pairs", queue_pairs}}),
        {{at(Duration::zero()), transfer(ends[0], ends[2], kBig, 1)}, {at(Duration::us(500)), transfer(ends[0], ends[2], 0, 2)}});
    // As far as to the GPU's own NIC: 1 us of WQE, 2 x (100 + 10) ns of cables, 500 ns in the
    // switch, 500 ns to receive.
    EXPECT_EQ(outcome.delivered.at(2), at(Duration::us(500) + Duration::ns(2'220)));
    return outcome.sent.at(1) - Time::zero() - Duration::ns(1'200);
  };
  // A NIC has 400 Gb/s: 100 us. Both have more than the GPU's PCIe cable of 512 Gb/s: 40 Mb take
  // 78.125 us.
  EXPECT_EQ(time_of(*own, "spray", "1"), Duration::us(100));
  EXPECT_EQ(time_of(*any, "spray", "1"), Duration::ns(78'125));
  EXPECT_EQ(time_of(*any, "ecmp", "1"), Duration::us(100)) << "a hashed flow takes one NIC at each end";
  EXPECT_LT(time_of(*any, "ecmp", "16"), Duration::us(100)) << "many queue pairs take both";
}

TEST(SharedNics, ShareTheirRate) {
  // Both GPUs of a host send to the other host: through a NIC each, or through one.
  for (const auto& [nics, us] : {std::pair("2", 100), std::pair("1", 200)}) {
    const auto topology = two_servers(nics);
    const auto ends = topology->endpoints();
    const Outcome outcome = run(
        *topology, settings_with({{"protocol", "none"}}),
        {{at(Duration::zero()), transfer(ends[0], ends[2], kBig, 1)}, {at(Duration::zero()), transfer(ends[1], ends[3], kBig, 2)}});
    EXPECT_EQ(outcome.sent.at(1), at(Duration::us(us + 1) + Duration::ns(200))) << nics;
    EXPECT_EQ(outcome.sent.at(2), outcome.sent.at(1)) << nics;
  }
}

// Everything of an operation in switches waits for the member that comes last, and ends for all at
// once.
TEST(FlowFabric, AnOperationInSwitchesStartsWithItsSlowestMember) {
  const auto topology = star("4");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({{"protocol", "none"}});
  SwitchOperations operations(*topology, settings);
  const NodeId sum = operations.add(SwitchOperationKind::all_reduce, {ends[0], ends[1], ends[2]}, NodeId::none(), 0).name;
  const std::vector<Planned> script = {{at(Duration::us(5)), transfer(ends[0], sum, kMegabit, 5)},
                                       {at(Duration::us(20)), transfer(ends[1], sum, kMegabit, 5)},
                                       {at(Duration::us(2)), transfer(ends[2], sum, kMegabit, 5)}};
  const Outcome outcome = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, &operations);
  // The last enters at 21 us; 10 us later all has moved; up 10 ns of cable and 500 ns in the
  // switch, down 10 ns, 500 ns to receive.
  ASSERT_EQ(outcome.results.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outcome.results.at({5, ends[i]}), at(Duration::ns(31'000 + 10 + 500 + 10 + 500))) << i;
  // Alone it takes what the wait for the others leaves: the slowdown is 1 for each.
  ASSERT_EQ(outcome.finished.size(), 3U);
  for (const FinishedTransfer& finished : outcome.finished) {
    EXPECT_EQ(finished.end - finished.start, finished.ideal);
    EXPECT_EQ(topology->node(finished.transfer.destination).kind, NodeKind::packet_switch);
  }
  EXPECT_EQ(outcome.counters.transfers_started, 3U);
  EXPECT_EQ(outcome.counters.transfers_finished, 3U);
  EXPECT_EQ(outcome.counters.flows_started, 1U);
  EXPECT_EQ(outcome.counters.payload_bytes, Bytes::of(3 * kMegabit));
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(outcome.links[i].bytes, Bytes::of(i < 6 ? kMegabit : 0)) << i;
}

// The member with the smallest endpoint once decided for all.
TEST(FlowFabric, TheHighestPriorityOfItsMembersIsThatOfAnOperation) {
  const auto topology = star("4");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({{"protocol", "none"}});
  for (const int first : {0, 1}) {
    SwitchOperations operations(*topology, settings);
    const NodeId one = operations.add(SwitchOperationKind::all_reduce, {ends[0], ends[1]}, NodeId::none(), 0).name;
    std::vector<Planned> script;
    for (int member = 0; member < 2; ++member) {
      Transfer urgent = transfer(ends[member], one, kMegabit, 1);
      urgent.priority = member == first ? 5 : 0;
      script.push_back({at(Duration::zero()), urgent});
      script.push_back({at(Duration::zero()), transfer(ends[member], one, kMegabit, 2)});
    }
    const Outcome outcome = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, &operations);
    // 10 us at the full rate for the one, then as long for the other.
    const Duration way = Duration::ns(10 + 500 + 10 + 500);
    EXPECT_EQ(outcome.results.at({1, ends[0]}), at(Duration::us(11) + way)) << first;
    EXPECT_EQ(outcome.results.at({2, ends[0]}), at(Duration::us(21) + way)) << first;
  }
}

TEST(FlowFabric, OperationsInSwitchesShareLinksMaxMin) {
  const auto topology = star("4");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({{"protocol", "none"}});
  SwitchOperations operations(*topology, settings);
  const NodeId small = operations.add(SwitchOperationKind::all_reduce, {ends[0], ends[1]}, NodeId::none(), 0).name;
  const NodeId large = operations.add(SwitchOperationKind::all_reduce, {ends[1], ends[2]}, NodeId::none(), 0).name;
  const std::vector<Planned> script = {{at(Duration::zero()), transfer(ends[0], small, kMegabit, 1)},
                                       {at(Duration::zero()), transfer(ends[1], small, kMegabit, 1)},
                                       {at(Duration::zero()), transfer(ends[1], large, 2 * kMegabit, 2)},
                                       {at(Duration::zero()), transfer(ends[2], large, 2 * kMegabit, 2)},
                                       {at(Duration::zero()), transfer(ends[3], ends[2], kMegabit, 3)}};
  const Outcome outcome = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, &operations);
  // From 1 us on both operations cross the second host's cable at half of its rate, and the
  // transfer takes the other half of the third's: it and the small operation end 20 us later, when
  // half of the large one is done. The rest takes 10 us at the full rate.
  const Duration way = Duration::ns(10 + 500 + 10 + 500);
  EXPECT_EQ(outcome.results.at({1, ends[0]}), at(Duration::us(21) + way));
  EXPECT_EQ(outcome.delivered.at(3), at(Duration::us(21) + way));
  EXPECT_EQ(outcome.results.at({2, ends[1]}), at(Duration::us(31) + way));
}

TEST(FlowFabric, OperationsInSwitchesOfNothingTakeLatencyAlone) {
  const auto topology = star("2");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({});
  SwitchOperations operations(*topology, settings);
  const NodeId root = ends[1];
  const NodeId cast = operations.add(SwitchOperationKind::broadcast, {ends[0], ends[1]}, root, 0).name;
  const std::vector<Planned> script = {{at(Duration::zero()), transfer(ends[0], cast, 0, 1)},
                                       {at(Duration::us(1)), transfer(ends[1], cast, 0, 1)},
                                       {at(Duration::us(9)), transfer(ends[1], cast, 0, 2)}};
  const Outcome outcome = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, &operations);
  EXPECT_EQ(outcome.results.at({1, ends[0]}), at(Duration::ns(2'000 + 10 + 500 + 10 + 500)));
  EXPECT_EQ(outcome.results.at({1, ends[1]}), at(Duration::ns(2'000 + 200))) << "the root hears that its data has left";
  EXPECT_EQ(outcome.results.size(), 2U) << "an operation that one has not joined waits";
  EXPECT_TRUE(outcome.unfinished.empty());
}

TEST(FlowFabric, AnOperationInSwitchesOverALinkWithoutCapacityIsReported) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({});
  SwitchOperations operations(*topology, settings);
  const NodeId sum = operations.add(SwitchOperationKind::all_reduce, {ends[0], ends[1]}, NodeId::none(), 0).name;
  std::vector<double> capacities = link_capacities_bps(*topology);
  const LinkId dead = topology->out_links(ends[1])[0];
  capacities[dead.index()] = 0;
  const Outcome outcome = run(*topology, settings,
                              {{Time::zero(), transfer(ends[0], sum, kMegabit, 4)},
                               {Time::zero(), transfer(ends[1], sum, kMegabit, 4)},
                               {Time::zero(), transfer(ends[2], ends[0], kMegabit, 5)}},
                              policy_called("max_min", capacities), 1, PartitionAutomatic{}, &operations);
  EXPECT_TRUE(outcome.delivered.contains(5));
  EXPECT_TRUE(outcome.results.empty());
  ASSERT_EQ(outcome.unfinished.size(), 1U) << "one for all members";
  EXPECT_EQ(outcome.unfinished[0].transfer.source, ends[0]);
  EXPECT_EQ(topology->node(outcome.unfinished[0].transfer.destination).kind, NodeKind::packet_switch);
  EXPECT_EQ(outcome.unfinished[0].stalled_at, dead);
}

// Who joins first, and on how many threads the run is, shows in no result.
TEST(FlowFabric, OperationsInSwitchesDoNotDependOnOrderOrThreads) {
  const auto topology = star("8");
  const auto ends = topology->endpoints();
  const FlowSettings settings = settings_with({});
  SwitchOperations operations(*topology, settings);
  std::vector<Planned> script;
  for (std::uint64_t group = 0; group < 4; ++group) {
    std::vector<NodeId> members;
    for (std::uint64_t k = 0; k < 5; ++k) members.push_back(ends[(group + k * k) % 8]);
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    const NodeId name = operations.add(SwitchOperationKind::reduce_scatter, members, NodeId::none(), 0).name;
    for (const NodeId member : members) script.push_back({at(Duration::us(1)), transfer(member, name, kMegabit, group)});
  }
  const Outcome first = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, &operations);
  for (const std::uint32_t threads : {2U, 8U}) {
    const Outcome other = run(*topology, settings, script, nullptr, threads, PartitionAutomatic{}, &operations);
    EXPECT_EQ(other.report.fingerprint.to_text(), first.report.fingerprint.to_text()) << threads;
  }
  std::reverse(script.begin(), script.end());
  EXPECT_EQ(run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, &operations).results, first.results);
}

// --- Cables that carry less ----------------------------------------------------------------------

/// Two hosts on a leaf each, joined by two spines; every cable has 100 Gb/s.
std::shared_ptr<const Topology> two_ways() {
  TopologyBuilder builder("two_ways");
  const HostId hosts[] = {builder.add_host(), builder.add_host()};
  const NodeId ends[] = {builder.add_endpoint(hosts[0], NodeKind::host), builder.add_endpoint(hosts[1], NodeKind::host)};
  const NodeId leaves[] = {builder.add_switch(1), builder.add_switch(1)};
  for (int i = 0; i < 2; ++i) builder.add_cable(ends[i], leaves[i], Bandwidth::gbps(100), Duration::ns(10));
  for (int spine = 0; spine < 2; ++spine) {
    const NodeId node = builder.add_switch(2);
    for (const NodeId leaf : leaves) builder.add_cable(leaf, node, Bandwidth::gbps(100), Duration::ns(10));
  }
  return std::move(builder).build(nullptr, {"test", 0, 0, 1, ""});
}

constexpr Bytes one_second_of_100_gbps = Bytes::of(12'500'000'000);

Planned long_transfer(const Topology& topology) {
  Transfer transfer;
  transfer.attempt = AttemptId::none();
  transfer.source = topology.endpoints()[0];
  transfer.destination = topology.endpoints()[1];
  transfer.tag = 1;
  transfer.size = one_second_of_100_gbps;
  return {Time::zero(), transfer};
}

/// One queue pair, hashed, and no headers.
FlowSettings plain_settings(const char* routing = "ecmp") {
  return settings_with({{"queue_pairs", "1"}, {"routing", routing}, {"protocol", "none"}});
}

LinkId crossed_by_first(const Topology& topology, const FlowSettings& settings) {
  return ecmp_path(topology, settings.path_rule, topology.endpoints()[0], topology.endpoints()[1], 0, 0)[1];
}

// A transfer of a second. Its cable is out from 300 ms on, and the network takes other ways 200 ms
// later: it ends 200 ms later than it would, over the other spine. Where routing takes longer than
// the repair at 450 ms, it waits for that, and its way stays the same.
TEST(CablesThatFail, FlowsStandStillUntilRoutesChange) {
  const auto topology = two_ways();
  for (const char* routing : {"ecmp", "static"}) {
    const FlowSettings settings = plain_settings(routing);
    const std::vector<Planned> script = {long_transfer(*topology)};
    const Outcome whole = run(*topology, settings, script);
    LinkId cable = LinkId::none();
    for (std::uint32_t link = 0; link < topology->link_count(); ++link) {
      const Link& one = topology->link(LinkId(link));
      const bool leads_up = topology->node(one.source).level == 1 && topology->node(one.destination).level == 2;
      if (leads_up && whole.links[link].bytes > Bytes::zero()) cable = LinkId(link);
    }
    ASSERT_FALSE(cable.is_none());
    const Time at = Time::zero() + Duration::ms(300);
    const auto with = [&](std::vector<std::pair<Time, CableChanges>> changes, Duration reroute) {
      return run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr, {}, changes, reroute);
    };
    const Outcome other_way = with({{at, {cable, 0}}}, Duration::ms(200));
    EXPECT_EQ(other_way.delivered.at(1) - whole.delivered.at(1), Duration::ms(200)) << routing;
    const Bytes first = other_way.links[cable.index()].bytes;
    // Within the first 300 ms, but for the latency of the work queue.
    EXPECT_NEAR(static_cast<double>(first.count()), 0.3 * 12.5e9, 1e5) << routing;
    Bytes over_spines;
    for (std::uint32_t link = 0; link < topology->link_count(); ++link) {
      if (topology->node(topology->link(LinkId(link)).source).level == 1 &&
          topology->node(topology->link(LinkId(link)).destination).level == 2)
        over_spines += other_way.links[link].bytes;
    }
    EXPECT_EQ(over_spines, whole.links[cable.index()].bytes) << routing;

    const Time back = at + Duration::ms(150);
    const Outcome flap = with({{at, {cable, 0}}, {back, {cable, 1}}}, Duration::ms(200));
    EXPECT_EQ(flap.delivered.at(1) - whole.delivered.at(1), Duration::ms(150)) << routing;
    EXPECT_EQ(flap.links[cable.index()].bytes, whole.links[cable.index()].bytes) << routing;

    // Half of the speed from 300 ms to 700 ms costs 200 ms.
    const Outcome degraded = with({{at, {topology->reverse(cable), 0.5}}, {at + Duration::ms(400), {cable, 1}}}, Duration::zero());
    EXPECT_EQ(degraded.delivered.at(1) - whole.delivered.at(1), Duration::ms(200)) << routing;
    // Out from 300 ms to 600 ms, other ways from 400 ms to 700 ms: back where it was in the end,
    // for the last 200 ms.
    const Outcome there_and_back = with({{at, {cable, 0}}, {at + Duration::ms(300), {cable, 1}}}, Duration::ms(100));
    EXPECT_EQ(there_and_back.delivered.at(1) - whole.delivered.at(1), Duration::ms(100)) << routing;
    EXPECT_NEAR(static_cast<double>(there_and_back.links[cable.index()].bytes.count()), 0.7 * 12.5e9, 1e6) << routing;
  }
}

// A second transfer waits for the first, which goes on over the other spine after 200 ms; then it
// takes that way as well.
TEST(CablesThatFail, WhatWaitsTakesTheOtherWay) {
  const auto topology = two_ways();
  const FlowSettings settings = plain_settings();
  std::vector<Planned> script = {long_transfer(*topology), long_transfer(*topology)};
  script[0].transfer.attempt = script[1].transfer.attempt = AttemptId(0);
  script[1].transfer.tag = 2;
  const Outcome whole = run(*topology, settings, script);
  EXPECT_EQ(whole.delivered.at(2) - whole.delivered.at(1), Duration::s(1));
  const LinkId cable = crossed_by_first(*topology, settings);
  const Outcome other_way = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr, {},
                                {{at(Duration::ms(300)), {cable, 0}}}, Duration::ms(200));
  EXPECT_EQ(other_way.delivered.at(1) - whole.delivered.at(1), Duration::ms(200));
  EXPECT_EQ(other_way.delivered.at(2) - whole.delivered.at(2), Duration::ms(200));
  EXPECT_NEAR(static_cast<double>(other_way.links[cable.index()].bytes.count()), 0.3 * 12.5e9, 1e5);
}

// Sprayed over two spines at 50 Gb/s each; when one is out, all stands still, as each of its parts
// does; then all goes over the other.
TEST(CablesThatFail, SprayedFlowsNarrow) {
  const auto topology = two_ways();
  const FlowSettings settings = plain_settings("spray");
  const std::vector<Planned> script = {long_transfer(*topology)};
  const Outcome whole = run(*topology, settings, script);
  const LinkId cable = crossed_by_first(*topology, plain_settings());
  const Outcome outcome = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr, {},
                              {{Time::zero() + Duration::ms(300), {cable, 0}}}, Duration::ms(200));
  EXPECT_EQ(outcome.delivered.at(1) - whole.delivered.at(1), Duration::ms(200));
  EXPECT_NEAR(static_cast<double>(outcome.links[cable.index()].bytes.count()), 0.15 * 12.5e9, 1e5);
}

// The only cable of a host: nothing goes on before it is repaired, whatever routing does meanwhile.
TEST(CablesThatFail, WithoutAnotherWayTransfersWait) {
  const auto topology = two_ways();
  const FlowSettings settings = plain_settings();
  const std::vector<Planned> script = {long_transfer(*topology)};
  const Outcome whole = run(*topology, settings, script);
  const LinkId cable = topology->out_links(topology->endpoints()[1]).front();
  const std::vector<std::pair<Time, CableChanges>> changes = {{Time::zero() + Duration::ms(300), {cable, 0}},
                                                              {Time::zero() + Duration::s(5), {cable, 1}}};
  const Outcome waits = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr, {}, changes, Duration::ms(200));
  EXPECT_EQ(waits.delivered.at(1) - whole.delivered.at(1), Duration::ms(4700));
  const Outcome stuck = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr, {}, {changes.front()});
  ASSERT_EQ(stuck.unfinished.size(), 1U);
  EXPECT_EQ(stuck.unfinished.front().stalled_at, topology->reverse(cable));
}

// Whatever fails and comes back: every transfer ends, all bytes are counted on the last link of
// each, and threads change nothing.
TEST(CablesThatFail, RandomFailures) {
  const auto topology = built("fat_tree", {{"k", "4"}});
  for (const char* routing : {"ecmp", "spray", "static", "adaptive", "adaptive_global"}) {
    for (std::uint32_t seed = 0; seed < (WEFT_SANITIZED ? 2 : 4); ++seed) {
      RandomStream random(seed, 1, 2);
      const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); };
      const auto endpoints = topology->endpoints();
      std::vector<Planned> script;
      std::map<NodeId, Bytes> to;
      for (std::uint32_t i = 0; i < 60; ++i) {
        Planned planned = long_transfer(*topology);
        planned.start = Time::zero() + Duration::us(below(2000));
        const std::uint32_t source = below(static_cast<std::uint32_t>(endpoints.size()));
        const std::uint32_t step = 1 + below(static_cast<std::uint32_t>(endpoints.size()) - 1);
        planned.transfer.source = endpoints[source];
        planned.transfer.destination = endpoints[(source + step) % endpoints.size()];
        planned.transfer.connection = i;
        planned.transfer.tag = i;
        planned.transfer.size = Bytes::of(1 + below(20'000'000));
        to[planned.transfer.destination] += planned.transfer.size;
        script.push_back(planned);
      }
      std::vector<std::pair<Time, CableChanges>> changes;
      for (int i = 0; i < 20; ++i) {
        const LinkId cable(2 * below(static_cast<std::uint32_t>(topology->link_count()) / 2));
        const Time at = Time::zero() + Duration::us(below(3000));
        changes.emplace_back(at, CableChanges{cable, below(3) == 0 ? 0.25 : 0.0});
        changes.emplace_back(at + Duration::us(1 + below(2000)), CableChanges{cable, 1});
      }
      // A cable may fail while it is out; in the end all are back.
      for (std::uint32_t link = 0; link < topology->link_count(); link += 2)
        changes.emplace_back(Time::zero() + Duration::ms(6), CableChanges{LinkId(link), 1});
      const FlowSettings settings =
          settings_with({{"queue_pairs", seed % 2 == 0 ? "1" : "3"}, {"routing", routing}, {"protocol", "none"}});
      std::string fingerprint;
      for (const std::uint32_t threads : {1U, 2U, 4U}) {
        const Outcome outcome = run(*topology, settings, script, nullptr, threads, PartitionAutomatic{}, nullptr, {}, changes,
                                    Duration::us(100 + 300 * (seed % 2)));
        SCOPED_TRACE(fmt::format("{}, seed {}", routing, seed));
        EXPECT_EQ(outcome.delivered.size(), script.size());
        EXPECT_TRUE(outcome.unfinished.empty());
        if (fingerprint.empty()) fingerprint = outcome.report.fingerprint.to_text();
        EXPECT_EQ(outcome.report.fingerprint.to_text(), fingerprint) << threads;
        for (const auto& [endpoint, bytes] : to) {
          Bytes counted;
          for (const LinkId link : topology->out_links(endpoint)) counted += outcome.links[topology->reverse(link).index()].bytes;
          EXPECT_EQ(counted, bytes);
        }
      }
    }
  }
}

// --- Packets on the same links -------------------------------------------------------------------

/// Of links that a host sends by.
std::vector<std::pair<Time, Bandwidth>> loads_from(const Topology& topology, HostId host, const Outcome& outcome) {
  std::vector<std::pair<Time, Bandwidth>> loads;
  for (const auto& [time, load] : outcome.loads) {
    if (topology.node(topology.link(load.link).source).host == host) loads.emplace_back(time, load.load);
  }
  return loads;
}

// 1 ms of data from host 0 to host 1. Packets of host 0 to host 2 are under way from 200 us to 600
// us, when they have half of the card: 200 us more. What they stand for is counted nowhere, and is
// unfinished for nobody.
TEST(FlowsBesidePackets, HaveTheirShare) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  const FlowSettings settings = plain_settings();
  const std::vector<Planned> script = {{Time::zero(), transfer(ends[0], ends[1], 100 * kMegabit, 1)}};
  const Transfer packets = transfer(ends[0], ends[2], 7, 2);
  const auto with = [&](const std::vector<PacketsNews>& news, const std::vector<std::pair<Time, AttemptId>>& stops = {}) {
    return run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr, stops, {}, Duration::zero(), news);
  };
  const Outcome alone = run(*topology, settings, script);
  const Time from = at(Duration::us(200));
  const Time until = at(Duration::us(600));
  const Outcome beside = with({{from, packets_start, packets}, {until, packets_end, packets}});
  EXPECT_EQ(beside.delivered.at(1) - alone.delivered.at(1), Duration::us(200));
  const Time enters = at(settings.wqe_latency);
  const auto gbps = [](std::int64_t rate) { return Bandwidth::gbps(rate); };
  EXPECT_EQ(loads_from(*topology, HostId(0), beside),
            (std::vector<std::pair<Time, Bandwidth>>{
                {enters, gbps(100)}, {from, gbps(50)}, {until, gbps(100)}, {enters + Duration::us(1200), gbps(0)}}));
  EXPECT_EQ(beside.counters.transfers_started, 1U);
  for (std::uint32_t link = 0; link < topology->link_count(); ++link) EXPECT_EQ(beside.links[link].bytes, alone.links[link].bytes);
  // Packets without an end, and two transfers alike, of which one ends: one after the other on one
  // queue pair they have a half from 200 us on. So the 800 us that are left, and the latency at the
  // start, take twice as long.
  const Outcome twice = with({{from, packets_start, packets}, {from, packets_start, packets}, {until, packets_end, packets}});
  EXPECT_EQ(twice.delivered.at(1) - alone.delivered.at(1), Duration::us(800) + settings.wqe_latency);
  // On two: a third for 400 us, which costs 266.7, and a half from then on: the 666.7 us and the
  // latency that are left take twice as long.
  Transfer other = packets;
  other.connection = 1;
  const Outcome on_two = with({{from, packets_start, packets}, {from, packets_start, other}, {until, packets_end, packets}});
  EXPECT_NEAR((on_two.delivered.at(1) - alone.delivered.at(1)).in_s(), (800e-6 + 2000e-6) / 3 + settings.wqe_latency.in_s(), 1e-10);
  EXPECT_TRUE(twice.unfinished.empty());
}

// The attempt of the packets is stopped at 600 us, and what its cards say later changes nothing.
TEST(FlowsBesidePackets, EndWithTheirAttempt) {
  const auto topology = star("3");
  const auto ends = topology->endpoints();
  const FlowSettings settings = plain_settings();
  const std::vector<Planned> script = {{Time::zero(), transfer(ends[0], ends[1], 100 * kMegabit, 1)}};
  Transfer packets = transfer(ends[0], ends[2], 7, 2);
  packets.attempt = AttemptId(5);
  const Outcome alone = run(*topology, settings, script);
  const Outcome beside = run(*topology, settings, script, nullptr, 1, PartitionAutomatic{}, nullptr,
                             {{at(Duration::us(600)), AttemptId(5)}}, {}, Duration::zero(),
                             {{at(Duration::us(200)), packets_start, packets},
                              {at(Duration::us(700)), packets_end, packets},
                              {at(Duration::us(800)), packets_start, packets}});
  EXPECT_EQ(beside.delivered.at(1) - alone.delivered.at(1), Duration::us(200));
}

}  // namespace
}  // namespace weft::flow_fabric_test
