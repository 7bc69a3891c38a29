// SPDX-License-Identifier: Apache-2.0
// batch nodes do in windows what they would do one event at a time: a network of store-and-forward
// nodes against a naive sequential oracle, under every partition and number of threads.
#include "core/engine/batch_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "core/engine/port_message_calendar.hpp"
#include "core/values/random.hpp"
#include "tests/determinism/fingerprint_matrix.hpp"

namespace weft::batch_process_test {
namespace {

struct Token {
  std::uint32_t id = 0;
  std::uint32_t hops_left = 0;
};

struct OutLink {
  std::uint32_t to = 0;
  std::uint32_t port = 0;  ///< at the other end
  Duration service;        ///< what a token takes of the link
  Duration delay;
};
using Graph = std::vector<std::vector<OutLink>>;

constexpr Duration host_delay = Duration::ticks(700);
constexpr std::uint16_t inject = 7;
constexpr std::uint16_t arrived = 8;

/// What a node has seen, in its order: time, token, port (host_port for its host's).
constexpr std::uint32_t host_port = 99;
using Seen = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;

/// One queue per link, links in turn; a link begins to send a token only when its turn has come, so
/// that tokens wait over windows' ends.
class Relay final : public BatchNode {
 public:
  Relay(const std::vector<OutLink>& out_links, EntityId host)
      : out_links_(out_links), host_(host), queues_(out_links.size()), free_(out_links.size()) {}

  WindowOutcome run_window(Time end, const Arrivals& arrivals, BatchContext& context) override {
    WindowOutcome outcome;
    const auto handle = [&](Time now, const Token& token, std::uint32_t port) {
      if (now >= end) ADD_FAILURE() << "an arrival after the window";
      take(now, token, port, context);
      ++outcome.events;
      outcome.last = now;
    };
    arrivals.in_order(
        [&](const Event& event) { handle(event.key.time, event.payload_as<Token>(), host_port); },
        [&](const PortMessage& port_message) { handle(port_message.time, port_message.payload_as<Token>(), port_message.port); });
    context.set_now(end);
    for (std::size_t link = 0; link < out_links_.size(); ++link) {
      serve(link, end, context);
      if (!queues_[link].empty()) outcome.next = std::min(outcome.next, std::max(free_[link], end));
    }
    return outcome;
  }

  const std::vector<Seen>& seen() const { return seen_; }

 private:
  void take(Time now, Token token, std::uint32_t port, BatchContext& context) {
    seen_.emplace_back(now.in_ticks(), token.id, port);
    context.chain().add(static_cast<std::uint64_t>(now.in_ticks()) ^ std::uint64_t{token.id} << 40 ^ port);
    if (token.hops_left == 0) {
      context.events(now).send(host_, host_delay, arrived, token);
      return;
    }
    --token.hops_left;
    const std::size_t link = rotor_++ % out_links_.size();
    queues_[link].push_back({now, token});
  }

  /// Sends what begins before `end`.
  void serve(std::size_t link, Time end, BatchContext& context) {
    while (!queues_[link].empty()) {
      const auto [since, token] = queues_[link].front();
      const Time start = std::max(since, free_[link]);
      if (start >= end) return;
      queues_[link].pop_front();
      free_[link] = start + out_links_[link].service;
      const OutLink& out = out_links_[link];
      context.send(EntityId(out.to), free_[link] + out.delay, out.port, token);
    }
  }

  std::vector<OutLink> out_links_;
  EntityId host_;
  std::size_t rotor_ = 0;
  std::vector<std::deque<std::pair<Time, Token>>> queues_;
  std::vector<Time> free_;
  std::vector<Seen> seen_;
};

/// Sends every token that arrives on its way again, `rounds` times.
class Source final : public Entity {
 public:
  Source(EntityId relay, std::uint32_t hops, std::uint32_t rounds) : relay_(relay), hops_(hops), rounds_(rounds) {}
  void handle(const Event& event, EventContext& context) override {
    const auto token = event.payload_as<Token>();
    if (rounds_ == 0) return;
    --rounds_;
    context.send(relay_, host_delay, inject, Token{token.id, hops_ + token.id % 3});
  }

