// SPDX-License-Identifier: Apache-2.0
#include "network/routing/hop_weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kept = std::size_t{1} << 14;

/// Of rates: more than any link has is as good as no limit.
std::int64_t sum_up_to_unlimited(std::int64_t a, std::int64_t b) { return a > unlimited - b ? unlimited : a + b; }

/// The part of `all` that `part` of `whole` has, at least 1.
std::int64_t share_of(std::int64_t all, std::int64_t part, std::int64_t whole) {
  if (all == whole) return part;
  __extension__ using Wide = __int128;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(Wide{all} * part / whole));
}

/// The switch that all that enters or leaves an endpoint passes first or last, over one cable.
NodeId only_switch_of(const Topology& topology, NodeId endpoint) {
  const HostId host = topology.node(endpoint).host;
  NodeId at = endpoint;
  LinkId came = LinkId::none();
  for (std::size_t steps = 0; steps < topology.node_count(); ++steps) {
    LinkId onward = LinkId::none();
    for (const LinkId link : topology.out_links(at)) {
      const Node& to = topology.node(topology.link(link).destination);
      const bool ends_here = to.host == host && !forwards(to.kind);
      if (ends_here || (!came.is_none() && link == topology.reverse(came))) continue;
      if (!onward.is_none()) return NodeId::none();
      onward = link;
    }
    if (onward.is_none()) return NodeId::none();
    came = onward;
    at = topology.link(onward).destination;
    if (topology.node(at).kind == NodeKind::packet_switch) return at;
    if (topology.node(at).host != host) return NodeId::none();
  }
  return NodeId::none();
}

}  // namespace

/// Nodes by distance from the first, the destination last, so that links lead from smaller numbers
/// to larger ones.
struct HopWeights::Paths {
  std::vector<NodeId> nodes;
  std::vector<std::uint32_t> hops_begin;  ///< by node, over the following
  std::vector<std::int64_t> weights;      ///< by hop
  std::vector<std::int64_t> capacity;     ///< by node, to where its routes meet
  std::vector<std::uint32_t> meet;        ///< by node

  /// c(), by numbers.
  std::int64_t between(std::uint32_t from, std::uint32_t to) const {
    std::int64_t least = unlimited;
    for (; from != to; from = meet[from]) least = std::min(least, capacity[from]);
    return least;
  }
};

HopWeights::HopWeights(const Topology& topology, const Routes& routes, const std::vector<double>& shares)
    : topology_(topology), routes_(routes), attached_to_(topology.node_count(), NodeId::none()) {
  rates_bps_.reserve(topology.link_count());
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const std::int64_t rate_bps = topology.link(LinkId(i)).rate.in_bps();
    const double share = shares.empty() || shares[i] == 0 ? 1 : shares[i];
    rates_bps_.push_back(share == 1 ? rate_bps : std::max<std::int64_t>(1, std::llround(static_cast<double>(rate_bps) * share)));
  }
  for (const NodeId endpoint : topology.endpoints()) attached_to_[endpoint.index()] = only_switch_of(topology, endpoint);
}

NodeId HopWeights::target(NodeId at, NodeId destination) const {
  const NodeId attached = attached_to_[destination.index()];
  const bool leads_there_alike =
      !attached.is_none() && at != attached && topology_.node(at).host != topology_.node(destination).host;
  return leads_there_alike ? attached : destination;
}

HopWeights::Entry& HopWeights::entry_of(NodeId at, NodeId target) const {
  if (kept_.empty()) kept_.resize(kept);
  return kept_[mix64((std::uint64_t{at.index()} << 32) | target.index()) & (kept - 1)];
}

