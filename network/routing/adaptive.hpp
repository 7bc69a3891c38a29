// SPDX-License-Identifier: Apache-2.0
// Adaptive paths: which of the shortest paths a flow takes when it is sent where least is under
// way.
//
// Where it sits: flow_fabric asks for it instead of network/routing/ecmp when `flow.routing` is
// adaptive or adaptive_global; Routes (topologies) says which next hops there are, the flow-link
// graph what is on them.
//
// Model: a flow chooses when it starts. The load that it finds on a link is
//   (flows on the link + 1) / capacity
// the share of the link that it would get if all on it were held back there, the other way up; so a
// link of half the rate counts as loaded twice, and one without capacity is the last resort. Flows
// that began earlier in the same instant count.
//   own_links    hop by hop: every node sends it over the next hop with the least load, as a switch
//                does that knows its own queues. In a Clos the way down is fixed by the spine, so
//                that flows of different leafs to one leaf may still meet there.
//   whole_paths  over the path whose most loaded link has the least load, among those links that a
//                flow may avoid; of several next hops that lead to such paths, that with the least
//                load. So would switches that knew of all others at once.
// Ties, which are the rule in an empty network, go by the hash of ECMP.
//
// docs/internals/routing.md, "Adaptive", says which hardware this stands for.
// Invariant: path() is a pure function of (topology, seed, view, arguments, the numbers of flows on
// the links).
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "network/max_min/flow_link_graph.hpp"
#include "network/routing/ecmp.hpp"

namespace weft {

class AvailableRoutes;
class Routes;
class Topology;

enum class AdaptiveView : std::uint8_t { own_links, whole_paths };

class AdaptivePaths {
 public:
  /// Keeps a reference to the topology. `seed` is that of EcmpPaths.
  AdaptivePaths(const Topology& topology, std::uint64_t seed, AdaptiveView view);

  /// From now on paths take these, which outlive this.
  void take(const AvailableRoutes& available) { available_ = &available; }

  /// Links from endpoint to endpoint, in order. Valid until the next call. `flows` has what is
  /// under way, over the topology's links. Requires: source != destination, a path exists
  /// (WEFT_CHECK).
  std::span<const LinkId> path(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair,
                               const FlowLinkGraph& flows);

 private:
  void find_hops(NodeId at, NodeId destination);
  void look_ahead(NodeId source, NodeId destination, const FlowLinkGraph& flows);

  const Topology& topology_;
  std::uint64_t seed_;
  AdaptiveView view_;
  const AvailableRoutes* available_ = nullptr;
  const Routes* routes_ = nullptr;  ///< of the path at hand
  std::vector<LinkId> links_;
  std::vector<LinkId> hops_;
  std::vector<LinkId> best_hops_;
  // Of whole paths.
  /// By node: the load of the best way to the destination, at its worst.
  std::vector<double> worst_ahead_;
  /// Links of shortest paths by distance from the source.
  std::vector<std::vector<LinkId>> levels_;
  std::vector<NodeId> nodes_;  ///< of a level
};

}  // namespace weft
