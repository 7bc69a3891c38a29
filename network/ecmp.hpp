// ECMP paths: which of the shortest paths a flow takes, by hashing as switches do.
//
// Where it sits: flow_fabric asks for the path of every queue pair of a transfer; Routes (topologies) says which next hops there are.
//
// Model: at every node with n next hops towards the destination the flow takes number floor(n x h / 2^64), where h is a hash of (source,
// destination, connection, queue pair) seeded by the run's ECMP seed and the node. Equal tuples take equal paths; each switch hashes
// independently of the others, so that there is no polarisation. A transfer is split over n queue pairs (QP scaling), each with its own hash.
//
// Paths are kept in a cache of bounded size, direct mapped: an entry is overwritten by the next tuple that maps to it. What is cached shows
// in no result.
//
// Invariant: path() is a pure function of (topology, seed, arguments).
// Threads: EcmpPaths belongs to one; the rest are pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace weft {

class Topology;

/// What switches hash of a queue pair.
class EcmpHash {
 public:
  EcmpHash(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair);

  /// Which of `n` next hops the node `at` takes. Requires: n >= 1.
  std::size_t choice(std::uint64_t seed, NodeId at, std::size_t n) const;
  /// The tuple's hash, the same at every node.
  std::uint64_t tuple() const { return tuple_; }

 private:
  std::uint64_t tuple_;
};

/// Links from endpoint to endpoint, in order. Requires: source != destination, a path exists (WEFT_CHECK).
std::vector<LinkId> ecmp_path(const Topology& topology, std::uint64_t seed, NodeId source, NodeId destination,
                              std::uint32_t connection, std::uint32_t queue_pair);

/// The same, of which many are kept.
class EcmpPaths {
 public:
  /// Keeps a reference to the topology. `cache_entries` >= 1 is rounded up to a power of two.
  EcmpPaths(const Topology& topology, std::uint64_t seed, std::size_t cache_entries);

  /// ecmp_path(), valid until the next call.
  std::span<const LinkId> path(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair);

 private:
  struct Key {
    NodeId source;
    NodeId destination;
    std::uint32_t connection = 0;
    std::uint32_t queue_pair = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::vector<LinkId> links;  ///< empty = unused entry
  };

  const Topology& topology_;
  std::uint64_t seed_;
  std::vector<Entry> cache_;
  std::vector<LinkId> hops_;
};

/// `size` in `parts` parts that differ by at most one byte and add up exactly; the i-th, with the larger ones first.
Bytes part_of(Bytes size, std::uint32_t parts, std::uint32_t i);

}  // namespace weft
