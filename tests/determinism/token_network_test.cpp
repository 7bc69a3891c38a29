// SPDX-License-Identifier: Apache-2.0
// Tokens on a network with per-link delays: on a ring, where a closed form knows where each token
// ends, and on a random graph of rotor routers, where the order of simultaneous arrivals decides
// everything and a naive sequential oracle knows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/values/random.hpp"
#include "tests/determinism/fingerprint_matrix.hpp"

namespace weft::token_network_test {
namespace {

struct Token {
  std::uint32_t id = 0;
  std::uint32_t hops_left = 0;
};

struct OutLink {
  std::uint32_t to = 0;
  Duration delay;
};

using Graph = std::vector<std::vector<OutLink>>;

/// Where and when a token ended.
struct Arrival {
  std::uint32_t node = 0;
  std::int64_t ticks = 0;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

/// Sends the first token it sees along its first link, the next along the second, and so on around.
class Router final : public Entity {
 public:
  Router(const std::vector<OutLink>& out_links, std::uint32_t index) : out_links_(out_links), index_(index) {}

  void handle(const Event& event, EventContext& context) override {
    auto token = event.payload_as<Token>();
    if (token.hops_left == 0) {
      ended_[token.id] = {index_, context.now().in_ticks()};
      return;
    }
    --token.hops_left;
    const OutLink& link = out_links_[rotor_++ % out_links_.size()];
    context.send(EntityId(link.to), link.delay, 0, token);
  }

  const std::map<std::uint32_t, Arrival>& ended() const { return ended_; }

 private:
  std::vector<OutLink> out_links_;
  std::uint32_t index_;
  std::uint64_t rotor_ = 0;
  std::map<std::uint32_t, Arrival> ended_;
};

/// Token i starts at node i mod N at time zero.
EngineBuilder make(const Graph& graph, std::uint32_t tokens, std::uint32_t hops) {
  EngineBuilder builder;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    builder.add_entity(std::make_unique<Router>(graph[node], node), "router" + std::to_string(node));
  }
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    for (const OutLink& link : graph[node]) builder.connect(EntityId(node), EntityId(link.to), link.delay);
  }
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const EntityId start(token % static_cast<std::uint32_t>(graph.size()));
    builder.post_initial(start, Time::zero(), EventClass::message, 0, Token{token, hops});
  }
  return builder;
}

std::vector<Arrival> arrivals_of(const Engine& engine, std::uint32_t tokens) {
  std::vector<Arrival> arrivals(tokens);
  for (std::uint32_t node = 0; node < engine.entity_count(); ++node) {
    for (const auto& [token, arrival] : engine.entity_as<Router>(EntityId(node)).ended()) arrivals[token] = arrival;
  }
  return arrivals;
}

Graph ring_graph(std::uint32_t nodes) {
  Graph graph(nodes);
  // Delays of 50, 150, 250 ns in turn: a zeta of 100 ns joins pairs.
  for (std::uint32_t node = 0; node < nodes; ++node) graph[node] = {{(node + 1) % nodes, Duration::ns(50 + 100 * (node % 3))}};
  return graph;
}

/// Out-degree 3, delays a multiple of 100 ns up to 500 ns, so that many tokens arrive at one
/// instant.
Graph random_graph(std::uint32_t nodes, std::uint64_t seed) {
  RandomStream random(seed, 0, 0);
  Graph graph(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    while (graph[node].size() < 3) {
      const auto to = static_cast<std::uint32_t>(random.below(nodes));
      const bool taken =
          to == node || std::any_of(graph[node].begin(), graph[node].end(), [&](const OutLink& l) { return l.to == to; });
      if (!taken) graph[node].push_back({to, Duration::ns(100 * static_cast<std::int64_t>(1 + random.below(5)))});
    }
  }
  return graph;
}