HopWeights::Paths HopWeights::find_paths(NodeId at, NodeId destination) const {
  Paths paths;
  std::vector<LinkId> links;  // by hop
  std::unordered_map<NodeId, std::uint32_t> number_of{{at, 0}};
  std::vector<LinkId> hops;
  paths.nodes.push_back(at);
  // Next hops lie on shortest paths, so that all nodes of one distance come before those of the
  // next.
  for (std::size_t i = 0; i < paths.nodes.size(); ++i) {
    paths.hops_begin.push_back(static_cast<std::uint32_t>(links.size()));
    const NodeId node = paths.nodes[i];
    if (node == destination) break;
    routes_.next_hops(topology_, node, destination, hops);
    WEFT_CHECK(!hops.empty(), "endpoints are mutually reachable");
    for (const LinkId hop : hops) {
      links.push_back(hop);
      const NodeId to = topology_.link(hop).destination;
      if (number_of.try_emplace(to, static_cast<std::uint32_t>(paths.nodes.size())).second) paths.nodes.push_back(to);
    }
  }
  WEFT_CHECK(paths.nodes.back() == destination, "all shortest ways end at the destination");
  const auto last = static_cast<std::uint32_t>(paths.nodes.size() - 1);
  paths.hops_begin.push_back(static_cast<std::uint32_t>(links.size()));
  paths.weights.resize(links.size());
  paths.capacity.assign(paths.nodes.size(), unlimited);
  paths.meet.assign(paths.nodes.size(), last);
  std::vector<std::int64_t> rate_to(paths.nodes.size(), 0);  // of the node at hand
  const auto far_end = [&](std::uint32_t hop) { return number_of.at(topology_.link(links[hop]).destination); };
  for (std::uint32_t node = last; node-- > 0;) {
    // Immediate post-dominators, as Cooper, Harvey and Kennedy find them ("A Simple, Fast Dominance
    // Algorithm", 2001).
    std::uint32_t meet = far_end(paths.hops_begin[node]);
    for (std::uint32_t hop = paths.hops_begin[node] + 1; hop < paths.hops_begin[node + 1]; ++hop) {
      for (std::uint32_t other = far_end(hop); other != meet;) {
        std::uint32_t& nearer = other < meet ? other : meet;
        nearer = paths.meet[nearer];
      }
    }
    paths.meet[node] = meet;
    std::int64_t sum = 0;
    for (std::uint32_t hop = paths.hops_begin[node]; hop < paths.hops_begin[node + 1]; ++hop) {
      std::int64_t& rate = rate_to[far_end(hop)];
      rate = sum_up_to_unlimited(rate, rates_bps_[links[hop].index()]);
    }
    for (std::uint32_t hop = paths.hops_begin[node]; hop < paths.hops_begin[node + 1]; ++hop) {
      const std::int64_t rate = rate_to[far_end(hop)];
      const std::int64_t carried = std::min(rate, paths.between(far_end(hop), meet));
      paths.weights[hop] = share_of(carried, rates_bps_[links[hop].index()], rate);
    }
    for (std::uint32_t hop = paths.hops_begin[node]; hop < paths.hops_begin[node + 1]; ++hop) {
      // Of several next hops to one node, the first counts for all.
      const std::int64_t rate = std::exchange(rate_to[far_end(hop)], 0);
      sum = sum_up_to_unlimited(sum, std::min(rate, paths.between(far_end(hop), meet)));
    }
    paths.capacity[node] = sum;
  }
  return paths;
}

void HopWeights::weigh(NodeId at, NodeId destination, std::span<const LinkId> hops, std::vector<std::int64_t>& weights) const {
  if (hops.size() == 1) return weights.assign(1, rates_bps_[hops.front().index()]);
  {
    const std::lock_guard lock(mutex_);
    const NodeId to = target(at, destination);
    const Entry& known = entry_of(at, to);
    if (!known.weights.empty() && known.at == at && known.target == to) {
      weights = known.weights;
      WEFT_CHECK(weights.size() == hops.size(), "destinations of one switch have the same next hops");
      return;
    }
  }
  const Paths paths = find_paths(at, destination);
  weights.assign(paths.weights.begin(), paths.weights.begin() + paths.hops_begin[1]);
  WEFT_CHECK(weights.size() == hops.size(), "next hops are those of the routes");
  const std::lock_guard lock(mutex_);
  for (std::uint32_t node = 0; node + 1 < paths.nodes.size(); ++node) {
    const auto begin = paths.weights.begin() + paths.hops_begin[node];
    const auto end = paths.weights.begin() + paths.hops_begin[node + 1];
    if (end - begin == 1) continue;
    const NodeId to = target(paths.nodes[node], destination);
    Entry& entry = entry_of(paths.nodes[node], to);
    entry.at = paths.nodes[node];
    entry.target = to;
    entry.weights.assign(begin, end);
  }
}

Bandwidth HopWeights::capacity(NodeId at, NodeId destination) const {
  const Paths paths = find_paths(at, destination);
  return Bandwidth::bps(paths.between(0, static_cast<std::uint32_t>(paths.nodes.size() - 1)));
}

std::size_t choice_by_weight(std::uint64_t mixed, std::span<const std::int64_t> weights) {
  __extension__ using Wide = unsigned __int128;
  Wide sum = 0;
  for (const std::int64_t weight : weights) sum += static_cast<Wide>(weight);
  // Rounded down to 64 bits, so that the product has 128.
  int shift = 0;
  while ((sum >> shift) >> 64 != 0) ++shift;
  Wide place = ((Wide{mixed} * (sum >> shift)) >> 64) << shift;
  std::size_t choice = 0;
  for (; place >= static_cast<Wide>(weights[choice]); ++choice) place -= static_cast<Wide>(weights[choice]);
  return choice;
}

}  // namespace weft
