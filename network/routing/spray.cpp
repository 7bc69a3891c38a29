// SPDX-License-Identifier: Apache-2.0
#include "network/routing/spray.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

/// What is longest of either of two paths to one node.
PathDelay longer(const PathDelay& a, const PathDelay& b) {
  return {std::max(a.fixed, b.fixed), std::max(a.per_byte, b.per_byte), std::max(a.slowest_byte, b.slowest_byte)};
}

}  // namespace

SprayPaths::SprayPaths(const Topology& topology, const LinkDelays& delays, std::size_t cache_entries, PathWeights weights)
    : topology_(topology),
      delays_(delays),
      cache_(std::bit_ceil(std::max<std::size_t>(1, cache_entries))),
      reached_(topology.node_count()),
      own_(topology, weights) {
  WEFT_CHECK(delays_.size() == topology.link_count(), "every link has a delay");
}

void SprayPaths::take(const AvailableRoutes& available) {
  available_ = &available;
  for (Entry& entry : cache_) entry.path.links.clear();
}

const SprayedPath& SprayPaths::path(NodeId source, NodeId destination) {
  WEFT_CHECK(source != destination, "a path joins two endpoints");
  const std::uint64_t ends = (std::uint64_t{source.index()} << 32) | destination.index();
  Entry& entry = cache_[mix64(ends) & (cache_.size() - 1)];
  if (!entry.path.links.empty() && entry.source == source && entry.destination == destination) return entry.path;
  entry.source = source;
  entry.destination = destination;
  SprayedPath& path = entry.path;
  path.links.clear();
  path.loads.clear();
  path.delay = {};
  const WeighedRoutes by = (available_ == nullptr ? own_ : *available_).between(source, destination);
  const auto find_hops = [&](NodeId at) {
    by.routes.next_hops(topology_, at, destination, hops_);
    WEFT_CHECK(!hops_.empty(), "endpoints are mutually reachable");
    WEFT_CHECK(path.links.size() <= topology_.link_count(), "a shortest path visits no link twice");
  };
  // Most of the way there is one next hop and nothing to divide.
  NodeId at = source;
  while (at != destination) {
    find_hops(at);
    if (hops_.size() > 1) break;
    const LinkId hop = hops_.front();
    path.links.push_back(hop);
    path.loads.push_back(1.0);
    path.delay += delays_.of(hop);
    at = topology_.link(hop).destination;
  }
  if (at == destination) return path;
  // Level by level: next hops lie on shortest paths, so every node is met at one distance only, and
  // every link once.
  level_ = {at};
  reached_[at.index()] = {1.0, path.delay};
  while (level_.front() != destination) {
    next_.clear();
    crossed_.clear();
    for (const NodeId node : level_) {
      const Reached here = std::exchange(reached_[node.index()], {});
      find_hops(node);
      double sum = static_cast<double>(hops_.size());
      if (by.weights != nullptr) {
        by.weights->weigh(node, destination, hops_, weights_);
        sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
      }
      for (std::size_t i = 0; i < hops_.size(); ++i) {
        const LinkId hop = hops_[i];
        // Equal weights divide into the same bits as none.
        const double part = here.share / (by.weights == nullptr ? sum : sum / static_cast<double>(weights_[i]));
        crossed_.emplace_back(hop, part);
        const NodeId beyond = topology_.link(hop).destination;
        Reached& there = reached_[beyond.index()];
        if (there.share == 0) next_.push_back(beyond);
        there.share += part;
        there.delay = longer(there.delay, here.delay + delays_.of(hop, part));
      }
    }
    std::sort(crossed_.begin(), crossed_.end());
    for (const auto& [link, share] : crossed_) {
      path.links.push_back(link);
      path.loads.push_back(share);
    }
    std::sort(next_.begin(), next_.end());
    level_.swap(next_);
  }
  path.delay = std::exchange(reached_[destination.index()], {}).delay;
  return path;
}

}  // namespace weft
