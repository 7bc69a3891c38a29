// SPDX-License-Identifier: Apache-2.0
#include "network/routing/ecmp.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "network/routing/static_routes.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

// 2^64 / golden ratio: spreads small numbers
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
constexpr std::size_t places_at_first = 256;

/// The tuple that switches see of a queue pair.
EcmpHash hash_of(const PathRule& rule, NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
  if (rule.source_ports == 0) return {source, destination, connection, queue_pair};
  return {source, destination, 0, (connection + queue_pair) % rule.source_ports};
}

/// Leaf by leaf, and there cable by cable.
std::uint64_t destination_number(const Topology& topology, NodeId endpoint, std::vector<LinkId>& hops) {
  const auto endpoints = topology.endpoints();
  const HostId host = topology.node(endpoint).host;
  const NodeId other = topology.node(endpoints.front()).host == host ? endpoints.back() : endpoints.front();
  NodeId leaf = endpoint;
  LinkId up;
  while (topology.node(leaf).host == host && leaf != other) {
    topology.routes().next_hops(topology, leaf, other, hops);
    up = hops.front();
    leaf = topology.link(up).destination;
  }
  std::size_t cables = 0;
  std::size_t place = 0;
  for (const LinkId down : topology.out_links(leaf)) {
    if (down == topology.reverse(up)) place = cables;
    cables += topology.node(topology.link(down).destination).host.is_none() ? 0 : 1;
  }
  return leaf.index() * cables + place;
}

/// Appends the path to `links`, which is empty. `number`: by destination, of this one. `hops` and
/// `weights` are for its own use.
void walk(const Topology& topology, const WeighedRoutes& by, const PathRule& rule, const EcmpHash& hash, std::uint64_t number,
          NodeId source, NodeId destination, std::vector<LinkId>& hops, std::vector<std::int64_t>& weights,
          std::vector<LinkId>& links) {
  WEFT_CHECK(source != destination, "a path joins two endpoints");
  const bool by_hash = rule.choice == PathRule::Choice::by_hash;
  std::uint64_t left = number;
  const auto choice = [&](NodeId at) {
    if (by_hash && by.weights != nullptr && hops.size() > 1) {
      by.weights->weigh(at, destination, hops, weights);
      return hash.choice(rule.seed, at, weights);
    }
    if (by_hash) return hash.choice(rule.seed, at, hops.size());
    const std::size_t chosen = left % hops.size();
    left /= hops.size();
    return chosen;
  };
  for (NodeId at = source; at != destination;) {
    by.routes.next_hops(topology, at, destination, hops);
    WEFT_CHECK(!hops.empty(),
               fmt::format("endpoints are mutually reachable: {} to {}", topology.node_name(at), topology.node_name(destination)));
    const LinkId chosen = hops[choice(at)];
    const LinkId route = rule.routes == nullptr ? LinkId::none() : rule.routes->next(at, destination);
    links.push_back(route.is_none() ? chosen : route);
    at = topology.link(links.back()).destination;
    WEFT_CHECK(links.size() <= topology.node_count(), "a path visits no node twice");
  }
}

}  // namespace

EcmpHash::EcmpHash(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
  const std::uint64_t ends = (std::uint64_t{source.index()} << 32) | destination.index();
  tuple_ = mix64(mix64(ends + golden) ^ ((std::uint64_t{connection} << 32) | queue_pair));
}

std::uint64_t EcmpHash::mixed(std::uint64_t seed, NodeId at) const {
  return mix64(tuple_ ^ mix64(seed + golden * (at.index() + 1)));
}

std::size_t EcmpHash::choice(std::uint64_t seed, NodeId at, std::size_t n) const { return n == 1 ? 0 : spread(mixed(seed, at), n); }

std::size_t EcmpHash::choice(std::uint64_t seed, NodeId at, std::span<const std::int64_t> weights) const {
  return choice_by_weight(mixed(seed, at), weights);
}

std::vector<LinkId> ecmp_path(const Topology& topology, const PathRule& rule, NodeId source, NodeId destination,
                              std::uint32_t connection, std::uint32_t queue_pair) {
  const AvailableRoutes own(topology, rule.weights);
  return ecmp_path(topology, own.between(source, destination), rule, source, destination, connection, queue_pair);
}

