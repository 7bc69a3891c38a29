// SPDX-License-Identifier: Apache-2.0
// What lines between sites do to paths: round trips, losses, draws, and when they do nothing.
#include "network/wide_area/wide_area_paths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "tests/network/flow/scripted_transfers.hpp"

namespace weft::wide_area_paths_test {
namespace {

using scripted_transfers::Planned;
using scripted_transfers::settings_with;

/// a - ra = rb = rc - c: two lines of 1 Gb/s, 20 ms each way.
struct TwoLines {
  std::shared_ptr<const Topology> topology;
  NodeId a;
  NodeId c;
  std::vector<LinkId> there;
};

TwoLines two_lines(const WideAreaLine& there, const WideAreaLine& back) {
  TopologyBuilder builder("lines");
  TwoLines made;
  made.a = builder.add_endpoint(builder.add_host(), NodeKind::host);
  made.c = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId ra = builder.add_switch(0);
  const NodeId rb = builder.add_switch(0);
  const NodeId rc = builder.add_switch(0);
  made.there.push_back(builder.add_cable(made.a, ra, Bandwidth::gbps(10), Duration::zero()));
  for (const auto& [from, to] : {std::pair(ra, rb), std::pair(rb, rc)}) {
    const LinkId line = builder.add_cable(from, to, Bandwidth::gbps(1), Duration::ms(20));
    builder.set_wide_area(line, there, back);
    made.there.push_back(line);
  }
  made.there.push_back(builder.add_cable(rc, made.c, Bandwidth::gbps(10), Duration::zero()));
  made.topology = std::move(builder).build(nullptr, {});
  return made;
}

WideAreaSettings settings_of(WideAreaControl control) {
  WideAreaSettings settings;
  settings.congestion_control = control;
  return settings;
}

bool act(const TwoLines& lines, const WideAreaSettings& settings) {
  return WideAreaPaths(*lines.topology, settings, Duration::zero(), 1).act();
}

TEST(WideAreaPaths, ActOnlyWhereSomethingIsLostOrAskedFor) {
  const TwoLines quiet = two_lines({}, {});
  EXPECT_FALSE(act(quiet, settings_of(WideAreaControl::automatic)));
  EXPECT_FALSE(act(quiet, settings_of(WideAreaControl::none)));
  EXPECT_TRUE(act(quiet, settings_of(WideAreaControl::cubic)));
  WideAreaSettings endless = settings_of(WideAreaControl::cubic);
  endless.window.reset();
  EXPECT_FALSE(act(quiet, endless));
  const TwoLines lossy = two_lines({.loss = 0.1, .jitter = {}}, {});
  EXPECT_TRUE(act(lossy, settings_of(WideAreaControl::automatic)));
  EXPECT_FALSE(act(lossy, settings_of(WideAreaControl::none)));
  EXPECT_TRUE(act(two_lines({.loss = 0, .jitter = Duration::ms(1)}, {}), settings_of(WideAreaControl::none)));
}

// Round trip: 2 x (2 x 20 ms + 3 switches of 1 ms), and 5 ms there and 3 ms back on each line.
TEST(WideAreaPaths, AddUpDelaysLossesAndJitter) {
  const TwoLines lines = two_lines({.loss = 0.1, .jitter = Duration::ms(5)}, {.loss = 0.3, .jitter = Duration::ms(3)});
  const WideAreaPaths paths(*lines.topology, settings_of(WideAreaControl::automatic), Duration::ms(1), 1.5);
  const auto rate = paths.rate(lines.there, {});
  ASSERT_TRUE(rate.has_value());
  EXPECT_EQ(rate->control, WideAreaControl::cubic);
  EXPECT_EQ(rate->path.round_trip, Duration::ms(102));
  EXPECT_NEAR(rate->path.loss, 1 - 0.9 * 0.9, 1e-12);
  EXPECT_EQ(rate->path.slowest_bps, 1e9);
  const double payload_bps = tcp_rate_bps({WideAreaControl::cubic, Bytes::of(1448), Bytes::of(4 << 20)}, rate->path);
  EXPECT_NEAR(rate->cap_bps, 1.5 * payload_bps, 1e-6);
  // Half over the lines, as sprayed packets: half the delay, and half the losses of each.
  const std::vector<double> halves = {1, 0.5, 0.5, 1};
  const auto half = paths.rate(lines.there, halves);
  EXPECT_NEAR(half->path.loss, 1 - 0.9, 1e-12);
  EXPECT_EQ(half->path.slowest_bps, 2e9);
  // A path that crosses no line is none of theirs.
  EXPECT_FALSE(paths.rate(std::span(lines.there).first(1), {}).has_value());
}

// 0.001^8 is no number beside 1.
TEST(WideAreaPaths, LetSomethingThroughHoweverMuchIsLost) {
  const TwoLines lines = two_lines({.loss = 0.999, .jitter = {}}, {});
  const WideAreaPaths paths(*lines.topology, settings_of(WideAreaControl::automatic), Duration::zero(), 1);
  const std::vector<double> as_of_eight_lines = {1, 4, 4, 1};
  const auto rate = paths.rate(lines.there, as_of_eight_lines);
  ASSERT_TRUE(rate.has_value());
  EXPECT_LT(rate->path.loss, 1);
  EXPECT_GT(rate->cap_bps, 0);
  EXPECT_LT(rate->cap_bps, 1e-6);
}

TEST(WideAreaPaths, ALinelessPathOrOneWithoutLossIsUnlimitedUnderAuto) {
  const TwoLines jittery = two_lines({.loss = 0, .jitter = Duration::ms(5)}, {});
  const WideAreaPaths paths(*jittery.topology, settings_of(WideAreaControl::automatic), Duration::zero(), 1);
  const auto rate = paths.rate(jittery.there, {});
  ASSERT_TRUE(rate.has_value());
  EXPECT_EQ(rate->control, WideAreaControl::none);
  EXPECT_TRUE(std::isinf(rate->cap_bps));
}

// What comes back is acknowledged there: one connection, and one congestion control.
TEST(WideAreaPaths, AutoIsTcpWhereOneDirectionLosesPackets) {
  const TwoLines lines = two_lines({}, {.loss = 0.1, .jitter = {}});
  const auto rate =
      WideAreaPaths(*lines.topology, settings_of(WideAreaControl::automatic), Duration::zero(), 1).rate(lines.there, {});
  ASSERT_TRUE(rate.has_value());
  EXPECT_EQ(rate->control, WideAreaControl::cubic);
  // Nothing is lost there: 4 MiB in 80 ms.
  EXPECT_NEAR(rate->cap_bps, (4 << 20) * 8 / 0.08, 1e-3);
}

// Half of the packets' bits are headers. The slowest link has them in its rate, a window does not.
TEST(WideAreaPaths, HeadersComeOnTopOfWindows) {
  const TwoLines lines = two_lines({}, {});
  WideAreaSettings settings = settings_of(WideAreaControl::bbr);
  settings.window.reset();
  const auto cap_bps = [&] { return WideAreaPaths(*lines.topology, settings, Duration::zero(), 2).rate(lines.there, {})->cap_bps; };
  EXPECT_NEAR(cap_bps(), 1e9 * 10 / 10.2, 1e-3);
  settings.window = Bytes::of(100000);
  EXPECT_NEAR(cap_bps(), 2 * 100000 * 8 / 0.08, 1e-3);
}

Transfer message(const TwoLines& lines, std::uint64_t tag) {
  Transfer transfer;
  transfer.attempt = AttemptId(0);
  transfer.source = lines.a;
  transfer.destination = lines.c;
  transfer.tag = tag;
  transfer.size = Bytes::of(1000);
  return transfer;
}

// Two draws of mean 5 ms: mean 10 ms, standard deviation 7.07 ms; of 4,000 the mean is within 4 x
// 0.11 ms.
TEST(WideAreaPaths, JitterIsDrawnForEachLineAndMessage) {
  const TwoLines lines = two_lines({.loss = 0, .jitter = Duration::ms(5)}, {});
  const WideAreaPaths paths(*lines.topology, settings_of(WideAreaControl::none), Duration::zero(), 1);
  double sum_ms = 0;
  double squares = 0;
  constexpr int messages = 4000;
  for (int i = 0; i < messages; ++i) {
    const double ms = paths.jitter(lines.there, {}, message(lines, static_cast<std::uint64_t>(i)), 0, Time::zero()).in_s() * 1e3;
    sum_ms += ms;
    squares += ms * ms;
  }
  EXPECT_NEAR(sum_ms / messages, 10, 0.45);
  EXPECT_NEAR(std::sqrt(squares / messages - 100), 7.07, 0.5);
  const auto draw = [&](std::uint32_t queue_pair, Time start) {
    return paths.jitter(lines.there, {}, message(lines, 1), queue_pair, start);
  };
  EXPECT_EQ(draw(0, Time::zero()), draw(0, Time::zero()));
  // The same draws, each of which half the packets have.
  const std::vector<double> halves = {1, 0.5, 0.5, 1};
  const Duration half = paths.jitter(lines.there, halves, message(lines, 1), 0, Time::zero());
  EXPECT_NEAR(half.in_s(), draw(0, Time::zero()).in_s() / 2, 1e-9);
  EXPECT_NE(draw(0, Time::zero()), draw(1, Time::zero()));
  EXPECT_NE(draw(0, Time::zero()), draw(0, Time::zero() + Duration::ms(1)));
  EXPECT_EQ(paths.jitter(std::span(lines.there).first(1), {}, message(lines, 1), 0, Time::zero()), Duration::zero());
}

// Messages of 1,000 B come every millisecond, and vary by 10 ms: without an order many would
// overtake others.
TEST(WideAreaPaths, MessagesOfAQueuePairDoNotOvertake) {
  const TwoLines lines = two_lines({.loss = 0, .jitter = Duration::ms(5)}, {});
  std::vector<Planned> script;
  constexpr int messages = 200;
  for (int i = 0; i < messages; ++i) {
    Transfer transfer = message(lines, static_cast<std::uint64_t>(i));
    // Some have no bytes.
    if (i % 7 == 0) transfer.size = Bytes::zero();
    script.push_back({Time::zero() + Duration::ms(i), transfer});
  }
  const auto outcome = scripted_transfers::run(*lines.topology, settings_with({}), script);
  ASSERT_EQ(outcome.delivered.size(), static_cast<std::size_t>(messages));
  int waited = 0;
  for (int i = 1; i < messages; ++i) {
    const auto tag = static_cast<std::uint64_t>(i);
    EXPECT_GE(outcome.delivered.at(tag), outcome.delivered.at(tag - 1)) << i;
    if (outcome.delivered.at(tag) == outcome.delivered.at(tag - 1)) ++waited;
  }
  EXPECT_GT(waited, messages / 4);
  // Threads change nothing.
  const auto again = scripted_transfers::run(*lines.topology, settings_with({}), script, nullptr, 4);
  EXPECT_EQ(again.delivered, outcome.delivered);
}

}  // namespace
}  // namespace weft::wide_area_paths_test
