// SPDX-License-Identifier: Apache-2.0
#include "network/routing/ecmp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "core/check.hpp"
#include "core/values/random.hpp"
#include "network/routing/path_delay.hpp"
#include "tests/network/test_topologies.hpp"

namespace weft::ecmp_test {
namespace {

constexpr std::size_t kCache = 1 << 10;

std::vector<LinkId> path_of(EcmpPaths& paths, NodeId a, NodeId b, std::uint32_t connection, std::uint32_t queue_pair) {
  const auto path = paths.path(a, b, connection, queue_pair);
  return {path.begin(), path.end()};
}

TEST(EcmpPaths, AreConnectedShortestAndTheSameWhenAskedAgain) {
  const auto topology = built("fat_tree", {{"k", "4"}});
  EcmpPaths paths(*topology, {.seed = 1}, kCache);
  const auto endpoints = topology->endpoints();
  for (const NodeId a : endpoints) {
    for (const NodeId b : endpoints) {
      if (a == b) continue;
      const std::vector<LinkId> path = path_of(paths, a, b, 7, 0);
      NodeId at = a;
      for (const LinkId link : path) {
        ASSERT_EQ(topology->link(link).source, at);
        at = topology->link(link).destination;
      }
      EXPECT_EQ(at, b);
      EXPECT_EQ(path, path_of(paths, a, b, 7, 0));
    }
  }
}

TEST(EcmpPaths, DoNotDependOnTheCache) {
  const auto topology = built("fat_tree", {{"k", "4"}});
  EcmpPaths large(*topology, {.seed = 1}, 1 << 16);
  EcmpPaths none(*topology, {.seed = 1}, 1);
  RandomStream random(1, 0, 1);
  const auto endpoints = topology->endpoints();
  for (int i = 0; i < 5000; ++i) {
    const NodeId a = endpoints[random.below(endpoints.size())];
    const NodeId b = endpoints[random.below(endpoints.size())];
    if (a == b) continue;
    const auto connection = static_cast<std::uint32_t>(random.below(4));
    const auto queue_pair = static_cast<std::uint32_t>(random.below(4));
    ASSERT_EQ(path_of(large, a, b, connection, queue_pair), path_of(none, a, b, connection, queue_pair));
  }
}

// Paths inside hosts and, over spines, of more links than are kept beside each other; a cache that
// grows, and one that begins anew all the time.
TEST(EcmpPaths, KnowDelaysAndSlowestLinks) {
  const auto topology = built("clos", {{"hosts", "16"},
                                       {"gpus_per_host", "2"},
                                       {"hosts_per_leaf", "2"},
                                       {"leafs_per_pod", "2"},
                                       {"aggs_per_pod", "2"},
                                       {"spines", "4"},
                                       {"agg_uplink_rate", "200Gbps"}});
  const LinkDelays delays(*topology, Duration::ns(300), Forwarding::store_and_forward);
  for (const PathRule::Choice choice : {PathRule::Choice::by_hash, PathRule::Choice::by_destination}) {
    const PathRule rule{.choice = choice, .seed = 1};
    EcmpPaths growing(*topology, rule, 1 << 16, &delays);
    EcmpPaths small(*topology, rule, 3, &delays);
    RandomStream random(1, 0, 1);
    const auto endpoints = topology->endpoints();
    std::size_t longest = 0;
    for (int i = 0; i < 10'000; ++i) {
      const NodeId a = endpoints[random.below(endpoints.size())];
      const NodeId b = endpoints[random.below(endpoints.size())];
      if (a == b) continue;
      const auto connection = static_cast<std::uint32_t>(random.below(2));
      const std::vector<LinkId> path = ecmp_path(*topology, rule, a, b, connection, 0);
      PathDelay delay;
      double slowest_bps = std::numeric_limits<double>::infinity();
      for (const LinkId link : path) {
        delay += delays.of(link);
        slowest_bps = std::min(slowest_bps, static_cast<double>(topology->link(link).rate.in_bps()));
      }
      const auto expect_found = [&](const EcmpPaths::Path& found) {
        ASSERT_TRUE(std::ranges::equal(found.links, path));
        ASSERT_EQ(found.delay, delay);
        ASSERT_EQ(found.slowest_bps, slowest_bps);
      };
      for (EcmpPaths* const paths : {&growing, &small}) {
        expect_found(paths->find(a, b, connection, 0));
        expect_found(paths->find_once(a, b, connection, 0));
      }
      longest = std::max(longest, path.size());
    }
    EXPECT_GT(longest, 6U);
  }
}

// From one corner of a k = 8 fat tree to another there are 16 paths. 16,000 connections over them:
// binomial with mean 1,000 and standard deviation 31, so that every path is within 5 deviations;
// aggregation and core choices are independent, or some paths would stay empty.
TEST(EcmpPaths, SpreadEvenlyOverAllShortestPaths) {
  const auto topology = built("fat_tree", {{"k", "8"}});
  EcmpPaths paths(*topology, {.seed = 5}, kCache);
  const auto endpoints = topology->endpoints();
  std::map<std::vector<LinkId>, int> count;
  for (std::uint32_t connection = 0; connection < 16000; ++connection) {
    ++count[path_of(paths, endpoints.front(), endpoints.back(), connection, 0)];
  }
  EXPECT_EQ(count.size(), 16U);
  for (const auto& [path, n] : count) EXPECT_NEAR(n, 1000, 5 * 31);
}

TEST(EcmpPaths, QueuePairsAndSeedsHashDifferently) {
  const auto topology = built("fat_tree", {{"k", "8"}});
  const auto endpoints = topology->endpoints();
  std::set<std::vector<LinkId>> by_queue_pair, by_seed;
  EcmpPaths paths(*topology, {.seed = 1}, kCache);
  for (std::uint32_t i = 0; i < 64; ++i) {
    by_queue_pair.insert(path_of(paths, endpoints.front(), endpoints.back(), 0, i));
    EcmpPaths seeded(*topology, {.seed = i}, kCache);
    by_seed.insert(path_of(seeded, endpoints.front(), endpoints.back(), 0, 0));
  }
  // 64 draws from 16 paths miss a given one with probability (15/16)^64 = 1.6 %.
  EXPECT_GE(by_queue_pair.size(), 13U);
  EXPECT_GE(by_seed.size(), 13U);
}

// A fat tree of 128 hosts has as many ways up from a pod as hosts in it. Routes by destination give
// each to one destination of another pod, so that under any shift by whole pods, where no two send
// to one destination, no link is used twice - nor on the way down, where a destination has one way.
TEST(EcmpPaths, ByDestinationShiftPermutationsNeverMeet) {
  const auto topology = built("fat_tree", {{"k", "8"}});
  const auto endpoints = topology->endpoints();
  EcmpPaths paths(*topology, {.choice = PathRule::Choice::by_destination}, kCache);
  for (const std::size_t shift : {16U, 32U, 64U, 112U}) {
    std::set<LinkId> used;
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      for (const LinkId link : path_of(paths, endpoints[i], endpoints[(i + shift) % endpoints.size()], i % 3, i % 5)) {
        EXPECT_TRUE(used.insert(link).second) << "shift by " << shift;
      }
    }
  }
}

// Neither do they where servers have several GPUs: 16 servers of 4 GPUs, two on each leaf, whose
// eight cables meet eight aggregation switches; and rails of 16 on 16 spines.
TEST(EcmpPaths, ByDestinationAlsoWhereHostsHaveSeveralGpus) {
  for (const char* builder : {"clos", "rail_optimized"}) {
    const auto topology =
        builder == std::string("clos")
            ? built(
                  "clos",
                  {{"hosts", "16"}, {"gpus_per_host", "4"}, {"nics_per_host", "4"}, {"hosts_per_leaf", "2"}, {"aggs_per_pod", "8"}})
            : built("rail_optimized", {{"hosts", "32"}, {"hosts_per_leaf_group", "16"}, {"spines", "16"}});
    const auto endpoints = topology->endpoints();
    EcmpPaths paths(*topology, {.choice = PathRule::Choice::by_destination}, kCache);
    std::set<LinkId> used;
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      for (const LinkId link : path_of(paths, endpoints[i], endpoints[(i + endpoints.size() / 2) % endpoints.size()], 0, 0)) {
        EXPECT_TRUE(used.insert(link).second) << builder << ": " << topology->link_name(link);
      }
    }
  }
}

