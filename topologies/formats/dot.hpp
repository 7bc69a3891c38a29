// SPDX-License-Identifier: Apache-2.0
// Pictures of a topology for Graphviz.
//
// Where it sits: called by topology_writer.
//
// Both pictures stand on their hosts (rankdir=BT): switches of a tier are on one rank, tiers as
// topology_summary counts them. Edges carry the rate, with how many cables of it there are.
//   write_dot            every node; the nodes of a host are framed together
//   write_dot_overview   one box for all hosts, and one for all switches of a tier, that are alike:
//                        as many cables of the same rates to boxes that are alike themselves
//                        (colour refinement). A regular fabric of any size is a handful of boxes.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "topologies/topology.hpp"

namespace weft {

std::string write_dot(const Topology& topology);
std::string write_dot_overview(const Topology& topology);

}  // namespace weft
