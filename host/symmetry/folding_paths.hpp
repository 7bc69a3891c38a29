// SPDX-License-Identifier: Apache-2.0
// Folding paths: the paths of many messages, put together from pieces that they share.
//
// Where it sits: host/symmetry/rank_folding looks at every message of a job several times; it asks
// here for what each crosses.
//
// Model: an endpoint with a single way to a first packet switch is simply attached. Between two
// such endpoints of different hosts every sprayed path is the way up to the one's switch, the paths
// between the two switches, and the way down from the other's: the middle is the same for all
// endpoints of the two switches. Where the middle branches and paths are hashed, a message has a
// piece of its own, or one with all the ways that hashing may choose from (HashedWays). For
// everything else (inside a host, several ports, routes that a user gave), it has one of its own or
// shares it with messages between the same endpoints.
// Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/inside_host.hpp"
#include "network/flow/staging.hpp"
#include "network/routing/ecmp.hpp"
#include "network/routing/spray.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// How hashed messages are looked at where ways branch.
enum class HashedWays : std::uint8_t {
  own,  ///< each takes its own
  any,  ///< each may take any: all of it may cross each link of any way
};

class FoldingPaths {
 public:
  struct Piece {
    std::uint32_t first = 0;  ///< of its hops
    std::uint32_t count = 0;
    bool is_whole = false;     ///< or between the paths of both endpoints
    bool inside_host = false;  ///< other latencies, no headers
    bool is_hashed = false;    ///< its hops are those of several ways, which take equally long
    PathDelay delay;
  };
  struct Hop {
    LinkId link;
    double load = 1;
  };

  /// Keeps references. Endpoints of ranks are given by rank; `hops_max` bounds the hops of pieces.
  FoldingPaths(const Topology& topology, const FlowSettings& settings, std::span<const NodeId> endpoint_of_rank,
               std::size_t hops_max, HashedWays hashed);
  FoldingPaths(const FoldingPaths&) = delete;
  FoldingPaths& operator=(const FoldingPaths&) = delete;

  /// Number of the piece of a message between two ranks. None if the message has queue pairs that
  /// are hashed onto different paths, if its path depends on what is under way, if the ways that it
  /// may take are not equally long, or beyond hops_max.
  std::optional<std::uint32_t> piece_of(std::uint32_t source, std::uint32_t destination, std::uint32_t connection);

  std::size_t piece_count() const { return pieces_.size(); }
  const Piece& piece(std::uint32_t number) const { return pieces_[number]; }
  std::span<const Hop> hops(const Piece& piece) const { return std::span(hops_).subspan(piece.first, piece.count); }
  /// By LinkId: whether it is a hop of a hashed piece.
  std::vector<bool> hashed_links() const;
  /// What messages that the rank sends cross on their way from its endpoint to its packet switch;
  /// empty unless it is simply attached.
  std::span<const LinkId> way_up(std::uint32_t rank) const { return paths_[rank].crossed_up; }
  /// What those that it receives cross from the switch on.
  std::span<const LinkId> way_down(std::uint32_t rank) const { return paths_[rank].crossed_down; }
  /// Delay of a whole message.
  PathDelay delay(std::uint32_t source, std::uint32_t destination, const Piece& piece) const;

 private:
  struct RankPath {
    NodeId packet_switch = NodeId::none();  ///< none(): not simply attached
    std::vector<LinkId> links;
    std::vector<LinkId> crossed_up;    ///< links, and what staging crosses again
    std::vector<LinkId> crossed_down;  ///< their reverse, and what staging crosses again
    PathDelay up_delay;
    PathDelay down_delay;
  };

  RankPath find_path(NodeId endpoint) const;
  bool takes_any(std::span<const double> loads) const;
  std::optional<PathDelay> delay_of_any(std::span<const LinkId> links) const;
  std::optional<std::uint32_t> piece_by_routes(NodeId from, NodeId to);
  std::optional<std::uint32_t> add_path(std::span<const LinkId> path, bool inside_host);
  std::optional<std::uint32_t> add_piece(const Piece& piece, std::span<const LinkId> links, std::span<const double> loads);

  const Topology& topology_;
  const FlowSettings& settings_;
  std::span<const NodeId> endpoint_of_rank_;
  std::size_t hops_max_;
  HashedWays hashed_;
  LinkDelays delays_;
  InsideHost inside_host_;
  Staging staging_;
  SprayPaths spray_;
  EcmpPaths ecmp_;
  std::vector<RankPath> paths_;  ///< by rank
  std::vector<Piece> pieces_;
  std::vector<Hop> hops_;
  std::unordered_map<std::uint64_t, std::uint32_t> between_;  ///< two switches, or two endpoints
  std::vector<bool> branches_;                                ///< by piece
};

}  // namespace weft
