// Searched routes: next hops for topologies without a known structure, by breadth-first search from the destination.
//
// Where it sits: TopologyBuilder::build() uses it when a builder gives no structural Routes; tests compare the structural ones with it.
// Model: one search (Boost.Graph) per destination gives every node's distance under the path rule of topology.hpp; a next hop is a link to a
// node one step nearer. Tables of recent destinations are kept in a fixed number of slots (a destination has one slot it may take),
// so memory is bounded by slots x nodes and does not grow with the square of the hosts.
// Thread safety: any thread; each slot has its own lock.
#pragma once

#include <cstddef>
#include <memory>

#include "topologies/topology.hpp"

namespace weft {

/// Slots that keep all tables within about 64 MiB, but at least 64 of them (or one per endpoint if there are fewer).
std::size_t default_route_slots(std::size_t node_count, std::size_t endpoint_count);

/// Routes over `topology`, which must be the one they are asked about later. `slots` 0: default_route_slots().
std::unique_ptr<const Routes> searched_routes(const Topology& topology, std::size_t slots = 0);

}  // namespace weft