 private:
  EntityId relay_;
  std::uint32_t hops_;
  std::uint32_t rounds_;
};

struct Net {
  Graph graph;
  std::uint32_t tokens = 0;
  std::uint32_t hops = 0;
  std::uint32_t rounds = 0;  ///< per source
};

/// Every node has two to four links; delays from 1 to `stretch` times the shortest.
Net random_net(std::uint64_t seed, std::uint32_t nodes, std::int64_t stretch) {
  RandomStream random(seed, 0, 0);
  const auto pick = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random.below(below)); };
  Net net;
  net.graph.resize(nodes);
  std::vector<std::uint32_t> ports(nodes, 0);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const std::uint32_t degree = 2 + pick(3);
    for (std::uint32_t i = 0; i < degree; ++i) {
      const std::uint32_t to = i == 0 ? (node + 1) % nodes : pick(nodes);
      if (to == node) continue;
      const auto delay = Duration::ticks(std::int64_t{500} * (1 + pick(static_cast<std::uint32_t>(stretch))));
      net.graph[node].push_back({to, ports[to]++, Duration::ticks(20 + 10 * pick(4)), delay});
    }
  }
  net.tokens = 3 * nodes;
  net.hops = 12;
  net.rounds = 20;
  return net;
}

/// Relays are entities 0 .. n-1, sources n .. 2n-1.
EngineBuilder make(const Net& net) {
  EngineBuilder builder;
  const auto nodes = static_cast<std::uint32_t>(net.graph.size());
  for (std::uint32_t node = 0; node < nodes; ++node) {
    builder.add_entity(std::make_unique<Relay>(net.graph[node], EntityId(nodes + node)), "relay" + std::to_string(node));
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    builder.add_entity(std::make_unique<Source>(EntityId(node), net.hops, net.rounds), "source" + std::to_string(node));
    builder.connect_both(EntityId(node), EntityId(nodes + node), host_delay);
    for (const OutLink& link : net.graph[node]) builder.connect(EntityId(node), EntityId(link.to), link.service + link.delay);
  }
  for (std::uint32_t token = 0; token < net.tokens; ++token) {
    builder.post_initial(EntityId(nodes + token % nodes), Time::zero(), EventClass::message, 0, Token{token, 0});
  }
  return builder;
}

/// One event at a time, ordered by (time, node, host before ports, port).
std::vector<std::vector<Seen>> oracle(const Net& net) {
  const auto nodes = static_cast<std::uint32_t>(net.graph.size());
  struct Arrival {
    std::int64_t time;
    std::uint32_t node;
    std::uint32_t from;  // 0: host, else port + 1
    std::uint64_t serial;
    Token token;
    bool operator<(const Arrival& b) const {
      return std::tie(b.time, b.node, b.from, b.serial) < std::tie(time, node, from, serial);
    }
  };
  std::priority_queue<Arrival> queue;
  std::vector<std::vector<Seen>> seen(nodes);
  std::vector<std::size_t> rotor(nodes, 0);
  std::vector<std::uint32_t> rounds(nodes, net.rounds);
  std::vector<std::vector<std::int64_t>> free(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) free[node].resize(net.graph[node].size(), 0);
  std::uint64_t serial = 0;
  const auto inject_at = [&](std::uint32_t node, std::int64_t now, std::uint32_t id) {
    if (rounds[node] == 0) return;
    --rounds[node];
    queue.push({now + host_delay.in_ticks(), node, 0, serial++, {id, net.hops + id % 3}});
  };
  for (std::uint32_t token = 0; token < net.tokens; ++token) inject_at(token % nodes, 0, token);
  while (!queue.empty()) {
    Arrival a = queue.top();
    queue.pop();
    seen[a.node].emplace_back(a.time, a.token.id, a.from == 0 ? host_port : a.from - 1);
    if (a.token.hops_left == 0) {
      inject_at(a.node, a.time + host_delay.in_ticks(), a.token.id);
      continue;
    }
    --a.token.hops_left;
    const std::size_t place = rotor[a.node]++ % net.graph[a.node].size();
    const OutLink& link = net.graph[a.node][place];
    std::int64_t& free_at = free[a.node][place];
    free_at = std::max(free_at, a.time) + link.service.in_ticks();
    queue.push({free_at + link.delay.in_ticks(), link.to, link.port + 1, serial++, a.token});
  }
  return seen;
}

