#include "network/spray.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "core/check.hpp"
#include "core/fingerprint.hpp"
#include "topologies/topology.hpp"

namespace weft {

SprayPaths::SprayPaths(const Topology& topology, std::vector<Duration> delays, std::size_t cache_entries)
    : topology_(topology), delays_(std::move(delays)), cache_(std::bit_ceil(std::max<std::size_t>(1, cache_entries))) {
  WEFT_CHECK(delays_.size() == topology.link_count(), "every link has a delay");
}

const SprayedPath& SprayPaths::path(NodeId source, NodeId destination) {
  WEFT_CHECK(source != destination, "a path joins two endpoints");
  const std::uint64_t ends = (std::uint64_t{source.index()} << 32) | destination.index();
  Entry& entry = cache_[mix64(ends) & (cache_.size() - 1)];
  if (!entry.path.links.empty() && entry.source == source && entry.destination == destination) return entry.path;
  entry.source = source;
  entry.destination = destination;
  entry.path = {};
  const auto find_hops = [&](NodeId at) {
    topology_.routes().next_hops(topology_, at, destination, hops_);
    WEFT_CHECK(!hops_.empty(), "endpoints are mutually reachable");
    WEFT_CHECK(entry.path.links.size() <= topology_.link_count(), "a shortest path visits no link twice");
  };
  // Most of the way there is one next hop and nothing to divide.
  NodeId at = source;
  while (at != destination) {
    find_hops(at);
    if (hops_.size() > 1) break;
    const LinkId hop = hops_.front();
    entry.path.links.push_back(hop);
    entry.path.loads.push_back(1.0);
    entry.path.delay += delays_[hop.index()];
    at = topology_.link(hop).destination;
  }
  if (at == destination) return entry.path;
  // Level by level: next hops lie on shortest paths, so every node is met at one distance only.
  struct Reached {
    double share = 0;
    Duration delay;
  };
  std::map<NodeId, Reached> level = {{at, {1.0, entry.path.delay}}};
  std::map<LinkId, double> crossed;
  std::map<NodeId, Reached> next;
  while (!level.contains(destination)) {
    crossed.clear();
    next.clear();
    for (const auto& [node, reached] : level) {
      find_hops(node);
      for (const LinkId hop : hops_) {
        const double part = reached.share / static_cast<double>(hops_.size());
        crossed[hop] += part;
        Reached& beyond = next[topology_.link(hop).destination];
        beyond.share += part;
        beyond.delay = std::max(beyond.delay, reached.delay + delays_[hop.index()]);
      }
    }
    for (const auto& [link, share] : crossed) {
      entry.path.links.push_back(link);
      entry.path.loads.push_back(share);
    }
    level.swap(next);
  }
  entry.path.delay = level.at(destination).delay;
  return entry.path;
}

}  // namespace weft
