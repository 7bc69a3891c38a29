// SPDX-License-Identifier: Apache-2.0
// Spray: a flow spread over all of its shortest paths, evenly or by their capacity, as packet
// spraying does on average.
//
// Where it sits: flow_fabric asks for it instead of network/routing/ecmp when `flow.routing` is
// spray; Routes (topologies) says which next hops there are.
//
// Model: at every node what arrives is divided evenly among the next hops towards the destination,
// or by their weights (network/routing/hop_weights). A link carries the fraction of the flow that
// reaches it: its load. No two flows collide by chance. Reordering costs nothing here; a network
// that sprays has to pay for it elsewhere.
//
// Paths are kept in a cache of bounded size, direct mapped, as in network/routing/ecmp.
// Invariants: 1. paths are a pure function of the topology and of what is out or slow; 2. the loads
// of links that leave the source add up to 1, as do those that enter the destination.
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "network/routing/available_routes.hpp"
#include "network/routing/hop_weights.hpp"
#include "network/routing/path_delay.hpp"

namespace weft {

class Topology;

/// All shortest paths from one endpoint to another.
struct SprayedPath {
  std::vector<LinkId> links;  ///< every link once, ordered by distance from the source, then by id
  std::vector<double> loads;  ///< by link: which part of the flow crosses it, in (0, 1]
  PathDelay delay;            ///< of the slowest path: when the last part has arrived
};

class SprayPaths {
 public:
  /// Keeps references. `cache_entries` >= 1 is rounded up to a power of two.
  SprayPaths(const Topology& topology, const LinkDelays& delays, std::size_t cache_entries,
             PathWeights weights = PathWeights::equal);

  /// They have changed. From now on paths take them; they outlive this.
  void take(const AvailableRoutes& available);

  /// Valid until the next call. Requires: source != destination, a path exists (WEFT_CHECK).
  const SprayedPath& path(NodeId source, NodeId destination);

 private:
  struct Entry {
    NodeId source;
    NodeId destination;
    SprayedPath path;  ///< no links = unused entry
  };
  /// A node of the level that a search stands at, or of the next.
  struct Reached {
    double share = 0;  ///< of the flow; 0 elsewhere
    PathDelay delay;
  };

  const Topology& topology_;
  const LinkDelays& delays_;
  std::vector<Entry> cache_;
  std::vector<Reached> reached_;  ///< by node
  std::vector<NodeId> level_;     ///< ascending
  std::vector<NodeId> next_;
  std::vector<std::pair<LinkId, double>> crossed_;
  std::vector<LinkId> hops_;
  std::vector<std::int64_t> weights_;           ///< of hops_
  AvailableRoutes own_;                         ///< nothing is out
  const AvailableRoutes* available_ = nullptr;  ///< null: own_
};

}  // namespace weft