/// The same, without a kernel: a sorted map from (time, class, source, source's count) to what
/// arrives.
std::vector<Arrival> oracle(const Graph& graph, std::uint32_t tokens, std::uint32_t hops) {
  using Key = std::tuple<std::int64_t, int, std::uint32_t, std::uint64_t>;
  std::map<Key, std::pair<std::uint32_t, Token>> pending;
  std::vector<std::uint64_t> sent(graph.size(), 0);
  std::vector<std::uint64_t> rotor(graph.size(), 0);
  std::vector<Arrival> arrivals(tokens);
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const auto node = token % static_cast<std::uint32_t>(graph.size());
    pending[{0, 0, node, sent[node]++}] = {node, Token{token, hops}};
  }
  while (!pending.empty()) {
    const auto [key, arrival] = *pending.begin();
    pending.erase(pending.begin());
    auto [node, token] = arrival;
    if (token.hops_left == 0) {
      arrivals[token.id] = {node, std::get<0>(key)};
      continue;
    }
    --token.hops_left;
    const OutLink& link = graph[node][rotor[node]++ % graph[node].size()];
    pending[{std::get<0>(key) + link.delay.in_ticks(), 0, node, sent[node]++}] = {link.to, token};
  }
  return arrivals;
}

TEST(TokenRing, TokensEndWhereTheClosedFormSays) {
  constexpr std::uint32_t kNodes = 30;
  constexpr std::uint32_t kTokens = 45;
  constexpr std::uint32_t kHops = 100;
  const Graph graph = ring_graph(kNodes);
  expect_one_fingerprint("token_ring", partitions_of(kNodes, Duration::ns(100)), [&](const EngineOptions& options) {
    Engine engine = make(graph, kTokens, kHops).build(options);
    const RunReport report = engine.run({});
    const std::vector<Arrival> arrivals = arrivals_of(engine, kTokens);
    for (std::uint32_t token = 0; token < kTokens; ++token) {
      // H hops from s end at s+H. Delays repeat every 3 links: 33 full rounds of 450 ns and one
      // more link, of the start's kind.
      const std::uint32_t start = token % kNodes;
      const std::int64_t expected_ns = 33 * 450 + 50 + 100 * (start % 3);
      EXPECT_EQ(arrivals[token].node, (start + kHops) % kNodes);
      EXPECT_EQ(arrivals[token].ticks, expected_ns * Duration::ticks_per_ns);
    }
    // Each token is handled once at its start and once after every hop.
    EXPECT_EQ(report.events, kTokens * (kHops + 1));
    return report;
  });
}

TEST(TokenNetwork, RotorRoutersAgreeWithTheOracle) {
  constexpr std::uint32_t kNodes = 40;
  constexpr std::uint32_t kTokens = 120;
  constexpr std::uint32_t kHops = 60;
  const Graph graph = random_graph(kNodes, 7);
  const std::vector<Arrival> expected = oracle(graph, kTokens, kHops);
  expect_one_fingerprint("token_network", partitions_of(kNodes, Duration::ns(150)), [&](const EngineOptions& options) {
    Engine engine = make(graph, kTokens, kHops).build(options);
    const RunReport report = engine.run({});
    EXPECT_EQ(arrivals_of(engine, kTokens), expected);
    return report;
  });
}

TEST(TokenNetwork, ManyGraphsAgreeWithTheOracle) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    const Graph graph = random_graph(12, seed);
    const std::vector<Arrival> expected = oracle(graph, 50, 20);
    for (const std::uint32_t threads : {1U, 3U}) {
      EngineOptions options;
      options.threads = threads;
      options.partition = PartitionByZeta{Duration::ns(static_cast<std::int64_t>(100 * (seed % 4)))};
      options.redeal_every_windows = seed % 3;
      options.alternate_every_windows = seed % 5;
      Engine engine = make(graph, 50, 20).build(options);
      engine.run({});
      EXPECT_EQ(arrivals_of(engine, 50), expected) << "graph " << seed << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace weft::token_network_test
