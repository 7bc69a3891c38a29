// SPDX-License-Identifier: Apache-2.0
// AvailableRoutes: the routes that the network takes while some of its links are out.
//
// Where it sits: flow_fabric owns one and says which links to avoid; network/routing/ecmp, spray
// and adaptive ask it for the next hops of a path. In packet mode network/routing/route_manager
// makes one for each version of the routes.
//
// Model: without links to avoid, the topology's own routes. Otherwise the shortest paths that are
// left, searched (topologies/searched_routes); where there is none left from the source, the
// topology's own as if nothing was out: what takes them waits at the link that is. Where next hops
// are weighed by capacity (network/routing/hop_weights), weights are of these routes and of what
// links carry now.
// Threads: between() may be called by any while avoid() is not.
#pragma once

#include <memory>
#include <vector>

#include "network/routing/hop_weights.hpp"
#include "topologies/topology.hpp"

namespace weft {

class AvailableRoutes {
 public:
  /// Keeps a reference.
  explicit AvailableRoutes(const Topology& topology, PathWeights weights = PathWeights::equal);

  /// From now on. `avoided` is by LinkId, alike in both directions; only links outside hosts may
  /// be. `shares` likewise: of their rates that links carry (HopWeights), which matters to weights
  /// only.
  void avoid(const std::vector<bool>& avoided, const std::vector<double>& shares = {});
  /// For a whole path. Valid until avoid(). Requires: source != destination.
  WeighedRoutes between(NodeId source, NodeId destination) const;
  /// Whether a route is left. Requires: source != destination.
  bool connects(NodeId source, NodeId destination) const;

 private:
  const Topology& topology_;
  PathWeights weights_;
  std::unique_ptr<const Routes> around_;  ///< null: nothing is out
  /// Of the topology's own routes; null: all alike.
  std::unique_ptr<const HopWeights> own_weights_;
  std::unique_ptr<const HopWeights> around_weights_;
};

}  // namespace weft
