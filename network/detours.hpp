// Detours: the ways that the network takes while some of its links are out.
//
// Where it sits: flow_fabric owns one and says which links to avoid; network/ecmp, spray and adaptive ask it for the next hops of a path. In packet mode
// network/route_manager makes one for each version of the ways.
//
// Model: without links to avoid, the topology's own routes. Otherwise the shortest ways that are left, searched (topologies/searched_routes); where there
// is none left from the source, the topology's own as if nothing was out: what takes them waits at the link that is.
// Threads: between() may be called by any while avoid() is not.
#pragma once

#include <memory>
#include <vector>

#include "topologies/topology.hpp"

namespace weft {

class Detours {
 public:
  /// Keeps a reference.
  explicit Detours(const Topology& topology) : topology_(topology) {}

  /// From now on. `avoided` is by LinkId, alike in both directions; only links outside hosts may be.
  void avoid(const std::vector<bool>& avoided);
  /// For a whole path. Valid until avoid(). Requires: source != destination.
  const Routes& between(NodeId source, NodeId destination) const;
  /// Whether a way is left. Requires: source != destination.
  bool connects(NodeId source, NodeId destination) const;

 private:
  const Topology& topology_;
  std::unique_ptr<const Routes> around_;  ///< null: nothing is out
};

}  // namespace weft
