// SPDX-License-Identifier: Apache-2.0
// ECMP paths: which of the shortest paths a flow takes, by hashing as switches do, or by its
// destination.
//
// Where it sits: flow_fabric asks for the path of every queue pair of a transfer; Routes
// (topologies) says which next hops there are.
//
// Model, by hash: at every node with n next hops towards the destination the flow takes number
// floor(n x h / 2^64), where h is a hash of (source, destination, UDP source port) seeded by the
// run's ECMP seed and the node. Equal tuples take equal paths; each switch hashes independently of
// the others, so that there is no polarisation. Where next hops are weighed by capacity
// (network/routing/hop_weights), it takes the one in whose part of the sum of weights h lies. A
// transfer is split over n queue pairs (QP scaling), each with a source port of its own unless
// there are fewer; E-ECMP hashes the queue pair's number too (Gangidi et al., SIGCOMM 2024, section
// 4.2). By destination (D-mod-k, Zahavi 2012): destinations are numbered leaf by leaf, and there
// cable by cable. The first switch with n > 1 next hops takes number d mod n, and the next goes on
// with d / n. Where the user has given a switch a route (network/routing/static_routes), that goes
// first. Next hops are those of network/routing/available_routes where links are out.
// docs/internals/routing.md has more.
//
// Invariant: path() is a pure function of (topology, rule, arguments).
// Threads: EcmpPaths belongs to one; the rest are pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/routing/available_routes.hpp"
#include "network/routing/hop_weights.hpp"
#include "network/routing/path_delay.hpp"

namespace weft {

class StaticRoutes;
class Topology;

/// Which of the shortest paths queue pairs take.
struct PathRule {
  enum class Choice : std::uint8_t { by_hash, by_destination };
  Choice choice = Choice::by_hash;
  std::uint64_t seed = 0;                                ///< of hashing
  std::shared_ptr<const StaticRoutes> routes = nullptr;  ///< by_destination: go first; null: none
  PathWeights weights = PathWeights::equal;              ///< by_hash: of next hops
  /// Queue pair q of connection c has UDP source port (c + q) mod so many; 0: each its own.
  std::uint32_t source_ports = 0;
};

/// What switches hash of a queue pair.
class EcmpHash {
 public:
  EcmpHash(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair);

  /// Which of `n` next hops the node `at` takes. Requires: n >= 1.
  std::size_t choice(std::uint64_t seed, NodeId at, std::size_t n) const;
  /// Which of as many as there are weights, which are positive.
  std::size_t choice(std::uint64_t seed, NodeId at, std::span<const std::int64_t> weights) const;
  /// The tuple's hash, the same at every node.
  std::uint64_t tuple() const { return tuple_; }

 private:
  std::uint64_t mixed(std::uint64_t seed, NodeId at) const;

  std::uint64_t tuple_;
};

/// Links from endpoint to endpoint, in order. Requires: source != destination, a path exists
/// (WEFT_CHECK).
std::vector<LinkId> ecmp_path(const Topology& topology, const PathRule& rule, NodeId source, NodeId destination,
                              std::uint32_t connection, std::uint32_t queue_pair);

/// Links from endpoint to endpoint over these routes. Requires: they connect the two.
std::vector<LinkId> ecmp_path(const Topology& topology, const WeighedRoutes& routes, const PathRule& rule, NodeId source,
                              NodeId destination, std::uint32_t connection, std::uint32_t queue_pair);

/// ECMP paths with a cache of bounded size.
class EcmpPaths {
 public:
  struct Path {
    std::span<const LinkId> links;
    PathDelay delay;         ///< zero without LinkDelays
    double slowest_bps = 0;  ///< of its links, when nothing is out
  };

  /// Keeps a reference to the topology, and to the delays if there are any. The cache grows up to
  /// `cache_entries` >= 1 as it is used; then it begins anew.
  EcmpPaths(const Topology& topology, const PathRule& rule, std::size_t cache_entries, const LinkDelays* delays = nullptr);

  /// They have changed. From now on paths take them; they outlive this.
  void take(const AvailableRoutes& available);

  /// ecmp_path(), but for routes. Valid until the next call of this or the next.
  Path find(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair);
  /// The same of a connection that is used once: the cache does not keep it.
  Path find_once(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair);
  std::span<const LinkId> path(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
    return find(source, destination, connection, queue_pair).links;
  }

 private:
  struct Key {
    NodeId source = NodeId::none();  ///< none: an unused entry
    NodeId destination;
    std::uint32_t connection = 0;
    std::uint32_t queue_pair = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// Most paths are short enough to lie with all that is asked of them.
  struct Entry {
    static constexpr std::size_t short_max = 6;
    Key key;
    std::array<LinkId, short_max> few;
    std::uint32_t size = 0;
    std::vector<LinkId> many;  ///< of longer ones
    PathDelay delay;
    double slowest_bps = 0;
    std::span<const LinkId> links() const { return {size <= short_max ? few.data() : many.data(), size}; }
  };

  /// Its own, or the unused one that it would take.
  Entry& place_of(const Key& key);
  void fill(Entry& entry, const Key& key);
  void make_room();
  std::uint64_t number_of(NodeId destination);

  const Topology& topology_;
  PathRule rule_;
  const LinkDelays* delays_;
  std::size_t entries_max_;
  std::vector<Entry> cache_;  ///< a power of two of places, at least half of which are unused
  std::size_t entries_ = 0;
  /// Of destinations, by NodeId, as they are asked for.
  std::vector<std::optional<std::uint64_t>> numbers_;
  std::vector<LinkId> links_;
  std::vector<LinkId> hops_;
  std::vector<std::int64_t> weights_;
  AvailableRoutes own_;                         ///< nothing is out
  const AvailableRoutes* available_ = nullptr;  ///< null: own_
};

}  // namespace weft
