// SPDX-License-Identifier: Apache-2.0
// Searched routes: next hops found by breadth-first search, for topologies of any shape.
//
// Where it sits: TopologyBuilder::build() uses it when it is handed no structural Routes, that is
// for every topology that was read link by link; tests compare the structural ones with it.
//
// Model: one Boost.Graph breadth-first search gives every node's distance in links to a destination
// under the path rule of topology.hpp; the next hops of a node are its links to nodes one link
// nearer. Endpoints with the same neighbours outside their host's NVSwitches (all hosts of a leaf,
// all GPUs of a NIC) share one table of distances, since they are equally far from everything else.
// Tables are kept in a direct-mapped cache: table i uses slot i modulo slots, a newcomer replaces
// what was there. Paths inside a host are found afresh: they are a few links long.
//
// Invariants
//   1. What the cache holds never changes an answer, only its speed.
//   2. Memory is at most `slots` tables of 2 bytes per node: by default an odd number that fits
//      into 64 MiB, at least 65, never more than there are different tables.
// Thread safety: any thread may ask; one mutex per slot.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "topologies/topology.hpp"

namespace weft {

/// Tables that searched_routes() keeps for a topology of `node_count` nodes and `table_count`
/// different tables.
std::size_t default_route_slots(std::size_t node_count, std::size_t table_count);

/// Routes over `topology`, which must be the one they are asked about later. `slots` 0:
/// default_route_slots(). Ways that need a link of `is_out` (by LinkId, alike in both directions,
/// none inside hosts; empty: none at all) do not exist.
std::unique_ptr<const Routes> searched_routes(const Topology& topology, std::size_t slots = 0,
                                              const std::vector<bool>& is_out = {});

}  // namespace weft
