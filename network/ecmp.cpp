#include "network/ecmp.hpp"

#include <algorithm>
#include <bit>

#include "core/check.hpp"
#include "core/fingerprint.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio: spreads small numbers

}  // namespace

EcmpHash::EcmpHash(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
  const std::uint64_t ends = (std::uint64_t{source.index()} << 32) | destination.index();
  tuple_ = mix64(mix64(ends + kGolden) ^ ((std::uint64_t{connection} << 32) | queue_pair));
}

std::size_t EcmpHash::choice(std::uint64_t seed, NodeId at, std::size_t n) const {
  if (n == 1) return 0;
  return spread(mix64(tuple_ ^ mix64(seed + kGolden * (at.index() + 1))), n);
}

EcmpPaths::EcmpPaths(const Topology& topology, std::uint64_t seed, std::size_t cache_entries)
    : topology_(topology), seed_(seed), cache_(std::bit_ceil(std::max<std::size_t>(1, cache_entries))) {}

std::span<const LinkId> EcmpPaths::path(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair) {
  WEFT_CHECK(source != destination, "a path joins two endpoints");
  const Key key{source, destination, connection, queue_pair};
  const EcmpHash hash(source, destination, connection, queue_pair);
  Entry& entry = cache_[hash.tuple() & (cache_.size() - 1)];
  if (!entry.links.empty() && entry.key == key) return entry.links;
  entry.key = key;
  entry.links.clear();
  for (NodeId at = source; at != destination;) {
    topology_.routes().next_hops(topology_, at, destination, hops_);
    WEFT_CHECK(!hops_.empty(),
               "endpoints are mutually reachable: " + topology_.node_name(at) + " to " + topology_.node_name(destination));
    entry.links.push_back(hops_[hash.choice(seed_, at, hops_.size())]);
    at = topology_.link(entry.links.back()).destination;
    WEFT_CHECK(entry.links.size() <= topology_.node_count(), "a shortest path visits no node twice");
  }
  return entry.links;
}

Bytes part_of(Bytes size, std::uint32_t parts, std::uint32_t i) {
  WEFT_CHECK(parts > 0 && i < parts, "a size is split into one or more parts");
  const std::int64_t n = parts;
  return Bytes::of(size.count() / n + (i < size.count() % n ? 1 : 0));
}

}  // namespace weft
