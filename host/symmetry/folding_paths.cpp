// SPDX-License-Identifier: Apache-2.0
#include "host/symmetry/folding_paths.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

namespace {

/// Nodes share one numbering, so pairs of switches and pairs of endpoints do not meet.
std::uint64_t pair_key(NodeId a, NodeId b) { return std::uint64_t{a.index()} << 32 | b.index(); }

}  // namespace

FoldingPaths::FoldingPaths(const Topology& topology, const FlowSettings& settings, std::span<const NodeId> endpoint_of_rank,
                           std::size_t hops_max, HashedWays hashed)
    : topology_(topology),
      settings_(settings),
      endpoint_of_rank_(endpoint_of_rank),
      hops_max_(hops_max),
      hashed_(hashed),
      delays_(topology, settings.switching_delay, settings.forwarding),
      inside_host_(topology),
      staging_(topology, settings),
      spray_(topology, delays_, 1, settings.path_rule.weights),
      ecmp_(topology, settings.path_rule, 1) {
  for (const NodeId endpoint : endpoint_of_rank) paths_.push_back(find_path(endpoint));
}

FoldingPaths::RankPath FoldingPaths::find_path(NodeId endpoint) const {
  // All paths to packet switches, depth first; servers are small.
  std::vector<RankPath> paths;
  std::vector<LinkId> taken;
  const auto search = [&](const auto& self, NodeId at) -> void {
    for (const LinkId link : topology_.out_links(at)) {
      const NodeId next = topology_.link(link).destination;
      const NodeKind kind = topology_.node(next).kind;
      if (!forwards(kind)) continue;
      const bool is_visited =
          std::any_of(taken.begin(), taken.end(), [&](LinkId before) { return topology_.link(before).source == next; });
      if (is_visited || paths.size() > 1) continue;
      taken.push_back(link);
      if (kind == NodeKind::packet_switch) {
        paths.push_back({next, taken, {}, {}, {}, {}});
      } else {
        self(self, next);
      }
      taken.pop_back();
    }
  };
  search(search, endpoint);
  if (paths.size() != 1) return {};
  RankPath& path = paths.front();
  for (const LinkId link : path.links) {
    path.up_delay += delays_.of(link);
    path.down_delay += delays_.of(topology_.reverse(link));
    path.crossed_down.push_back(topology_.reverse(link));
  }
  path.crossed_up = path.links;
  std::vector<double> one_each;
  staging_.add_second_crossings(path.crossed_up, one_each);
  staging_.add_second_crossings(path.crossed_down, one_each);
  return path;
}

std::optional<std::uint32_t> FoldingPaths::add_piece(const Piece& piece, std::span<const LinkId> path,
                                                     std::span<const double> path_loads) {
  std::vector<LinkId> links(path.begin(), path.end());
  std::vector<double> loads(path_loads.begin(), path_loads.end());
  if (!piece.inside_host) staging_.add_second_crossings(links, loads);
  if (hops_.size() + links.size() > hops_max_) return {};
  Piece added = piece;
  added.first = static_cast<std::uint32_t>(hops_.size());
  added.count = static_cast<std::uint32_t>(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) hops_.push_back({links[i], loads.empty() ? 1.0 : loads[i]});
  pieces_.push_back(added);
  branches_.push_back(std::any_of(loads.begin(), loads.end(), [](double load) { return load != 1.0; }));
  return static_cast<std::uint32_t>(pieces_.size() - 1);
}

bool FoldingPaths::takes_any(std::span<const double> loads) const {
  return hashed_ == HashedWays::any && settings_.routing == Routing::single && settings_.queue_pairs == 1 &&
         std::ranges::any_of(loads, [](double load) { return load != 1.0; });
}

/// Of ways over these links, ordered by distance from their start; none if they take unequally
/// long.
std::optional<PathDelay> FoldingPaths::delay_of_any(std::span<const LinkId> links) const {
  std::unordered_map<NodeId, std::size_t> hops_before;  // looked up only
  std::vector<PathDelay> by_hop;
  hops_before[topology_.link(links.front()).source] = 0;
  for (const LinkId link : links) {
    const std::size_t hop = hops_before.at(topology_.link(link).source);
    hops_before.try_emplace(topology_.link(link).destination, hop + 1);
    if (hop == by_hop.size()) by_hop.push_back(delays_.of(link));
    if (by_hop[hop] != delays_.of(link)) return std::nullopt;
  }
  PathDelay delay;
  for (const PathDelay& of_hop : by_hop) delay += of_hop;
  return delay;
}