// With two source ports the queue pairs of a pair of hosts take at most two ways, in turn;
// connections share them.
TEST(EcmpPaths, QueuePairsOfOneSourcePortTakeOneWay) {
  const auto topology = built("fat_tree", {{"k", "8"}});
  const auto endpoints = topology->endpoints();
  std::set<std::vector<LinkId>> ways;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EcmpPaths paths(*topology, {.seed = seed, .source_ports = 2}, kCache);
    const auto even = path_of(paths, endpoints.front(), endpoints.back(), 0, 0);
    const auto odd = path_of(paths, endpoints.front(), endpoints.back(), 0, 1);
    for (std::uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(path_of(paths, endpoints.front(), endpoints.back(), i, 1), i % 2 == 0 ? odd : even);
    }
    ways.insert({even, odd});
  }
  // 16 draws from 16 paths: fewer than 6 different ones come up less than once in ten thousand
  // times.
  EXPECT_GE(ways.size(), 6U);
}

TEST(PartOf, AddsUpExactlyAndDiffersByAtMostAByte) {
  for (const std::int64_t size : {0, 1, 7, 8, 9, 1'000'003}) {
    for (const std::uint32_t parts : {1U, 2U, 3U, 8U}) {
      Bytes sum;
      for (std::uint32_t i = 0; i < parts; ++i) {
        const Bytes part = part_of(Bytes::of(size), parts, i);
        EXPECT_GE(part.count(), size / parts);
        EXPECT_LE(part.count(), size / parts + 1);
        sum += part;
      }
      EXPECT_EQ(sum, Bytes::of(size));
    }
  }
  EXPECT_THROW(part_of(Bytes::of(1), 0, 0), CheckFailure);
}

}  // namespace
}  // namespace weft::ecmp_test
