// SPDX-License-Identifier: Apache-2.0
// Route graph: which nodes a link joins, when all that is known are lists of links between nodes.
//
// Where it sits: formats/simgrid reads links without ends and routes such as "from A to B over l1,
// l3, l2"; this adds the cables, and the switches where links meet, to the PlatformGraph.
//
// Model
//   1. A link has two ends. What precedes it in a route and what follows it there (a link, or the
//      node at either end) stand at opposite ends. All routes together colour the neighbours of a
//      link with two colours, one per end.
//   2. Ends that meet in some route are one junction. A junction with one node is that node;
//      otherwise it is a switch, named after its links, and nodes in it that no link separates are
//      cabled to it by a cable that never limits and takes no time.
//   3. A link whose neighbours cannot be coloured - three hosts that all talk over it - is no cable
//      between two places but a bus that all its users cross. A cable with two ends cannot say
//      that; the bus becomes the switch where its neighbours meet. Each of these takes half of its
//      delay and at most its rate, so every single flow has its rate and delay; that all flows
//      together share the bus is lost.
//   4. Two links between the same junctions, each used in one direction only, are the two
//      directions of one cable.
//   5. A link that is shared by none (FATPIPE) gives every flow its rate: the cable is as wide as
//      that for all hosts at once.
// Invariants: deterministic in the order of links and routes; every used link has a cable or is a
// bus.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/formats/platform_graph.hpp"

namespace weft {

struct RoutedLink {
  std::string name;
  Bandwidth rate;
  Duration delay;
  bool shared = true;  ///< false: every flow has the rate for itself
};

/// Links in order from one node of the graph to another.
struct ListedRoute {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::vector<std::uint32_t> links;  ///< not empty
  bool both_ways = true;
};

struct JoinedLinks {
  /// Nothing for a bus and for a link that no route uses.
  std::vector<std::optional<std::uint32_t>> cable_of_link;
  std::vector<std::uint32_t> buses;
  std::vector<bool> is_used_both_ways;  ///< per link
  /// Pairs of rule 4 that differ; the cable takes the lower rate and the longer delay.
  std::uint32_t unequal_directions = 0;
};

/// Adds what the links and routes say to the graph. Requires: from != to in every route.
JoinedLinks join_by_routes(PlatformGraph& graph, const std::vector<RoutedLink>& links, const std::vector<ListedRoute>& routes);

/// How the routes of fewest links compare with those listed, for routes between hosts.
struct RouteComparison {
  std::uint64_t compared = 0;
  std::uint64_t left_out = 0;                ///< beyond a budget of work
  std::uint64_t spread = 0;                  ///< the listed one is one of several
  std::uint64_t other = 0;                   ///< the listed one is not taken
  std::optional<std::uint32_t> first_other;  ///< index of a route that is not taken
};

RouteComparison compare_routes(const PlatformGraph& graph, const PlatformGraph::Built& built, const JoinedLinks& joined,
                               const std::vector<ListedRoute>& routes);

}  // namespace weft