TEST(BatchProcess, DoesInWindowsWhatASequentialOracleDoesEventByEvent) {
  std::uint64_t arrivals = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    // Delays up to 4 windows, and up to some thousand, which the calendar's ring does not hold.
    const Net net = random_net(seed, 5 + static_cast<std::uint32_t>(seed % 4) * 9, seed % 2 == 0 ? 4 : 4000);
    const auto expected = oracle(net);
    for (const NamedPartition& partition : partitions_of(2 * net.graph.size(), Duration::ns(60))) {
      EngineOptions options;
      options.threads = 1 + static_cast<std::uint32_t>(seed / 2 % 2);
      options.partition = partition.choice;
      Engine engine = make(net).build(options);
      engine.run({});
      for (std::uint32_t node = 0; node < net.graph.size(); ++node) {
        ASSERT_EQ(engine.entity_as<Relay>(EntityId(node)).seen(), expected[node])
            << "seed " << seed << ", " << partition.name << ", node " << node;
        arrivals += expected[node].size();
      }
    }
  }
  EXPECT_GT(arrivals, 60'000U);
}

TEST(BatchProcess, GivesOneFingerprintForThreadsPartitionsAndRedealing) {
  const Net net = random_net(7, 24, 40);
  expect_one_fingerprint("batch_relays", partitions_of(2 * net.graph.size(), Duration::ns(60)), [&](const EngineOptions& options) {
    Engine engine = make(net).build(options);
    return engine.run({});
  });
}

// Stopping at any instant and going on changes nothing: a window cut short leaves port messages for
// the next one.
TEST(BatchProcess, GoesOnAfterAStopInTheMiddleOfAWindow) {
  const Net net = random_net(3, 9, 4);
  const auto expected = oracle(net);
  EngineOptions options;
  Engine engine = make(net).build(options);
  RunReport report;
  options.partition = partitions_of(2 * net.graph.size(), Duration::ns(60))[1].choice;
  Engine cut = make(net).build(options);
  for (std::int64_t until = 130; until < 60'000; until += 130) {
    const RunControl control{.until = Time::at_ticks(until), .interrupt = nullptr, .progress = {}};
    report = engine.run(control);
    const RunReport of_cut = cut.run(control);
    ASSERT_EQ(report.end_time, of_cut.end_time) << until;
    ASSERT_EQ(report.fingerprint.to_text(), of_cut.fingerprint.to_text()) << until;
  }
  report = engine.run({});
  EXPECT_EQ(report.fingerprint.to_text(), make(net).build(options).run({}).fingerprint.to_text());
  for (std::uint32_t node = 0; node < net.graph.size(); ++node) {
    EXPECT_EQ(engine.entity_as<Relay>(EntityId(node)).seen(), expected[node]);
  }
}

/// Sends a port message that arrives in the window in which it was sent.
class Hasty final : public BatchNode {
 public:
  WindowOutcome run_window(Time, const Arrivals& arrivals, BatchContext& context) override {
    const Time now = arrivals.events.front().key.time;
    context.send(EntityId(1), now, 0, 0);
    return {1, now, Time::max()};
  }
};

TEST(BatchProcess, StopsWhereAParcelWouldArriveInItsOwnWindow) {
  EngineBuilder builder;
  builder.add_entity(std::make_unique<Hasty>(), "hasty");
  builder.add_entity(std::make_unique<Hasty>(), "other");
  builder.connect(EntityId(0), EntityId(1), Duration::ns(10));
  builder.post_initial(EntityId(0), Time::at_ticks(500), EventClass::message, 0);
  Engine engine = std::move(builder).build({});
  try {
    engine.run({});
    FAIL() << "the port message was let through";
  } catch (const CheckFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("at t=5ns, entity \"hasty\""), std::string::npos) << failure.what();
  }
}