std::optional<std::uint32_t> FoldingPaths::piece_of(std::uint32_t source, std::uint32_t destination, std::uint32_t connection) {
  const NodeId from = endpoint_of_rank_[source];
  const NodeId to = endpoint_of_rank_[destination];
  if (settings_.path_rule.routes != nullptr && !inside_host_.joins(from, to)) return piece_by_routes(from, to);
  const RankPath& up = paths_[source];
  const RankPath& down = paths_[destination];
  const bool has_ways =
      !up.packet_switch.is_none() && !down.packet_switch.is_none() && topology_.node(from).host != topology_.node(to).host;
  const std::uint64_t key = has_ways ? pair_key(up.packet_switch, down.packet_switch) : pair_key(from, to);
  auto found = between_.find(key);
  if (found == between_.end()) {
    const SprayedPath& path = spray_.path(from, to);
    Piece piece;
    piece.inside_host = inside_host_.joins(from, to);
    piece.is_whole = !has_ways;
    piece.delay = path.delay;
    std::span<const LinkId> links = path.links;
    std::span<const double> loads = path.loads;
    if (has_ways) {
      // Links are ordered by distance from the source, and both ways are single.
      const std::size_t paths = up.links.size() + down.links.size();
      WEFT_CHECK(links.size() >= paths && std::equal(up.links.begin(), up.links.end(), links.begin()),
                 "a path leaves a simply attached endpoint on its only way");
      links = links.subspan(up.links.size(), links.size() - paths);
      loads = loads.subspan(up.links.size(), links.size());
      piece.delay.fixed -= up.up_delay.fixed + down.down_delay.fixed;
      piece.delay.per_byte -= up.up_delay.per_byte + down.down_delay.per_byte;
      piece.delay.slowest_byte = 0;
      for (std::size_t i = 0; i < links.size(); ++i)
        piece.delay.slowest_byte = std::max(piece.delay.slowest_byte, delays_.of(links[i], loads[i]).slowest_byte);
    }
    if (takes_any(loads)) {
      const std::optional<PathDelay> delay = delay_of_any(links);
      if (!delay) return {};
      piece.delay = *delay;
      piece.is_hashed = true;
      loads = {};
    }
    const std::optional<std::uint32_t> number = add_piece(piece, links, loads);
    if (!number) return {};
    found = between_.emplace(key, *number).first;
  }
  if (!branches_[found->second] || settings_.routing == Routing::spray) return found->second;
  if (is_adaptive(settings_.routing) || settings_.queue_pairs > 1) return {};
  return add_path(ecmp_.path(from, to, connection, 0), pieces_[found->second].inside_host);
}

std::vector<bool> FoldingPaths::hashed_links() const {
  std::vector<bool> is_hashed(topology_.link_count(), false);
  for (const Piece& piece : pieces_) {
    if (!piece.is_hashed) continue;
    for (const Hop& hop : hops(piece)) is_hashed[hop.link.index()] = true;
  }
  return is_hashed;
}

/// A user's routes may differ for endpoints of one switch.
std::optional<std::uint32_t> FoldingPaths::piece_by_routes(NodeId from, NodeId to) {
  const auto found = between_.find(pair_key(from, to));
  if (found != between_.end()) return found->second;
  const std::optional<std::uint32_t> number = add_path(ecmp_.path(from, to, 0, 0), false);
  if (number) between_.emplace(pair_key(from, to), *number);
  return number;
}

std::optional<std::uint32_t> FoldingPaths::add_path(std::span<const LinkId> path, bool inside_host) {
  Piece whole;
  whole.is_whole = true;
  whole.inside_host = inside_host;
  for (const LinkId link : path) whole.delay += delays_.of(link);
  return add_piece(whole, path, {});
}

PathDelay FoldingPaths::delay(std::uint32_t source, std::uint32_t destination, const Piece& piece) const {
  return piece.is_whole ? piece.delay : paths_[source].up_delay + piece.delay + paths_[destination].down_delay;
}

}  // namespace weft
