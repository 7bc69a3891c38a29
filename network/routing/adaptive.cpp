// SPDX-License-Identifier: Apache-2.0
#include "network/routing/adaptive.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/check.hpp"
#include "network/routing/available_routes.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

/// What one more flow finds on a link; infinite without capacity.
double load_with_one_more(const FlowLinkGraph& flows, LinkId link) {
  return static_cast<double>(flows.members(link).size() + 1) / flows.capacity(link);
}

}  // namespace

AdaptivePaths::AdaptivePaths(const Topology& topology, std::uint64_t seed, AdaptiveView view)
    : topology_(topology), seed_(seed), view_(view) {
  if (view == AdaptiveView::whole_paths) worst_ahead_.resize(topology.node_count());
}

void AdaptivePaths::find_hops(NodeId at, NodeId destination) {
  routes_->next_hops(topology_, at, destination, hops_);
  WEFT_CHECK(!hops_.empty(), "endpoints are mutually reachable");
}

void AdaptivePaths::look_ahead(NodeId source, NodeId destination, const FlowLinkGraph& flows) {
  // Next hops lie on shortest paths, so every node is met at one distance only.
  std::size_t depth = 0;
  nodes_.assign(1, source);
  while (nodes_.front() != destination) {
    WEFT_CHECK(depth < topology_.node_count(), "a shortest path visits no node twice");
    if (levels_.size() == depth) levels_.emplace_back();
    std::vector<LinkId>& level = levels_[depth++];
    level.clear();
    for (const NodeId node : nodes_) {
      find_hops(node, destination);
      level.insert(level.end(), hops_.begin(), hops_.end());
    }
    nodes_.clear();
    for (const LinkId link : level) nodes_.push_back(topology_.link(link).destination);
    std::sort(nodes_.begin(), nodes_.end());
    nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  }
  worst_ahead_[destination.index()] = 0;
  while (depth > 0) {
    const std::vector<LinkId>& level = levels_[--depth];
    for (const LinkId link : level) worst_ahead_[topology_.link(link).source.index()] = std::numeric_limits<double>::infinity();
    for (const LinkId link : level) {
      // What all paths cross tells none of them from the others.
      const double here = level.size() == 1 ? 0.0 : load_with_one_more(flows, link);
      double& worst = worst_ahead_[topology_.link(link).source.index()];
      worst = std::min(worst, std::max(here, worst_ahead_[topology_.link(link).destination.index()]));
    }
  }
}

std::span<const LinkId> AdaptivePaths::path(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair,
                                            const FlowLinkGraph& flows) {
  WEFT_CHECK(source != destination, "a path joins two endpoints");
  routes_ = available_ == nullptr ? &topology_.routes() : &available_->between(source, destination).routes;
  if (view_ == AdaptiveView::whole_paths) look_ahead(source, destination, flows);
  // Worst load of the path, and load of its first link; the smaller, the better.
  const auto judge = [&](LinkId hop) {
    const double load = load_with_one_more(flows, hop);
    if (view_ == AdaptiveView::own_links) return std::pair(load, load);
    return std::pair(std::max(load, worst_ahead_[topology_.link(hop).destination.index()]), load);
  };
  const EcmpHash hash(source, destination, connection, queue_pair);
  links_.clear();
  for (NodeId at = source; at != destination;) {
    find_hops(at, destination);
    best_hops_.clear();
    auto best = judge(hops_.front());
    for (const LinkId hop : hops_) {
      const auto load = judge(hop);
      if (load > best) continue;
      if (load < best) best_hops_.clear();
      best = load;
      best_hops_.push_back(hop);
    }
    links_.push_back(best_hops_[hash.choice(seed_, at, best_hops_.size())]);
    at = topology_.link(links_.back()).destination;
    WEFT_CHECK(links_.size() <= topology_.node_count(), "a shortest path visits no node twice");
  }
  return links_;
}

}  // namespace weft