/// Takes events only.
class Plain final : public Entity {
 public:
  void handle(const Event&, EventContext&) override {}
};

/// Sends a port message a microsecond later.
class Sender final : public BatchNode {
 public:
  WindowOutcome run_window(Time, const Arrivals& arrivals, BatchContext& context) override {
    if (arrivals.events.empty()) return {};
    const Time now = arrivals.events.front().key.time;
    context.send(EntityId(1), now + Duration::us(1), 0, 0);
    return {1, now, Time::max()};
  }
};

// It used to end the program, since another thread received it.
TEST(BatchProcess, AParcelForAPlainEntityOfAnotherProcessStopsTheRun) {
  for (const std::uint32_t sender_worker : {0U, 1U}) {
    EngineBuilder builder;
    builder.add_entity(std::make_unique<Sender>(), "sender");
    builder.add_entity(std::make_unique<Plain>(), "plain");
    builder.connect(EntityId(0), EntityId(1), Duration::us(1));
    builder.post_initial(EntityId(0), Time::zero(), EventClass::message, 0);
    EngineOptions options;
    options.threads = 2;
    options.partition = PartitionExplicit{{LpId(sender_worker), LpId(1 - sender_worker)}};
    Engine engine = std::move(builder).build(options);
    EXPECT_THROW(engine.run({}), CheckFailure);
  }
}

// Expectation: no connection to a batch node is without delay, in one process or in several.
TEST(BatchProcess, RefusesConnectionsWithoutDelay) {
  for (const std::uint32_t lps : {1U, 2U}) {
    EngineBuilder builder;
    for (int i = 0; i < 3; ++i) builder.add_entity(std::make_unique<Sender>(), "sender");
    builder.connect(EntityId(0), EntityId(1), Duration::zero());
    builder.connect(EntityId(1), EntityId(2), Duration::us(1));
    EngineOptions options;
    options.partition = PartitionExplicit{{LpId(0), LpId(0), LpId(lps - 1)}};
    EXPECT_THROW(std::move(builder).build(options), CheckFailure);
  }
}

struct Item {
  PortMessage port_message;
};

// Random puts and takes against a sorted multiset.
TEST(PortMessageCalendar, HandsOutEverythingOnceAndInTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, 1, 0);
    const auto pick = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random.below(below)); };
    PortMessageCalendar<Item> calendar(Duration::ticks(3 + 40 * static_cast<std::int64_t>(seed)));
    std::multimap<std::int64_t, std::uint32_t> expected;
    std::int64_t end = 0;
    std::uint32_t serial = 0;
    for (int round = 0; round < 3000; ++round) {
      for (std::uint32_t i = pick(5); i > 0; --i) {
        Item item;
        const std::uint32_t reach = pick(8) == 0 ? 10'000'000 : 2000;
        item.port_message.time = Time::at_ticks(end + pick(reach));
        item.port_message.port = serial;
        expected.emplace(item.port_message.time.in_ticks(), serial++);
        calendar.put(item);
      }
      ASSERT_EQ(calendar.empty(), expected.empty());
      ASSERT_EQ(calendar.earliest().in_ticks(), expected.empty() ? Time::max().in_ticks() : expected.begin()->first);
      end = pick(50) == 0 && !expected.empty() ? expected.begin()->first + 1 : end + pick(700);
      calendar.take_due(Time::at_ticks(end), [&](const Item& item) {
        const std::int64_t time = item.port_message.time.in_ticks();
        EXPECT_LT(time, end);
        const auto [first, last] = expected.equal_range(time);
        const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == item.port_message.port; });
        ASSERT_NE(found, last);
        expected.erase(found);
      });
      ASSERT_TRUE(expected.empty() || expected.begin()->first >= end);
    }
  }
}

}  // namespace
}  // namespace weft::batch_process_test
