// Adaptive paths: which of the shortest paths a flow takes when every switch sends it where least is under way.
//
// Where it sits: flow_fabric asks for it instead of network/ecmp when `flow.routing` is adaptive; Routes (topologies) says which next hops there are,
// the flow-link graph what is on them.
//
// Model: a flow chooses when it starts, hop by hop. At every node with several next hops towards the destination it takes the one with the least
//   (flows on the link + 1) / capacity
// the share of the link that the flow would get if all on it were held back there, the other way up; so a link of half the rate counts as loaded twice,
// and one without capacity is the last resort. Flows that began earlier in the same instant count. Ties, which are the rule in an empty network, go by the
// hash of ECMP. That is what the queue lengths that InfiniBand's adaptive routing, Spectrum-X and dynamic load balancing go by come to where flows fill what
// they get; a flow that is held back elsewhere counts in full, whatever its priority.
//
// The choice is local, as that of a switch is: it sees the node's own links. In a Clos the way down is fixed by the spine, so that flows of different leafs
// to one leaf may still meet there. A flow keeps its path until it ends; hardware that moves every packet or flowlet comes closer to network/spray.
//
// Invariant: path() is a pure function of (topology, seed, arguments, the numbers of flows on the links).
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "network/flow_link_graph.hpp"

namespace weft {

class Topology;

class AdaptivePaths {
 public:
  /// Keeps a reference to the topology. `seed` is that of EcmpPaths.
  AdaptivePaths(const Topology& topology, std::uint64_t seed) : topology_(topology), seed_(seed) {}

  /// Links from endpoint to endpoint, in order. Valid until the next call. `flows` has what is under way, over the topology's links.
  /// Requires: source != destination, a path exists (WEFT_CHECK).
  std::span<const LinkId> path(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair,
                               const FlowLinkGraph& flows);

 private:
  const Topology& topology_;
  std::uint64_t seed_;
  std::vector<LinkId> links_;
  std::vector<LinkId> hops_;
  std::vector<LinkId> least_loaded_;
};

}  // namespace weft
