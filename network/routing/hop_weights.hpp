// SPDX-License-Identifier: Apache-2.0
// Hop weights: the capacity of each next hop towards a destination, so that traffic is divided by
// capacity (WCMP).
//
// Where it sits: network/routing/available_routes makes them where `flow.path_weights` is capacity.
// ecmp, spray and switch_tree ask for them at nodes with several next hops, packet_topology for the
// ports of a switch that sprays.
//
// Model (Zhou et al., "WCMP: Weighted Cost Multipathing for Improved Fairness in Data Centers",
// EuroSys 2014; W-ECMP over BGP's link bandwidth community, RFC 10005): let m(v) be the first node
// at which all shortest paths from v to the destination meet again, R(v, u) the rates of the links
// from v to its next hop u together, and c(u, u) unlimited.
//   capacity by u:             C(v, u) = min(R(v, u), c(u, m(v)))
//   capacity from v to w:      c(v, w) = min(sum over u of C(v, u), c(m(v), w)), if all meet at w
//   weight of a link h to u:   rate(h) C(v, u) / R(v, u)
// A bottleneck beyond m(v) is common to all next hops and counts for none. Capacities are exact
// where paths only divide and meet again (Clos, fat tree, rails), and bounds elsewhere. Equal
// weights change nothing. Rates are those of the topology times the shares that the network has
// noticed (network/routing/cable_outages). Weights are kept for a bounded number of nodes and
// destinations.
//
// Invariant: weights are a pure function of (topology, routes, rates, arguments), at least 1 bit/s.
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
  /// Keeps references. `shares` is by LinkId: of its rate that a link has now; empty: all of each.
  /// 0 counts as all of it, since who goes by a cable that is out goes as if it was not.
  HopWeights(const Topology& topology, const Routes& routes, const std::vector<double>& shares = {});

  /// Replaces `weights` by those of `hops`, the next hops of `at` towards an endpoint by these
  /// routes, in bits per second. Requires: at != destination.
  void weigh(NodeId at, NodeId destination, std::span<const LinkId> hops, std::vector<std::int64_t>& weights) const;
  /// c(at, destination). Requires: a way exists, at != destination.
  Bandwidth capacity(NodeId at, NodeId destination) const;

 private:
  /// All shortest paths from a node to a destination.
  struct Paths;
  struct Entry {
    NodeId at;
    NodeId target;
    std::vector<std::int64_t> weights;  ///< empty: unused
  };

  Paths find_paths(NodeId at, NodeId destination) const;
  /// What destinations have in common that nodes elsewhere lead to alike: the switch behind the
  /// only cable of their host's port, or an endpoint itself.
  NodeId target(NodeId at, NodeId destination) const;
  Entry& entry_of(NodeId at, NodeId target) const;

  const Topology& topology_;
  const Routes& routes_;
  std::vector<std::int64_t> rates_bps_;  ///< by LinkId
  /// By NodeId of an endpoint: its switch; none() if it has none or several, or is no endpoint.
  std::vector<NodeId> attached_to_;
  mutable std::mutex mutex_;
  mutable std::vector<Entry> kept_;
};

/// Divides what 64 mixed bits are spread over by weights: the index whose part of their sum
/// floor(mixed x sum / 2^64) lies in. Requires: weights > 0.
std::size_t choice_by_weight(std::uint64_t mixed, std::span<const std::int64_t> weights);

/// Next hops that paths take, and their weights.
struct WeighedRoutes {
  const Routes& routes;
  const HopWeights* weights = nullptr;  ///< null: all alike
};

}  // namespace weft
