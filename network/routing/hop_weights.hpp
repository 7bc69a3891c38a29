// Hop weights: what each next hop towards a destination can carry, so that traffic is divided by capacity (WCMP).
//
// Where it sits: network/routing/available_routes makes them where `flow.path_weights` is capacity; network/routing/ecmp, spray and switch_tree ask for them
// at nodes that have several next hops, and packet_topology for the ports of a switch that sprays.
//
// Model: as routing that learns the capacity of ways on does (Zhou et al., "WCMP: Weighted Cost Multipathing for Improved Fairness
// in Data Centers", EuroSys 2014; W-ECMP over BGP's link bandwidth community, RFC 10005). All shortest ways from a node v to a
// destination meet again at some node, at the destination at the latest; let m(v) be the first such node. With R(v, u) the rates of
// the next hops of v that lead to u together, and c(u, u) unlimited,
//   what goes by u:                    C(v, u) = min( R(v, u), c(u, m(v)) )
//   capacity from v to w:              c(v, w) = min( sum over u of C(v, u), c(m(v), w) )    for w at which all ways from v meet
//   weight of a next hop h of v to u:  rate(h) C(v, u) / R(v, u), which is min( rate(h), c(u, m(v)) ) where no other leads to u
// so a bottleneck further on counts for the next hops that lead there, and what all ways have in common behind m(v), such as the
// cable of the destination, for none: it tells no next hop from another, and others share it. Where ways only divide and meet again
// (Clos, fat tree, rails) capacities are those of the largest flow over shortest ways; where they cross, they are bounds of it.
// Where all next hops have the same weight, choice_by_weight() is spread(): nothing changes.
//
// Rates are those of the topology times the shares that the network has noticed of them (network/routing/cable_outages).
// Weights are found for all nodes on the ways from a node at once, and kept for a bounded number of nodes and destinations, direct
// mapped. Destinations behind one cable to a switch share theirs.
//
// Invariants: 1. weights are a pure function of (topology, routes, rates, arguments), at least 1 bit per second; what is kept shows
// in no result.
// Threads: any may ask.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

class Routes;
class Topology;

/// How next hops of equal cost share what goes to a destination.
enum class PathWeights : std::uint8_t {
  equal,     ///< alike
  capacity,  ///< by HopWeights
};

class HopWeights {
 public:
  /// Keeps references. `shares` is by LinkId: of its rate that a link has now; empty: all of each. 0 counts as all of it, since who
  /// goes by a cable that is out goes as if it was not.
  HopWeights(const Topology& topology, const Routes& routes, const std::vector<double>& shares = {});

  /// Replaces `weights` by those of `hops`, the next hops of `at` towards an endpoint by these routes, in bits per second.
  /// Requires: at != destination.
  void weigh(NodeId at, NodeId destination, std::span<const LinkId> hops, std::vector<std::int64_t>& weights) const;
  /// c(at, destination). Requires: a way exists, at != destination.
  Bandwidth capacity(NodeId at, NodeId destination) const;

 private:
  /// All shortest ways from a node to a destination.
  struct Paths;
  struct Entry {
    NodeId at;
    NodeId target;
    std::vector<std::int64_t> weights;  ///< empty: unused
  };

  Paths find_paths(NodeId at, NodeId destination) const;
  /// What destinations have in common that nodes elsewhere lead to alike: the switch behind the only cable of their host's port, or
  /// an endpoint itself.
  NodeId target(NodeId at, NodeId destination) const;
  Entry& entry_of(NodeId at, NodeId target) const;

  const Topology& topology_;
  const Routes& routes_;
  std::vector<std::int64_t> rates_bps_;  ///< by LinkId
  std::vector<NodeId> attached_to_;  ///< by NodeId of an endpoint: its switch; none() if it has none or several, or is no endpoint
  mutable std::mutex mutex_;
  mutable std::vector<Entry> kept_;
};

/// Divides what 64 mixed bits are spread over by weights: the index whose part of their sum floor(mixed x sum / 2^64) lies in.
/// Requires: weights > 0.
std::size_t choice_by_weight(std::uint64_t mixed, std::span<const std::int64_t> weights);

/// Next hops that paths take, and their weights.
struct WeighedRoutes {
  const Routes& routes;
  const HopWeights* weights = nullptr;  ///< null: all alike
};

}  // namespace weft