std::vector<LinkId> ecmp_path(const Topology& topology, const WeighedRoutes& routes, const PathRule& rule, NodeId source,
                              NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
  std::vector<LinkId> hops;
  std::vector<std::int64_t> weights;
  std::vector<LinkId> links;
  const std::uint64_t number =
      rule.choice == PathRule::Choice::by_destination ? destination_number(topology, destination, hops) : 0;
  walk(topology, routes, rule, hash_of(rule, source, destination, connection, queue_pair), number, source, destination, hops,
       weights, links);
  return links;
}

EcmpPaths::EcmpPaths(const Topology& topology, const PathRule& rule, std::size_t cache_entries, const LinkDelays* delays)
    : topology_(topology),
      rule_(rule),
      delays_(delays),
      entries_max_(std::max<std::size_t>(1, cache_entries)),
      cache_(std::min(places_at_first, std::bit_ceil(2 * entries_max_))),
      own_(topology, rule.weights) {}

void EcmpPaths::take(const AvailableRoutes& available) {
  available_ = &available;
  for (Entry& entry : cache_) entry.key = {};
  entries_ = 0;
}

EcmpPaths::Entry& EcmpPaths::place_of(const Key& key) {
  const EcmpHash hash = hash_of(rule_, key.source, key.destination, key.connection, key.queue_pair);
  std::size_t place = hash.tuple() & (cache_.size() - 1);
  while (!cache_[place].key.source.is_none() && cache_[place].key != key) place = (place + 1) & (cache_.size() - 1);
  return cache_[place];
}

void EcmpPaths::make_room() {
  if (entries_ == entries_max_) {
    for (Entry& entry : cache_) entry.key = {};
    entries_ = 0;
  } else if (2 * entries_ >= cache_.size()) {
    std::vector<Entry> before(2 * cache_.size());
    before.swap(cache_);
    for (Entry& entry : before) {
      if (!entry.key.source.is_none()) place_of(entry.key) = std::move(entry);
    }
  }
}

std::uint64_t EcmpPaths::number_of(NodeId destination) {
  if (numbers_.empty()) numbers_.resize(topology_.node_count());
  std::optional<std::uint64_t>& number = numbers_[destination.index()];
  if (!number) number = destination_number(topology_, destination, hops_);
  return *number;
}

EcmpPaths::Path EcmpPaths::find_once(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
  const WeighedRoutes routes = (available_ == nullptr ? own_ : *available_).between(source, destination);
  const std::uint64_t number = rule_.choice == PathRule::Choice::by_destination ? number_of(destination) : 0;
  links_.clear();
  walk(topology_, routes, rule_, hash_of(rule_, source, destination, connection, queue_pair), number, source, destination, hops_,
       weights_, links_);
  Path path{links_, {}, std::numeric_limits<double>::infinity()};
  for (const LinkId link : links_) {
    if (delays_ != nullptr) path.delay += delays_->of(link);
    path.slowest_bps = std::min(path.slowest_bps, static_cast<double>(topology_.link(link).rate.in_bps()));
  }
  return path;
}

void EcmpPaths::fill(Entry& entry, const Key& key) {
  const Path path = find_once(key.source, key.destination, key.connection, key.queue_pair);
  entry.key = key;
  entry.size = static_cast<std::uint32_t>(path.links.size());
  if (path.links.size() <= Entry::short_max) {
    std::ranges::copy(path.links, entry.few.begin());
  } else {
    entry.many.assign(path.links.begin(), path.links.end());
  }
  entry.delay = path.delay;
  entry.slowest_bps = path.slowest_bps;
}

EcmpPaths::Path EcmpPaths::find(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
  const Key key{source, destination, connection, queue_pair};
  Entry* entry = &place_of(key);
  if (entry->key.source.is_none()) {
    make_room();
    entry = &place_of(key);
    fill(*entry, key);
    ++entries_;
  }
  return {entry->links(), entry->delay, entry->slowest_bps};
}

}  // namespace weft
