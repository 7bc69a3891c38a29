// SPDX-License-Identifier: Apache-2.0
// Packet switches against what can be worked out by hand: times to the tick, shares, pauses and
// when they come, marks, drops; and one fingerprint however a fabric is cut and run.
#include "network/packet/packet_switch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "core/values/random.hpp"
#include "tests/determinism/fingerprint_matrix.hpp"
#include "tests/network/packet/packet_traffic.hpp"

namespace weft::packet_switch_test {
namespace {

using traffic::Endpoint;
using traffic::Fabric;
using traffic::FatTree;

constexpr Duration kDelay = Duration::ticks(50'000);     // 500 ns
constexpr Duration kPipeline = Duration::ticks(40'000);  // 400 ns
const Bandwidth kRate = Bandwidth::gbps(100);            // 8 ticks per byte

PacketSwitchSettings lossless_settings() {
  PacketSwitchSettings settings;
  settings.buffer = {16'000'000, 4096, 3072, 0.125};
  settings.classes = {{true, false, 0}};
  settings.largest_packet = Bytes::of(1000);
  settings.seed = 1;
  return settings;
}

Duration serialization(std::int64_t bytes, Bandwidth rate = kRate) { return transmit_time(Bytes::of(bytes), rate); }

/// `senders` endpoints and one receiver, the last, on one switch. Queue pair 0 of each sender leads
/// to the receiver.
struct Star {
  explicit Star(std::uint32_t sender_count, Bandwidth rate = kRate)
      : senders(sender_count), fabric(sender_count + 1), hub(fabric.add_switch()) {
    fabric.switching_delay = kPipeline;
    for (std::uint32_t i = 0; i <= senders; ++i) fabric.connect(i, hub, rate, kDelay);
    for (std::uint32_t i = 0; i < senders; ++i) {
      QueuePairs::Route route{};
      route.there[1] = static_cast<std::uint16_t>(senders);
      route.back[1] = static_cast<std::uint16_t>(i);
      queue_pairs.push_back(fabric.routes.open(i, 0, route));
    }
  }
  std::vector<std::vector<Endpoint::Stream>> streams(std::uint32_t packets, std::uint16_t wire_bytes) const {
    std::vector<std::vector<Endpoint::Stream>> all(senders + 1);
    for (std::uint32_t i = 0; i < senders; ++i) all[i].push_back({queue_pairs[i], packets, wire_bytes, 0, Time::zero()});
    return all;
  }
  std::uint32_t senders;
  Fabric fabric;
  std::uint32_t hub;
  std::vector<std::uint32_t> queue_pairs;
};

const PacketSwitch& switch_at(const Engine& engine, std::uint32_t node) { return engine.entity_as<PacketSwitch>(EntityId(node)); }
const Endpoint& endpoint_at(const Engine& engine, std::uint32_t node) { return engine.entity_as<Endpoint>(EntityId(node)); }

// Expectation: n packets of b bytes back to back take n s on the first link (s = 8 b / rate); the
// last then crosses every further link on its own: h s + h delay + (h - 1) pipeline in all for h
// links, beyond the (n - 1) s before it.
TEST(PacketSwitch, OneFlowAtLineRateTakesStoreAndForwardTimeToTheTick) {
  for (const std::int64_t gbps : {100, 400, 23}) {
    const Bandwidth rate = Bandwidth::gbps(gbps);
    FatTree tree(4, rate, kDelay);
    tree.switching_delay = kPipeline;
    std::vector<std::vector<Endpoint::Stream>> streams(tree.hosts());
    constexpr std::uint32_t kPackets = 1000;
    constexpr std::int64_t kBytes = 4178;
    streams[0].push_back({tree.open(0, 0, 15, 2), kPackets, kBytes, 0, Time::zero()});
    Engine engine = tree.build(lossless_settings(), streams, {});
    engine.run({});
    ASSERT_EQ(tree.hops(0, 15), 6U);
    // A rate that ticks do not divide: the whole burst is rounded up once at the first port; each
    // further packet arrives no earlier than it can go.
    const Duration burst = serialization(kBytes * kPackets, rate);
    const Duration alone = 5 * serialization(kBytes, rate) + 6 * kDelay + 5 * kPipeline;
    const std::int64_t beyond = (endpoint_at(engine, 15).last_data() - Time::zero() - burst - alone).in_ticks();
    EXPECT_EQ(endpoint_at(engine, 15).data_received(), kPackets);
    if (gbps == 23) {
      EXPECT_LE(std::abs(beyond), 5) << "one tick of rounding per switch";
    } else {
      EXPECT_EQ(beyond, 0);
    }
  }
}

// Expectation: two senders of n packets each into one link: 2 n packets back to back behind the
// first arrival, in turn.
TEST(PacketSwitch, TwoFlowsShareALinkInTurn) {
  Star star(2);
  Engine engine = star.fabric.build(lossless_settings(), star.streams(500, 1000), {}, 0, 0, true);
  engine.run({});
  const Endpoint& receiver = endpoint_at(engine, 2);
  ASSERT_EQ(receiver.data_received(), 1000U);
  const Duration first = 2 * serialization(1000) + 2 * kDelay + kPipeline;
  EXPECT_EQ(receiver.kept().front().time, Time::zero() + first);
  EXPECT_EQ(receiver.last_data(), Time::zero() + first + 999 * serialization(1000));
  // Equal times: the lower port goes first.
  for (std::size_t i = 0; i < receiver.kept().size(); ++i) {
    ASSERT_EQ(receiver.kept()[i].packet.queue_pair, star.queue_pairs[i % 2]) << "packet " << i;
  }
}

// Expectation: 64 senders at line rate. An account asks for a pause with the packet that takes it
// past reserved + alpha x (pool - taken): all 64 fill alike, so at bytes x with x = reserved +
// alpha (pool - 64 (x - reserved)), that is reserved + alpha pool / (1 + 64 alpha), one packet more
// or less. Nothing is lost and all arrives at the link's rate.
TEST(PacketSwitch, AnIncastFillsToTheThresholdAndLosesNothing) {
  constexpr std::uint32_t kSenders = 64;
  constexpr std::uint32_t kPackets = 600;
  Star star(kSenders);
  const PacketSwitchSettings settings = lossless_settings();
  Engine engine = star.fabric.build(settings, star.streams(kPackets, 1000), {});
  engine.run({});
  const Endpoint& receiver = endpoint_at(engine, kSenders);
  EXPECT_EQ(receiver.data_received(), std::uint64_t{kSenders} * kPackets);
  // The bottleneck never idles: pauses end before the queue does.
  const Duration first = 2 * serialization(1000) + 2 * kDelay + kPipeline;
  EXPECT_EQ(receiver.last_data(), Time::zero() + first + (std::int64_t{kSenders} * kPackets - 1) * serialization(1000));
  const double threshold = 4096 + 0.125 * 16e6 / (1 + 64 * 0.125);
  // What was on its way when the pauses were asked for comes on top: pause frame, two propagation
  // delays, a packet at either end.
  const auto peak = static_cast<double>(switch_at(engine, star.hub).counters(kSenders, Time::max()).queue_peak) / kSenders;
  const double on_the_way = static_cast<double>(headroom_bytes(kRate, 2 * kDelay + kPipeline, Bytes::of(1000), 1).count());
  EXPECT_GT(peak, threshold - 1000);
  EXPECT_LT(peak, threshold + on_the_way);
  for (std::uint32_t i = 0; i < kSenders; ++i) {
    EXPECT_EQ(switch_at(engine, star.hub).counters(i, Time::max()).drops, 0U);
    EXPECT_GE(endpoint_at(engine, i).pauses(), 1U);
  }
}

/// A star whose hub's ports change.
Engine star_with_changes(Star& star, std::uint32_t packets, const std::vector<std::pair<Time, PortChanges>>& changes) {
  EngineBuilder builder;
  const auto streams = star.streams(packets, 1000);
  star.fabric.add_to(builder, lossless_settings(), [&](std::uint32_t node, const EgressPort& port) {
    auto endpoint = std::make_unique<Endpoint>(port);
    for (const Endpoint::Stream& stream : streams[node]) endpoint->add(stream);
    return endpoint;
  });
  for (std::uint32_t node = 0; node < star.senders; ++node)
    builder.post_initial(EntityId(node), Time::zero(), EventClass::message, 0);
  for (const auto& [at, change] : changes) builder.post_initial(EntityId(star.hub), at, EventClass::message, port_changes, change);
  return std::move(builder).build({});
}

// Expectation: 80 ns per packet, so that packets whose first bit would leave from 10 us to 30 us
// are lost: of the sender's those that arrive at the hub in that time, as none waits. The first is
// there at 80 + 500 + 400 ns; number i at 80 i ns after that.
TEST(PacketSwitch, APortWhoseCableIsOutDropsWhatComesForIt) {
  Star star(1);
  const Time out = Time::zero() + Duration::us(10);
  const Time back = Time::zero() + Duration::us(30);
  Engine engine = star_with_changes(star, 1000, {{out, {1, 0}}, {back, {1, kRate.in_bps()}}});
  engine.run({});
  const Time first = Time::zero() + serialization(1000) + kDelay + kPipeline;
  std::uint64_t lost = 0;
  for (int i = 0; i < 1000; ++i) lost += first + i * serialization(1000) >= out && first + i * serialization(1000) < back ? 1 : 0;
  EXPECT_EQ(lost, 250U);
  EXPECT_EQ(endpoint_at(engine, 1).data_received(), 1000 - lost);
  EXPECT_EQ(switch_at(engine, star.hub).counters(0, Time::max()).drops, lost);
}

// Expectation: 64 senders wait for pauses to end. The cable of the first is out while it is let go,
// so that it does not hear of it; it does when the cable is back, and sends the rest.
TEST(PacketSwitch, PausesAreToldAnewWhenACableIsBack) {
  constexpr std::uint32_t kSenders = 64;
  constexpr std::uint32_t kPackets = 600;
  Star star(kSenders);
  // The packets take 3.07 ms.
  const Time out = Time::zero() + Duration::us(200);
  const Time back = Time::zero() + Duration::ms(5);
  Engine engine = star_with_changes(star, kPackets, {{out, {0, 0}}, {back, {0, kRate.in_bps()}}});
  engine.run({.until = back, .interrupt = nullptr, .progress = {}});
  EXPECT_EQ(switch_at(engine, star.hub).counters(kSenders, back).queue, 0U);
  EXPECT_LT(endpoint_at(engine, 0).data_sent(), kPackets);
  engine.run({});
  EXPECT_EQ(endpoint_at(engine, 0).data_sent(), kPackets);
  EXPECT_EQ(endpoint_at(engine, kSenders).data_received(), std::uint64_t{kSenders} * kPackets);
}

// A queue that waits when the cable goes out is dropped, and lets go of whom it made wait.
TEST(PacketSwitch, AQueueIsDroppedWithItsCable) {
  constexpr std::uint32_t kSenders = 64;
  constexpr std::uint32_t kPackets = 600;
  Star star(kSenders);
  const Time out = Time::zero() + Duration::us(200);
  Engine engine = star_with_changes(star, kPackets, {{out, {kSenders, 0}}});
  engine.run({.until = out, .interrupt = nullptr, .progress = {}});
  EXPECT_GT(switch_at(engine, star.hub).counters(kSenders, out).queue, 100'000U);
  engine.run({});
  const PacketSwitch& hub = switch_at(engine, star.hub);
  EXPECT_EQ(hub.counters(kSenders, Time::max()).queue, 0U);
  std::uint64_t drops = 0;
  for (std::uint32_t i = 0; i < kSenders; ++i) {
    EXPECT_EQ(endpoint_at(engine, i).data_sent(), kPackets);
    drops += hub.counters(i, Time::max()).drops;
  }
  EXPECT_EQ(drops + endpoint_at(engine, kSenders).data_received(), std::uint64_t{kSenders} * kPackets);
}

// Expectation: a lone sender into a link of a quarter of its rate. The account grows by 3/4 of the
// rate; at the threshold x the pause goes out, to take effect after its own serialization (nothing
// is in its way) and the propagation delay.
TEST(PacketSwitch, APauseComesWhenTheAccountPassesItsThreshold) {
  Fabric fabric(2);
  const std::uint32_t hub = fabric.add_switch();
  fabric.connect(0, hub, Bandwidth::gbps(100), kDelay);
  fabric.connect(1, hub, Bandwidth::gbps(25), kDelay);
  QueuePairs::Route route{};
  route.there[1] = 1;
  const std::uint32_t queue_pair = fabric.routes.open(0, 0, route);
  PacketSwitchSettings settings = lossless_settings();
  settings.buffer = {1'000'000, 0, 3000, 0.5};  // x = 0.5 (1,000,000 - x): 333,333
  std::vector<std::vector<Endpoint::Stream>> streams(2);
  streams[0].push_back({queue_pair, 2000, 1000, 0, Time::zero()});
  Engine engine = fabric.build(settings, streams, {});
  // Packet n (from 1) is in after n s + delay, and then floor((n - 1) / 4) + 1 have begun to leave
  // (the first at once, the next every 4 s), the n-th among them if 4 divides n - 1. Charged is n
  // minus those that began before it came. The pause answers the first n with more than 333.
  std::int64_t n = 1;
  while ((n - ((n - 2) / 4 + 1)) * 1000 <= 333'333) ++n;
  const Time asked = Time::zero() + n * serialization(1000) + kDelay;
  const Time arrives = asked + serialization(pfc_frame_wire_bytes) + kDelay;
  engine.run({.until = arrives, .interrupt = nullptr, .progress = {}});
  EXPECT_EQ(endpoint_at(engine, 0).pauses(), 0U);
  EXPECT_EQ(switch_at(engine, hub).pauses_sent(), 1U);
  engine.run({.until = arrives + Duration::ticks(1), .interrupt = nullptr, .progress = {}});
  EXPECT_EQ(endpoint_at(engine, 0).pauses(), 1U);
  // What the sender had begun when the pause arrived still goes out, the packet after it does not.
  const std::int64_t begun = (arrives - Time::zero()).in_ticks() / serialization(1000).in_ticks() + 1;
  EXPECT_EQ(endpoint_at(engine, 0).data_sent(), static_cast<std::uint64_t>(begun));
  engine.run({});
  EXPECT_EQ(endpoint_at(engine, 1).data_received(), 2000U);
}

// Expectation: three switches in a row to a receiver of a tenth of the rate: the one before the
// receiver pauses its upstream first, that one the next when it is full in turn, and at last the
// sender.
TEST(PacketSwitch, PausesSpreadHopByHop) {
  Fabric fabric(2);
  fabric.switching_delay = kPipeline;
  std::vector<std::uint32_t> row;
  for (int i = 0; i < 3; ++i) row.push_back(fabric.add_switch());
  fabric.connect(0, row[0], kRate, kDelay);
  fabric.connect(row[0], row[1], kRate, kDelay);
  fabric.connect(row[1], row[2], kRate, kDelay);
  fabric.connect(row[2], 1, Bandwidth::gbps(10), kDelay);
  QueuePairs::Route route{};
  route.there = {0, 1, 1, 1};
  PacketSwitchSettings settings = lossless_settings();
  settings.buffer.pool = 400'000;
  std::vector<std::vector<Endpoint::Stream>> streams(2);
  streams[0].push_back({fabric.routes.open(0, 0, route), 3000, 1000, 0, Time::zero()});
  Engine engine = fabric.build(settings, streams, {});
  std::vector<Time> first_pause(3, Time::max());
  for (Time until = Time::zero() + Duration::ns(200); until < Time::zero() + Duration::us(400); until = until + Duration::ns(200)) {
    engine.run({.until = until, .interrupt = nullptr, .progress = {}});
    for (std::size_t i = 0; i < 3; ++i) {
      if (switch_at(engine, row[i]).pauses_sent() > 0) first_pause[i] = std::min(first_pause[i], until);
    }
  }
  EXPECT_LT(first_pause[2], first_pause[1]);
  EXPECT_LT(first_pause[1], first_pause[0]);
  EXPECT_LT(first_pause[0], Time::max());
  engine.run({});
  EXPECT_EQ(endpoint_at(engine, 1).data_received(), 3000U);
  // The slow link never idled.
  const Duration way = serialization(1000) * 3 + 4 * kDelay + 3 * kPipeline;
  EXPECT_EQ(endpoint_at(engine, 1).last_data(), Time::zero() + way + 3000 * serialization(1000, Bandwidth::gbps(10)));
}

/// A switch by `fan_in` ports of which packets of 1,000 bytes come at once, every fan_in x step
/// from `first` on, and leave by one port of just their rate, the lowest port's first: nothing
/// waits for long until that port is paused.
struct Merging {
  Time first;
  Duration step;  ///< in which one leaves
  std::int64_t fan_in;

  /// How many have begun to leave before a pause comes.
  std::int64_t left(Time paused) const { return ((paused - first).in_ticks() - 1) / step.in_ticks() + 1; }
  /// When the account of each port asks for a pause then: with the packet that takes it past
  /// reserved + alpha x (pool - taken).
  std::vector<Time> asks(Time paused, const SharedBufferSettings& buffer) const {
    std::vector<Time> times(static_cast<std::size_t>(fan_in), Time::max());
    std::vector<std::int64_t> taken(times.size());
    for (std::int64_t round = left(paused) / fan_in; std::ranges::find(times, Time::max()) != times.end(); ++round) {
      for (std::int64_t port = 0; port < fan_in; ++port) {
        Time& time = times[static_cast<std::size_t>(port)];
        if (time != Time::max()) continue;
        const std::int64_t left_of_port = (left(paused) - 1 - port) / fan_in + 1;
        const std::int64_t bytes = 1000 * (round + 1 - left_of_port);
        if (bytes > threshold(buffer, std::accumulate(taken.begin(), taken.end(), std::int64_t{0}))) {
          time = first + round * fan_in * step;
        } else {
          taken[static_cast<std::size_t>(port)] = std::max<std::int64_t>(0, bytes - buffer.reserved);
        }
      }
    }
    return times;
  }
  static std::int64_t threshold(const SharedBufferSettings& buffer, std::int64_t taken) {
    return buffer.reserved + static_cast<std::int64_t>(buffer.alpha * static_cast<double>(buffer.pool - taken));
  }
};

// Expectation: 64 hosts of 50 Gb/s, 8 to a leaf, send to one at line rate. Leafs have 400 Gb/s to
// an aggregation switch, that has 3,200 Gb/s to the receiver's leaf, and only that one's link, of
// 50 Gb/s, is too slow. So the last leaf fills to its threshold and pauses the aggregation switch;
// this fills by its eight ports alike and pauses the leafs, and they the hosts. What is sent until
// a pause comes is what the next switch holds beyond its threshold. All of it to the tick and the
// byte.
TEST(PacketSwitch, AnIncastOf64PausesLevelByLevelWhenThresholdsArePassed) {
  constexpr std::int64_t kSenders = 64;
  constexpr std::int64_t kPackets = 600;
  const Bandwidth host_rate = Bandwidth::gbps(50);
  const Bandwidth leaf_rate = Bandwidth::gbps(400);
  const Bandwidth agg_rate = Bandwidth::gbps(3200);
  Fabric fabric(kSenders + 1);
  fabric.switching_delay = kPipeline;
  std::vector<std::uint32_t> leafs;
  for (int i = 0; i < 8; ++i) leafs.push_back(fabric.add_switch());
  const std::uint32_t agg = fabric.add_switch();
  const std::uint32_t last = fabric.add_switch();
  for (std::uint32_t i = 0; i < kSenders; ++i) fabric.connect(i, leafs[i / 8], host_rate, kDelay);
  for (const std::uint32_t leaf : leafs) fabric.connect(leaf, agg, leaf_rate, kDelay);
  fabric.connect(agg, last, agg_rate, kDelay);
  fabric.connect(last, kSenders, host_rate, kDelay);
  PacketSwitchSettings settings = lossless_settings();
  settings.buffer.pool = 2'000'000;
  std::vector<std::vector<Endpoint::Stream>> streams(kSenders + 1);
  for (std::uint32_t i = 0; i < kSenders; ++i) {
    QueuePairs::Route route{};
    route.there = {0, 8, 8, 1};
    streams[i].push_back({fabric.routes.open(i, 0, route), kPackets, 1000, 0, Time::zero()});
  }
  Engine engine = fabric.build(settings, streams, {});

  const Duration hop = kDelay + kPipeline;
  const Duration host_step = serialization(1000, host_rate);
  const Merging at_leaf = {Time::zero() + host_step + hop, serialization(1000, leaf_rate), 8};
  const Merging at_agg = {at_leaf.first + at_leaf.step + hop, serialization(1000, agg_rate), 8};
  const Time first_at_last = at_agg.first + at_agg.step + hop;
  // When the n-th packet (from 1) comes to the last leaf, one of every 64 before it has left, the
  // first at once.
  const auto waiting = [](std::int64_t n) { return n - (n < 2 ? 0 : (n - 2) / 64 + 1); };
  std::int64_t n = 1;
  while (1000 * waiting(n) <=
         Merging::threshold(settings.buffer, std::max<std::int64_t>(0, 1000 * (waiting(n) - 1) - settings.buffer.reserved)))
    ++n;
  const Time agg_paused = first_at_last + (n - 1) * at_agg.step + serialization(pfc_frame_wire_bytes, agg_rate) + hop;
  std::vector<Time> leaf_paused;
  std::vector<Time> host_paused;
  for (const Time asked : at_agg.asks(agg_paused, settings.buffer)) {
    leaf_paused.push_back(asked + serialization(pfc_frame_wire_bytes, leaf_rate) + hop);
    for (const Time asked_by_leaf : at_leaf.asks(leaf_paused.back(), settings.buffer))
      host_paused.push_back(asked_by_leaf + serialization(pfc_frame_wire_bytes, host_rate) + kDelay);
  }
  // With k accounts that fill alike, an account's x = reserved + alpha (pool - k (x - reserved)).
  const auto fill = [&](int accounts) { return 4096 + 0.125 * 2e6 / (1 + 0.125 * accounts); };
  EXPECT_NEAR(1000.0 * static_cast<double>(waiting(n)), fill(1), 1000);
  EXPECT_LT(agg_paused, std::ranges::min(leaf_paused));
  EXPECT_LT(std::ranges::max(leaf_paused), std::ranges::min(host_paused));

  std::vector<Time> times = host_paused;
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  for (const Time time : times) {
    for (const std::uint64_t has_come : {0U, 1U}) {
      engine.run({.until = time + Duration::ticks(has_come == 0 ? 0 : 1), .interrupt = nullptr, .progress = {}});
      for (std::uint32_t host = 0; host < kSenders; ++host) {
        if (host_paused[host] == time) {
          EXPECT_EQ(endpoint_at(engine, host).pauses(), has_come) << "host " << host;
        }
      }
    }
  }

  // All that was sent before the pauses has arrived, and nobody has let go.
  const Time now = times.back() + host_step + hop + Duration::ticks(1);
  engine.run({.until = now, .interrupt = nullptr, .progress = {}});
  const auto held = [](std::int64_t came, std::int64_t left) { return static_cast<std::uint64_t>(1000 * (came - left)); };
  EXPECT_EQ(switch_at(engine, last).pauses_sent(), 1U);
  EXPECT_EQ(switch_at(engine, last).counters(1, now).queue_peak, held(waiting(at_agg.left(agg_paused)), 0));
  const PacketPortCounters of_agg = switch_at(engine, agg).counters(8, now);
  EXPECT_EQ(switch_at(engine, agg).pauses_sent(), 8U);
  EXPECT_EQ(of_agg.paused, now - agg_paused);
  std::int64_t came_to_agg = 0;
  for (std::size_t i = 0; i < leafs.size(); ++i) {
    came_to_agg += at_leaf.left(leaf_paused[i]);
    std::int64_t came = 0;
    for (std::size_t host = 8 * i; host < 8 * (i + 1); ++host) {
      came += ((host_paused[host] - Time::zero()).in_ticks() - 1) / host_step.in_ticks() + 1;
    }
    const PacketPortCounters of_leaf = switch_at(engine, leafs[i]).counters(8, now);
    EXPECT_EQ(switch_at(engine, leafs[i]).pauses_sent(), 8U);
    EXPECT_EQ(of_leaf.paused, now - leaf_paused[i]) << "leaf " << i;
    EXPECT_EQ(of_leaf.queue_peak, held(came, at_leaf.left(leaf_paused[i]))) << "leaf " << i;
    EXPECT_GE(static_cast<double>(of_leaf.queue_peak), 8 * fill(8));
  }
  EXPECT_EQ(of_agg.queue_peak, held(came_to_agg, at_agg.left(agg_paused)));
  EXPECT_GE(static_cast<double>(of_agg.queue_peak), 8 * fill(8));

  // Nothing is lost, and the last link never idled.
  engine.run({});
  EXPECT_EQ(endpoint_at(engine, kSenders).data_received(), static_cast<std::uint64_t>(kSenders * kPackets));
  EXPECT_EQ(endpoint_at(engine, kSenders).last_data(), first_at_last + kSenders * kPackets * host_step + kDelay);
}

// Expectation: a queue held at q bytes marks with the curve's probability: between Kmin and Kmax
// four standard deviations of a binomial.
TEST(EcnMarker, MarksAsTheCurveSays) {
  const EcnCurve curve{100'000, 400'000, 0.2};
  EXPECT_EQ(curve.probability(100'000), 0);
  EXPECT_DOUBLE_EQ(curve.probability(250'000), 0.1);
  EXPECT_DOUBLE_EQ(curve.probability(400'000), 0.2);
  EXPECT_EQ(curve.probability(400'001), 1);
  for (const std::int64_t queue : {0, 100'000, 130'000, 250'000, 399'000, 400'001, 1'000'000}) {
    EcnMarker marker(curve, 42);
    constexpr int kDraws = 200'000;
    int marked = 0;
    for (int i = 0; i < kDraws; ++i) marked += marker.marks(queue) ? 1 : 0;
    const double expected = kDraws * curve.probability(queue);
    EXPECT_NEAR(marked, expected, 4 * std::sqrt(expected * (1 - curve.probability(queue))) + 1e-9) << queue;
  }
}

// Expectation: with Kmin = Kmax a packet is marked if and only if it finds more than Kmin waiting.
// Two senders fill the queue by one packet every s.
TEST(PacketSwitch, MarksPacketsThatFindALongQueue) {
  Star star(2);
  PacketSwitchSettings settings = lossless_settings();
  settings.classes = {{true, true, 0}};
  star.fabric.ecn = {50'000, 50'000, 1};
  Engine engine = star.fabric.build(settings, star.streams(200, 1000), {}, 0, 0, true);
  engine.run({});
  // At the k-th pair of arrivals, k - 1 packets wait beside the one under way, which left at this
  // instant only after both had come: the first finds k - 1, from k = 2 on, the second k.
  std::uint64_t expected = 0;
  for (int k = 1; k <= 200; ++k) {
    const int first_finds = k == 1 ? 0 : k - 1;
    const int second_finds = k == 1 ? 0 : k;
    expected += (first_finds * 1000 > 50'000 ? 1 : 0) + (second_finds * 1000 > 50'000 ? 1 : 0);
  }
  EXPECT_EQ(endpoint_at(engine, 2).marked(), expected);
  EXPECT_EQ(switch_at(engine, star.hub).counters(2, Time::max()).ecn_marks, expected);
}

// The same where marks are decided as packets leave, by what they leave behind. Of the two that
// come every 80 ns one goes on at once, so that after k of these steps k packets wait once it has
// gone: steps 51 to 200 mark it. Then the rest leaves: those that leave 199 to 51 behind are
// marked.
TEST(PacketSwitch, MayMarkPacketsAsTheyLeave) {
  Star star(2);
  PacketSwitchSettings settings = lossless_settings();
  settings.classes = {{true, true, 0}};
  settings.marks_at_dequeue = true;
  star.fabric.ecn = {50'000, 50'000, 1};
  Engine engine = star.fabric.build(settings, star.streams(200, 1000), {}, 0, 0, true);
  engine.run({});
  EXPECT_EQ(endpoint_at(engine, 2).marked(), 150U + 149U);
  EXPECT_EQ(switch_at(engine, star.hub).counters(2, Time::max()).ecn_marks, 150U + 149U);
}

// Expectation: each priority is marked by a curve of its own. The one that is strictly lower waits;
// its curve marks above 20 packets, that of the other above none, where it never waits for more
// than one packet.
TEST(PacketSwitch, PrioritiesHaveCurvesOfTheirOwn) {
  for (const bool is_swapped : {false, true}) {
    Fabric fabric(3);
    const std::uint32_t hub = fabric.add_switch();
    for (std::uint32_t i = 0; i < 3; ++i) fabric.connect(i, hub, kRate, kDelay);
    const EcnCurve at_20{20'000, 20'000, 1};
    const EcnCurve never{1'000'000, 1'000'000, 1};
    fabric.ecn_of_priority = is_swapped ? std::vector{never, at_20} : std::vector{at_20, never};
    std::vector<std::vector<Endpoint::Stream>> streams(3);
    for (std::uint32_t i = 0; i < 2; ++i) {
      QueuePairs::Route route{};
      route.there = {0, 2};
      streams[i].push_back({fabric.routes.open(i, 0, route), 200, 1000, static_cast<std::uint8_t>(i), Time::zero()});
    }
    PacketSwitchSettings settings = lossless_settings();
    settings.classes = {{true, true, 0}, {true, true, 0}};
    Engine engine = fabric.build(settings, streams, {});
    engine.run({});
    // One packet comes first; of those that follow, each finds all before it but that one waiting.
    EXPECT_EQ(endpoint_at(engine, 2).marked(), is_swapped ? 0U : 200U - 1 - 21);
  }
}

// The same with a lossy priority that drops where others mark: a packet that finds more than 50
// others is dropped, so that no more than 51 ever wait.
TEST(PacketSwitch, ALossyPriorityMayDropEarly) {
  Star star(2);
  PacketSwitchSettings settings = lossless_settings();
  settings.classes = {{.lossless = false, .marks = false, .weight = 0, .drops_early = true}};
  star.fabric.ecn = {50'000, 50'000, 1};
  Engine engine = star.fabric.build(settings, star.streams(200, 1000), {}, 0, 0, true);
  engine.run({});
  std::uint64_t expected = 0;
  int waiting = 0;
  int peak = 0;
  for (int k = 1; k <= 200; ++k) {
    for (int packet = k == 1 ? 1 : 0; packet < 2; ++packet) {
      if (waiting > 50) {
        ++expected;
      } else {
        peak = std::max(peak, ++waiting);
      }
    }
    if (k > 1) --waiting;
  }
  const PacketSwitch& hub = switch_at(engine, star.hub);
  EXPECT_EQ(hub.counters(2, Time::max()).queue_drops, expected);
  EXPECT_EQ(hub.counters(2, Time::max()).queue_peak, 1000U * static_cast<unsigned>(peak));
  EXPECT_EQ(endpoint_at(engine, 2).data_received(), 400 - expected);
  EXPECT_EQ(endpoint_at(engine, 2).marked(), 0U);
}

// Expectation: of a lossy priority, what does not fit is dropped and the rest arrives; sent =
// arrived + dropped. The one queue that is in use, of x bytes, takes packets up to reserved + alpha
// (pool - (x - reserved)) = reserved + alpha pool / (1 + alpha), here 4,000 + 200,000 / 9 = 26,222:
// 26 packets.
TEST(PacketSwitch, ALossyPriorityDropsWhatDoesNotFit) {
  Star star(4);
  PacketSwitchSettings settings = lossless_settings();
  settings.classes = {{false, false, 0}};
  settings.buffer = {.pool = 200'000, .reserved = 4'000, .resume_offset = settings.buffer.resume_offset, .alpha = 0.125};
  Engine engine = star.fabric.build(settings, star.streams(1000, 1000), {});
  engine.run({});
  const PacketSwitch& hub = switch_at(engine, star.hub);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(endpoint_at(engine, i).pauses(), 0U);
  const PacketPortCounters counters = hub.counters(4, Time::max());
  EXPECT_EQ(counters.queue_peak, 26'000U);
  EXPECT_GT(counters.queue_drops, 0U);
  EXPECT_EQ(endpoint_at(engine, 4).data_received() + counters.queue_drops, 4000U);
}

// Once all that a switch held was charged to the ports that it came in by: a sender whose packets
// for a full queue had used up its account lost those for an idle port as well. Expectation: two
// senders fill the queue of endpoint 2, and one of them sends every other packet to endpoint 3,
// whose port has half of its rate to carry: all of these arrive. The memory is the same whether two
// or three priorities share it: each has thresholds of its own.
TEST(PacketSwitch, AFullLossyQueueTakesNothingFromItsNeighbour) {
  Fabric fabric(4);
  const std::uint32_t hub = fabric.add_switch();
  std::vector<std::uint16_t> ports;
  for (std::uint32_t i = 0; i < 4; ++i) ports.push_back(fabric.connect(hub, i, Bandwidth::gbps(100), Duration::us(1)).first);
  std::vector<std::vector<Endpoint::Stream>> streams(4);
  const auto add = [&](std::uint32_t from, std::uint32_t number, std::uint32_t to, std::uint8_t priority) {
    QueuePairs::Route route{};
    route.there = {0, ports[to]};
    route.back = {0, ports[from]};
    streams[from].push_back({fabric.routes.open(from, number, route), 1000, 1000, priority, Time::zero()});
  };
  add(0, 0, 2, 0);
  add(1, 0, 2, 0);
  add(1, 1, 3, 0);
  PacketSwitchSettings settings = lossless_settings();
  settings.classes = {{false, false, 0}};
  settings.buffer = {.pool = 200'000, .reserved = 0, .resume_offset = settings.buffer.resume_offset, .alpha = 0.125};
  Engine engine = fabric.build(settings, streams, {});
  engine.run({});
  EXPECT_GT(switch_at(engine, hub).counters(2, Time::max()).queue_drops, 0U);
  EXPECT_EQ(switch_at(engine, hub).counters(3, Time::max()).queue_drops, 0U);
  EXPECT_EQ(endpoint_at(engine, 3).data_received(), 1000U);
}

// Expectation: with alpha 1 for one priority and 1/4 for another and nothing reserved, queues that
// alone use the pool of 400 KB grow to alpha pool / (1 + alpha): 200 packets and 80.
TEST(PacketSwitch, PrioritiesHaveThresholdsOfTheirOwn) {
  for (const std::uint8_t priority : {std::uint8_t{0}, std::uint8_t{1}}) {
    Star star(4);
    PacketSwitchSettings settings = lossless_settings();
    settings.classes = {{.lossless = false, .queue_alpha = 1.0}, {.lossless = false, .queue_alpha = 0.25}};
    settings.buffer = {.pool = 400'000, .reserved = 0, .resume_offset = settings.buffer.resume_offset, .alpha = 8};
    std::vector<std::vector<Endpoint::Stream>> streams = star.streams(1000, 1000);
    for (auto& of_sender : streams) {
      for (Endpoint::Stream& stream : of_sender) stream.priority = priority;
    }
    Engine engine = star.fabric.build(settings, streams, {});
    engine.run({});
    EXPECT_EQ(switch_at(engine, star.hub).counters(4, Time::max()).queue_peak, priority == 0 ? 200'000U : 80'000U);
  }
}

// Expectation: over a cable without headroom the same packets of a lossless priority are charged to
// the queue that they join: nobody is asked to pause, though all that waits came by that cable, and
// the queue of a slower cable behind the switch takes reserved + alpha pool / (1 + alpha) at most,
// as that of a lossy priority; here 4,096 + 288,000 / 9 = 36,096: 36 packets. What comes by a cable
// with headroom pauses its sender and loses nothing.
TEST(PacketSwitch, WhatComesByACableWithoutHeadroomIsLossy) {
  for (const bool is_long : {false, true}) {
    Fabric fabric(2);
    const std::uint32_t hub = fabric.add_switch();
    fabric.connect(0, hub, kRate, is_long ? Duration::us(10) : kDelay);
    fabric.connect(hub, 1, Bandwidth::gbps(10), kDelay);
    fabric.pfc_reach = Duration::us(1);
    QueuePairs::Route route{};
    route.there = {0, 1};
    PacketSwitchSettings settings = lossless_settings();
    settings.buffer.pool = 288'000;
    std::vector<std::vector<Endpoint::Stream>> streams(2);
    streams[0].push_back({fabric.routes.open(0, 0, route), 1000, 1000, 0, Time::zero()});
    Engine engine = fabric.build(settings, streams, {});
    engine.run({});
    const PacketPortCounters out = switch_at(engine, hub).counters(1, Time::max());
    EXPECT_EQ(endpoint_at(engine, 1).data_received() + out.queue_drops, 1000U);
    EXPECT_EQ(out.queue_drops > 0, is_long);
    EXPECT_EQ(endpoint_at(engine, 0).pauses() > 0, !is_long);
    if (is_long) {
      EXPECT_EQ(out.queue_peak, 36'000U);
    }
  }
}

// Expectation: a headroom of 3 packets holds less than what comes after a pause was asked for, some
// 2 x (500 + 400) ns at 100 Gb/s and three packets: what finds none is dropped, and counted;
// nothing else is lost.
TEST(PacketSwitch, TooLittleHeadroomDropsWhatIsCounted) {
  Star star(8);
  star.fabric.headroom = 3'000;
  PacketSwitchSettings settings = lossless_settings();
  settings.may_overflow = true;
  settings.buffer.pool = 400'000;
  Engine engine = star.fabric.build(settings, star.streams(500, 1000), {});
  engine.run({});
  std::uint64_t drops = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const PacketPortCounters counters = switch_at(engine, star.hub).counters(i, Time::max());
    EXPECT_EQ(counters.drops, counters.headroom_drops);
    EXPECT_GT(endpoint_at(engine, i).pauses(), 0U);
    drops += counters.drops;
  }
  EXPECT_GT(drops, 0U);
  EXPECT_EQ(endpoint_at(engine, 8).data_received() + drops, 4000U);
}

// Expectation: three senders of 40,000 packets of 64,000 B each, 2.56 GB, while the receiver takes
// a third of that: 5.12 GB wait in the end, within the 8/9 of 8 GB that alpha 8 lets one queue
// take. Accounts and counters are wider than 32 bits.
TEST(PacketSwitch, HoldsMoreThanFourGigabytes) {
  Star star(3);
  PacketSwitchSettings settings = lossless_settings();
  settings.classes = {{.lossless = false, .queue_alpha = 8.0}};
  settings.buffer.pool = 8'000'000'000;
  constexpr std::uint32_t kPackets = 40'000;
  Engine engine = star.fabric.build(settings, star.streams(kPackets, 64'000), {});
  engine.run({});
  const PacketPortCounters counters = switch_at(engine, star.hub).counters(3, Time::max());
  EXPECT_EQ(counters.queue_drops, 0U);
  EXPECT_NEAR(static_cast<double>(counters.queue_peak), 2.0 * kPackets * 64'000, 3 * 64'000);
  EXPECT_EQ(endpoint_at(engine, 3).data_received(), 3U * kPackets);
}

/// Bytes by priority among the first packets that arrive while all compete.
std::map<std::uint32_t, std::int64_t> shares(const std::vector<PacketClass>& classes,
                                             const std::vector<std::uint16_t>& wire_bytes) {
  const auto count = static_cast<std::uint32_t>(classes.size());
  Star star(count);
  PacketSwitchSettings settings = lossless_settings();
  settings.classes = classes;
  std::vector<std::vector<Endpoint::Stream>> streams(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    streams[i].push_back({star.queue_pairs[i], 4000, wire_bytes[i], static_cast<std::uint8_t>(i), Time::zero()});
  }
  Engine engine = star.fabric.build(settings, streams, {}, 0, 0, true);
  engine.run({});
  std::map<std::uint32_t, std::int64_t> bytes;
  const auto& kept = endpoint_at(engine, count).kept();
  for (std::size_t i = 100; i < 2100; ++i) bytes[kept[i].packet.priority()] += kept[i].packet.wire_bytes();
  return bytes;
}

TEST(PacketSwitch, StrictPrioritiesGoFirst) {
  const auto bytes = shares({{true, false, 0}, {true, false, 0}}, {1000, 1000});
  EXPECT_EQ(bytes.count(0), 0U);
  EXPECT_EQ(bytes.at(1), 2'000'000);
}

// Expectation: deficit round robin shares bytes by weight, whatever the sizes of packets.
TEST(PacketSwitch, DeficitRoundRobinSharesBytesByWeight) {
  const auto bytes = shares({{true, false, 3000}, {true, false, 1500}, {true, false, 1500}}, {1000, 600, 1400});
  const double all = static_cast<double>(bytes.at(0) + bytes.at(1) + bytes.at(2));
  EXPECT_NEAR(static_cast<double>(bytes.at(0)) / all, 0.5, 0.01);
  EXPECT_NEAR(static_cast<double>(bytes.at(1)) / all, 0.25, 0.01);
  EXPECT_NEAR(static_cast<double>(bytes.at(2)) / all, 0.25, 0.01);
}

/// Asks for a pause at each event that it gets, for as long as a pause holds.
class Pauser final : public BatchNode {
 public:
  explicit Pauser(const EgressPort& out) : out_(out) {}
  WindowOutcome run_window(Time, const Arrivals& arrivals, BatchContext& context) override {
    for (const Event& event : arrivals.events) {
      out_.send(Packet(PacketKind::pfc, 0, pfc_pause, pfc_frame_wire_bytes, 0), event.key.time, context);
    }
    for (std::size_t i = 0; i < arrivals.port_messages.size(); ++i) arrivals_.push_back(arrivals.port_messages[i].time);
    return {arrivals.port_messages.size(), arrivals_.empty() ? Time::zero() : arrivals_.back(), Time::max()};
  }
  const std::vector<Time>& arrivals() const { return arrivals_; }

 private:
  EgressPort out_;
  std::vector<Time> arrivals_;
};

struct PausedSettings {
  std::vector<Time> asked;
  Duration pause_time;
  PfcWatchdogSettings watchdog = {};
  Bandwidth out_rate = kRate;
  std::uint32_t priorities = 1;  ///< a stream of each; only the lowest is paused
  /// of which the first asks; the switch chooses the one with the least waiting for each packet
  std::uint32_t pausers = 1;
  bool keeps_pauses = false;
  std::optional<Time> later = {};  ///< as many packets again from then on
  Duration adaptive_band = {};
  /// of the ports to pausers: the switch chooses by them instead
  std::vector<std::int64_t> weights = {};
};

/// A sender of packets of 1,000 bytes, a switch, and Pausers at its ports 1 and up. Entities 0, 1,
/// 2 and up.
Engine paused(QueuePairs& routes, std::uint32_t packets, Time start, const PausedSettings& paused) {
  QueuePairs::Route route{};
  route.there[1] = 1;
  PacketSwitchSettings settings = lossless_settings();
  settings.classes.assign(paused.priorities, {true, false, 0});
  settings.pause_time = paused.pause_time;
  settings.watchdog = paused.watchdog;
  settings.keeps_pauses = paused.keeps_pauses;
  if (paused.pausers > 1) {
    QueuePairs::set_destination(route.there, NodeId(0));
    settings.port_choice = {[&paused](NodeId, std::vector<std::uint16_t>& ports, std::vector<std::int64_t>& weights) {
                              for (std::uint16_t port = 1; port <= paused.pausers; ++port) ports.push_back(port);
                              weights = paused.weights;
                            },
                            1, paused.weights.empty(), paused.adaptive_band};
  }
  EngineBuilder builder;
  auto sender = std::make_unique<Endpoint>(EgressPort(kRate, kDelay + kPipeline, EntityId(1), 0));
  for (std::uint8_t priority = 0; priority < paused.priorities; ++priority) {
    const std::uint32_t queue_pair = routes.open(0, priority, route);
    sender->add({queue_pair, packets, 1000, priority, start});
    if (paused.later) sender->add({queue_pair, packets, 1000, priority, *paused.later});
  }
  builder.add_entity(std::move(sender), "sender");
  std::vector<PacketSwitch::Cable> cables = {{EgressPort(kRate, kDelay, EntityId(0), 0), 100'000, {}}};
  for (std::uint32_t i = 0; i < paused.pausers; ++i) {
    cables.push_back({EgressPort(paused.out_rate, kDelay, EntityId(2 + i), 0), 100'000, {}});
  }
  builder.add_entity(std::make_unique<PacketSwitch>(settings, cables, routes), "switch");
  std::vector<std::uint32_t> ends = {0};
  for (std::uint32_t i = 0; i < paused.pausers; ++i) {
    builder.add_entity(std::make_unique<Pauser>(EgressPort(kRate, kDelay + kPipeline, EntityId(1), 1 + i)), "pauser");
    ends.push_back(2 + i);
  }
  for (const std::uint32_t end : ends) {
    builder.connect(EntityId(end), EntityId(1), kDelay + kPipeline);
    builder.connect(EntityId(1), EntityId(end), kDelay);
  }
  builder.post_initial(EntityId(0), Time::zero(), EventClass::message, 0);
  for (const Time asked : paused.asked) builder.post_initial(EntityId(2), asked, EventClass::message, 0);
  Engine engine = std::move(builder).build({});
  engine.run({});
  return engine;
}

/// When a pause that is asked for takes effect.
Time in_effect(Time asked) { return asked + serialization(pfc_frame_wire_bytes) + kDelay + kPipeline; }

// Expectation: packets every s from a sender; a pause that takes effect at t holds back those whose
// turn comes in (t, t + pause time], and ends by itself; what has waited follows back to back.
TEST(PacketSwitch, APauseThatIsNotRefreshedRunsOut) {
  const Duration pause_time = Duration::us(5);
  const Time asked = Time::zero() + Duration::us(4);
  QueuePairs routes(1);
  const Engine engine = paused(routes, 200, Time::zero(), {{asked}, pause_time});
  const auto& arrivals = engine.entity_as<Pauser>(EntityId(2)).arrivals();
  ASSERT_EQ(arrivals.size(), 200U);
  const Time begin = in_effect(asked);
  const Time first = Time::zero() + 2 * serialization(1000) + 2 * kDelay + kPipeline;
  // The k-th packet (from 0) leaves the switch k s after the first, as long as that is not after
  // the pause came.
  const Time first_leaves = first - kDelay - serialization(1000);
  const std::int64_t before = (begin - first_leaves).in_ticks() / serialization(1000).in_ticks() + 1;
  for (std::int64_t k = 0; k < 200; ++k) {
    const Time expected =
        k < before ? first + k * serialization(1000) : begin + pause_time + (k - before + 1) * serialization(1000) + kDelay;
    ASSERT_EQ(arrivals[static_cast<std::size_t>(k)], expected) << "packet " << k;
  }
  EXPECT_EQ(switch_at(engine, 1).counters(1, Time::max()).paused, pause_time);
}

// Expectation: a pause that ran out while nothing waited holds back nothing later, and counts for
// its own time only. Packets come at 40 us.
TEST(PacketSwitch, APauseThatRanOutUnnoticedIsOver) {
  const Duration pause_time = Duration::us(5);
  const Time start = Time::zero() + Duration::us(40);
  QueuePairs routes(1);
  const Engine engine = paused(routes, 3, start, {{Time::zero()}, pause_time});
  const auto& arrivals = engine.entity_as<Pauser>(EntityId(2)).arrivals();
  ASSERT_EQ(arrivals.size(), 3U);
  const Time first = start + 2 * serialization(1000) + 2 * kDelay + kPipeline;
  for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(arrivals[static_cast<std::size_t>(k)], first + k * serialization(1000));
  EXPECT_EQ(switch_at(engine, 1).counters(1, Time::max()).paused, pause_time);
}

// Expectation: packets come every s, and the first after the pause took effect at p waits from its
// arrival a on. At a + detection all that wait are dropped, and so is what comes until the pause
// has been over for `restoration`; the rest goes on at once. That the pause is sent again meanwhile
// makes no difference.
TEST(PacketSwitch, TheWatchdogDropsWhatAPauseHoldsForTooLong) {
  const Time asked = Time::zero() + Duration::us(4);
  const Duration s = serialization(1000);
  const Time first = Time::zero() + s + kDelay + kPipeline;  // arrives at the switch
  const PfcWatchdogSettings watchdog{Duration::us(5), Duration::us(3)};
  const std::vector<PausedSettings> same = {
      {{asked}, Duration::us(20), watchdog},
      {{asked, asked + Duration::us(3), asked + Duration::us(6)}, Duration::us(4), watchdog},
      {{asked, asked + Duration::us(3), asked + Duration::us(6)}, Duration::us(14), watchdog}};
  for (const PausedSettings& settings : same) {
    QueuePairs routes(1);
    const Engine engine = paused(routes, 1000, Time::zero(), settings);
    const std::int64_t before = (in_effect(asked) - first).in_ticks() / s.in_ticks() + 1;
    const Time stuck = first + before * s;
    const Time over = in_effect(settings.asked.back()) + settings.pause_time + watchdog.restoration;
    const std::int64_t dropped = (over - stuck - Duration::ticks(1)).in_ticks() / s.in_ticks() + 1;
    const auto& arrivals = engine.entity_as<Pauser>(EntityId(2)).arrivals();
    ASSERT_EQ(arrivals.size(), static_cast<std::size_t>(1000 - dropped));
    EXPECT_EQ(arrivals[static_cast<std::size_t>(before) - 1], stuck + kDelay);
    EXPECT_EQ(arrivals[static_cast<std::size_t>(before)], stuck + dropped * s + s + kDelay);
    const std::vector<PauseStorm>& storms = switch_at(engine, 1).storms();
    ASSERT_EQ(storms.size(), 1U);
    EXPECT_EQ(storms[0].found, stuck + watchdog.detection);
    EXPECT_EQ(storms[0].port, 1U);
    EXPECT_EQ(storms[0].packets, static_cast<std::uint64_t>(dropped));
    EXPECT_EQ(switch_at(engine, 1).counters(0, Time::max()).drops, static_cast<std::uint64_t>(dropped))
        << "of the port they came by";
  }
}

// Expectation: packets come twice as fast as they leave, so that some wait when the pause takes
// effect at p. It ends at p + pause time; where that is the instant at which the watchdog would
// find the queue stuck, or before it, nothing is dropped, and one tick later all that waits is.
TEST(PacketSwitch, TheWatchdogLetsPausesPassThatEndInTime) {
  const Duration pause_time = Duration::us(5);
  const Time asked = Time::zero() + Duration::us(4);
  for (const std::int64_t ticks : {0, 1, -1}) {
    PausedSettings settings{{asked}, pause_time, {pause_time + Duration::ticks(ticks), Duration::zero()}, Bandwidth::gbps(50)};
    QueuePairs routes(1);
    const Engine engine = paused(routes, 1000, Time::zero(), settings);
    const std::vector<PauseStorm>& storms = switch_at(engine, 1).storms();
    ASSERT_EQ(storms.size(), ticks < 0 ? 1U : 0U) << ticks;
    EXPECT_EQ(engine.entity_as<Pauser>(EntityId(2)).arrivals().size(), 1000U - (ticks < 0 ? storms[0].packets : 0));
    if (ticks < 0) {
      EXPECT_EQ(storms[0].found, in_effect(asked) + pause_time - Duration::ticks(1));
    }
  }
}

// Expectation: of two priorities the lower is paused, the higher goes on. Wherever in a packet of
// the higher the watchdog looks at the lower, packets leave one after the other; the lower loses
// what waited if and only if the pause was too long.
TEST(PacketSwitch, TheWatchdogOfOnePriorityLeavesTheOtherAlone) {
  const Bandwidth out_rate = Bandwidth::gbps(50);
  const Duration pause_time = Duration::us(5);
  const Duration eighth = Duration::ticks(serialization(1000, out_rate).in_ticks() / 8);
  for (std::int64_t later = -16; later <= 16; ++later) {
    for (std::int64_t asked = 0; asked < 8; ++asked) {
      QueuePairs routes(1);
      const PausedSettings settings{{Time::zero() + Duration::us(4) + asked * eighth},
                                    pause_time,
                                    {pause_time + later * eighth, Duration::zero()},
                                    out_rate,
                                    2};
      const Engine engine = paused(routes, 300, Time::zero(), settings);
      const auto& arrivals = engine.entity_as<Pauser>(EntityId(2)).arrivals();
      const std::vector<PauseStorm>& storms = switch_at(engine, 1).storms();
      EXPECT_EQ(storms.size(), later < 0 ? 1U : 0U) << later;
      std::uint64_t dropped = 0;
      for (const PauseStorm& storm : storms) {
        EXPECT_EQ(storm.priority, 0U);
        dropped += storm.packets;
      }
      ASSERT_EQ(arrivals.size(), 600 - dropped);
      for (std::size_t i = 1; i < arrivals.size(); ++i)
        ASSERT_GE(arrivals[i] - arrivals[i - 1], serialization(1000, out_rate)) << i;
    }
  }
}

// Expectation: a switch that chooses the port with the least waiting sends nothing into a storm,
// though nothing waits there any more.
TEST(PacketSwitch, AdaptiveChoiceAvoidsAStorm) {
  QueuePairs routes(2);
  const Engine engine =
      paused(routes, 1000, Time::zero(),
             {{Time::zero() + Duration::us(4)}, Duration::us(60), {Duration::us(5), Duration::us(3)}, kRate, 1, 2});
  const std::vector<PauseStorm>& storms = switch_at(engine, 1).storms();
  ASSERT_EQ(storms.size(), 1U);
  EXPECT_EQ(storms[0].port, 1U);
  EXPECT_LE(storms[0].packets, 2U) << "what waited when it was found";
  EXPECT_GT(engine.entity_as<Pauser>(EntityId(2)).arrivals().back(), in_effect(Time::zero() + Duration::us(4)) + Duration::us(63))
      << "and takes packets again when it is over";
  EXPECT_EQ(engine.entity_as<Pauser>(EntityId(2)).arrivals().size() + engine.entity_as<Pauser>(EntityId(3)).arrivals().size(),
            1000U - storms[0].packets);
}

// Once every packet took the port with the least waiting. Packets that come in turn then find the
// same queues in turn, and flows settled on ports: on a fat tree flows that met further on did so
// until they ended. Expectation: packets come every 80 ns, and each of two ports takes one every
// 160 ns. With no band they alternate, and nobody waits. In a band of 1 us chance decides, so that
// some wait, but no longer than the band and the packet that made it so long: 6,250 + 1,000 B at 50
// Gb/s. Nothing is lost, and neither port gets more than the other by more than that.
TEST(PacketSwitch, AdaptiveChoiceIsAtRandomInABand) {
  for (const Duration band : {Duration::zero(), Duration::us(1)}) {
    QueuePairs routes(2);
    PausedSettings settings;
    settings.out_rate = Bandwidth::gbps(50);
    settings.pausers = 2;
    settings.adaptive_band = band;
    const Engine engine = paused(routes, 1000, Time::zero(), settings);
    const std::size_t first = engine.entity_as<Pauser>(EntityId(2)).arrivals().size();
    const std::size_t second = engine.entity_as<Pauser>(EntityId(3)).arrivals().size();
    EXPECT_EQ(first + second, 1000U);
    const std::uint64_t peak = std::max(switch_at(engine, 1).counters(1, Time::max()).queue_peak,
                                        switch_at(engine, 1).counters(2, Time::max()).queue_peak);
    if (band == Duration::zero()) {
      EXPECT_EQ(first, 500U);
      EXPECT_EQ(peak, 0U);
    } else {
      EXPECT_NEAR(static_cast<double>(first), 500, 25);
      EXPECT_GT(peak, 1000U);
      EXPECT_LE(peak, 7'250U);
    }
  }
}

// Expectation: of 1,000 packets over ports of weights 3 and 1, 750 over the first, binomial with a
// standard deviation of sqrt(1000 x 3/4 x 1/4) = 14.
TEST(PacketSwitch, SprayedPacketsTakePortsByTheirWeights) {
  QueuePairs routes(2);
  PausedSettings settings;
  settings.pausers = 2;
  settings.weights = {300, 100};
  const Engine engine = paused(routes, 1000, Time::zero(), settings);
  const std::size_t first = engine.entity_as<Pauser>(EntityId(2)).arrivals().size();
  EXPECT_EQ(first + engine.entity_as<Pauser>(EntityId(3)).arrivals().size(), 1000U);
  EXPECT_NEAR(static_cast<double>(first), 750, 5 * 14);
}

// Expectation: pauses of 5 us that take effect at p, p + 3 us and p + 20 us are two spans, of 8 and
// of 5 us; one that still holds ends now, and one that has not begun is none.
TEST(PacketSwitch, KeepsTheTimesOfPauses) {
  const Time asked = Time::zero() + Duration::us(4);
  PausedSettings settings{{asked, asked + Duration::us(3), asked + Duration::us(20)}, Duration::us(5)};
  settings.keeps_pauses = true;
  QueuePairs routes(1);
  const Engine engine = paused(routes, 10, Time::zero(), settings);
  const Time begin = in_effect(asked);
  const auto expect = [&](Time now, const std::vector<PauseSpan>& expected) {
    const std::vector<PauseSpan> spans = switch_at(engine, 1).pauses(1, now);
    ASSERT_EQ(spans.size(), expected.size());
    for (std::size_t i = 0; i < spans.size(); ++i) {
      EXPECT_EQ(spans[i].begin, expected[i].begin) << i;
      EXPECT_EQ(spans[i].end, expected[i].end) << i;
    }
  };
  const PauseSpan first{begin, begin + Duration::us(8)};
  const Time second = begin + Duration::us(20);
  expect(Time::max(), {first, {second, second + Duration::us(5)}});
  expect(second + Duration::us(2), {first, {second, second + Duration::us(2)}});
  expect(second, {first});
}

// Expectation: a storm is over when its priority has not been paused for `restoration`, though
// nothing came to notice: a later pause finds the queue as any other, and what it holds for less
// than `detection` goes on.
TEST(PacketSwitch, AStormThatNobodyNoticedIsOver) {
  // Ten packets wait from 0.98 us on, and are dropped 4 us later; the first pause is over at 6.9
  // us. The next ten wait from 64.5 us until 66.9 us, when the second is over.
  PausedSettings settings{{Time::zero(), Time::zero() + Duration::us(60)}, Duration::us(6), {Duration::us(4), Duration::us(3)}};
  settings.later = Time::zero() + Duration::ns(63'500);
  QueuePairs routes(1);
  const Engine engine = paused(routes, 10, Time::zero(), settings);
  ASSERT_EQ(switch_at(engine, 1).storms().size(), 1U);
  EXPECT_EQ(switch_at(engine, 1).storms()[0].packets, 10U);
  EXPECT_EQ(engine.entity_as<Pauser>(EntityId(2)).arrivals().size(), 10U) << "those that came later";
}

// Expectation: pauses that run out after 5 us but are sent again as long as they are needed stop
// the upstream switch just as long as pauses that hold until the resume.
TEST(PacketSwitch, PausesAreRefreshedAsLongAsTheyAreNeeded) {
  std::vector<Time> ends;
  std::vector<Duration> paused;
  for (const Duration pause_time : {Duration::zero(), Duration::us(5)}) {
    Fabric fabric(2);
    fabric.switching_delay = kPipeline;
    const std::uint32_t upstream = fabric.add_switch();
    const std::uint32_t downstream = fabric.add_switch();
    fabric.connect(0, upstream, kRate, kDelay);
    const std::uint32_t out = fabric.connect(upstream, downstream, kRate, kDelay).first;
    fabric.connect(downstream, 1, Bandwidth::gbps(5), kDelay);
    QueuePairs::Route route{};
    route.there = {0, 1, 1};
    PacketSwitchSettings settings = lossless_settings();
    // a long way from asking to letting go: 60 kB at 5 Gb/s are 96 us
    settings.buffer = {4'000'000, 4096, 60'000, 0.02};
    settings.pause_time = pause_time;
    std::vector<std::vector<Endpoint::Stream>> streams(2);
    streams[0].push_back({fabric.routes.open(0, 0, route), 1000, 1000, 0, Time::zero()});
    Engine engine = fabric.build(settings, streams, {});
    engine.run({});
    EXPECT_EQ(endpoint_at(engine, 1).data_received(), 1000U);
    ends.push_back(endpoint_at(engine, 1).last_data());
    paused.push_back(switch_at(engine, upstream).counters(out, Time::max()).paused);
    EXPECT_GT(paused.back(), Duration::us(90));
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(paused[0], paused[1]);
}

/// Random streams over a fat tree with small buffers: pauses, marks, answers, three priorities.
/// Nothing is lost but to the watchdog.
RunReport random_traffic(std::uint64_t seed, const EngineOptions& options, std::vector<std::uint64_t>* counters = nullptr,
                         const PfcWatchdogSettings& watchdog = {}) {
  FatTree tree(4, kRate, Duration::ns(300));
  tree.switching_delay = seed % 2 == 0 ? kPipeline : Duration::zero();
  RandomStream random(seed, 3, 0);
  const auto pick = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random.below(below)); };
  std::vector<std::vector<Endpoint::Stream>> streams(tree.hosts());
  std::uint64_t sent = 0;
  for (std::uint32_t host = 0; host < tree.hosts(); ++host) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::uint32_t to = pick(4) == 0 ? (host == 5 ? 6 : 5) : (host + 1 + pick(tree.hosts() - 1)) % tree.hosts();
      const std::uint32_t packets = 50 + pick(200);
      const auto bytes = static_cast<std::uint16_t>(200 + pick(4000));
      streams[host].push_back({tree.open(host, i, to, pick(16)), packets, bytes, static_cast<std::uint8_t>(pick(2)),
                               Time::zero() + Duration::ns(pick(20'000))});
      sent += packets;
    }
  }
  PacketSwitchSettings settings;
  settings.buffer = {300'000, 2048, 4300, 0.25};
  settings.classes = {{true, true, 4096}, {true, false, 2048}, {true, false, 0}};
  settings.largest_packet = Bytes::of(4300);
  tree.ecn = {20'000, 80'000, 0.5};
  settings.pause_time = seed % 3 == 0 ? Duration::us(4) : Duration::zero();
  settings.watchdog = watchdog;
  settings.seed = seed;
  Engine engine = tree.build(settings, streams, options, 4, 2);
  const RunReport report = engine.run({});
  std::uint64_t received = 0;
  std::uint64_t answered = 0;
  std::uint64_t answers = 0;
  for (std::uint32_t host = 0; host < tree.hosts(); ++host) {
    received += endpoint_at(engine, host).data_received();
    answered += endpoint_at(engine, host).data_received() / 4;
    answers += endpoint_at(engine, host).answers_received();
  }
  std::uint64_t dropped = 0;
  std::vector<std::uint64_t> storm_counts;  // after the others
  for (std::uint32_t node = tree.hosts(); node < tree.node_count(); ++node) {
    const PacketSwitch& at = switch_at(engine, node);
    if (counters != nullptr) counters->push_back(at.pauses_sent());
    std::vector<PauseStorm> storms = at.storms();
    std::ranges::sort(storms, {}, [](const PauseStorm& storm) { return std::tuple(storm.found, storm.port, storm.priority); });
    for (const PauseStorm& storm : storms) {
      dropped += storm.packets;
      if (counters == nullptr) continue;
      for (const std::uint64_t count : {static_cast<std::uint64_t>(storm.found.in_ticks()), std::uint64_t{storm.port},
                                        std::uint64_t{storm.priority}, storm.packets}) {
        storm_counts.push_back(count);
      }
    }
    for (std::uint32_t port = 0; port < 4; ++port) {
      const PacketPortCounters of_port = at.counters(port, report.end_time);
      if (!watchdog.is_on()) {
        EXPECT_EQ(of_port.drops, 0U);
      }
      if (counters == nullptr) continue;
      for (const std::uint64_t count : {of_port.bytes, of_port.queue_peak, of_port.ecn_marks, of_port.drops})
        counters->push_back(count);
      counters->push_back(static_cast<std::uint64_t>(of_port.paused.in_ticks()));
    }
  }
  // Receivers answer every fourth packet of data.
  EXPECT_EQ(received + answers + dropped, sent + answered) << "nothing is lost or stuck";
  if (counters != nullptr) counters->insert(counters->end(), storm_counts.begin(), storm_counts.end());
  EXPECT_GT(answers, sent / 8);
  return report;
}

TEST(PacketSwitch, GivesOneFingerprintForThreadsPartitionsAndRedealing) {
  expect_one_fingerprint("packet_fat_tree_4", partitions_of(36, Duration::ns(350)),
                         [](const EngineOptions& options) { return random_traffic(6, options); });
}

/// What random_traffic() counts in one process; the same, and the fingerprint, with a process for
/// every node.
std::vector<std::uint64_t> counts_however_cut(std::uint64_t seed, const PfcWatchdogSettings& watchdog = {}) {
  PartitionExplicit each;
  for (std::uint32_t i = 0; i < 36; ++i) each.lp_of_entity.push_back(LpId(i));
  EngineOptions cut;
  cut.partition = each;
  std::vector<std::uint64_t> whole_counts;
  std::vector<std::uint64_t> cut_counts;
  const RunReport whole = random_traffic(seed, {}, &whole_counts, watchdog);
  EXPECT_EQ(whole.fingerprint.to_text(), random_traffic(seed, cut, &cut_counts, watchdog).fingerprint.to_text()) << seed;
  EXPECT_EQ(whole_counts, cut_counts) << seed;
  return whole_counts;
}

TEST(PacketSwitch, LosesNothingUnderRandomTrafficAndCountsAlikeHoweverCut) {
  std::uint64_t pauses = 0;
  for (std::uint64_t seed = 0; seed < (WEFT_SANITIZED ? 4 : 12); ++seed) {
    const std::vector<std::uint64_t> counts = counts_however_cut(seed);
    // 21 numbers a switch, the first of them pauses.
    for (std::size_t i = 0; i < counts.size(); i += 21) pauses += counts[i];
  }
  EXPECT_GT(pauses, 500U);
}

TEST(PacketSwitch, WatchdogsDropAlikeHoweverCut) {
  std::uint64_t drops = 0;
  for (std::uint64_t seed = 0; seed < (WEFT_SANITIZED ? 4 : 12); ++seed) {
    const std::vector<std::uint64_t> counts =
        counts_however_cut(seed, {Duration::us(2), Duration::us(static_cast<std::int64_t>(seed % 4))});
    // 21 numbers for each of 20 switches, the first of them pauses; of the five of each port the
    // fourth is drops. Storms come after that.
    ASSERT_GT(counts.size(), 20U * 21U);
    for (std::size_t i = 0; i < 20 * 21; i += 21) {
      for (std::size_t port = 0; port < 4; ++port) drops += counts[i + 4 + 5 * port];
    }
  }
  EXPECT_GT(drops, 500U);
}

}  // namespace
}  // namespace weft::packet_switch_test
