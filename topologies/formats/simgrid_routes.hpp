// SPDX-License-Identifier: Apache-2.0
// SimGrid routes: reads the <route> and <zoneRoute> elements of a platform.
//
// Where it sits: formats/simgrid calls it for every zone, once all hosts and links are known;
// formats/route_graph joins the links.
//
// Model: where SimGrid searches routes (Floyd, Dijkstra), the routes of the file are edges, and a
// route over several edges crosses their links one after the other, even the same link twice. A
// link of several edges is one cable only if no route takes two of them: every two of their ends
// have an edge, and two edges together always have more links than one. Otherwise each edge gets a
// cable of its own.
// Thread safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "topologies/formats/simgrid_platform.hpp"

namespace weft {

class SimgridRoutes {
 public:
  explicit SimgridRoutes(SimgridPlatform& platform) : platform_(platform) {}

  /// Adds the routes of a zone to the platform. `full`: the file lists the route of every pair
  /// (routing Full).
  void read(pugi::xml_node zone, bool full);

 private:
  using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;

  /// `first` is the zone's first route.
  void separate_edges(std::size_t first);
  bool each_two_have_an_edge(const std::vector<std::size_t>& routes, const Edges& edges) const;
  bool is_host_pair(pugi::xml_node route) const;
  bool symmetrical(pugi::xml_node route, bool complain);
  void read_zone_route(pugi::xml_node route);
  void read_route(pugi::xml_node element, const char* source, const char* destination);
  void claim_route(const ListedRoute& route, pugi::xml_node element);
  std::optional<std::uint32_t> end_of(pugi::xml_node route, const char* attribute);

  SimgridPlatform& platform_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> route_lines_;
};

}  // namespace weft
