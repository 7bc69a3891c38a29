// SPDX-License-Identifier: Apache-2.0
// SimGrid platform: what the elements of a platform file have declared so far, and readers of the
// attributes that they share.
//
// Where it sits: formats/simgrid fills it with hosts, links and clusters, formats/simgrid_routes
// with routes; formats/simgrid_notes tells what was assumed.
// Invariants: links and policies have one entry per link; routes and route_places have one per
// route.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/source_text.hpp"
#include "topologies/formats/platform_graph.hpp"
#include "topologies/formats/route_graph.hpp"
#include "topologies/formats/simgrid_notes.hpp"
#include "topologies/formats/simgrid_units.hpp"
#include "topologies/formats/xml_file.hpp"

namespace weft {

struct SimgridPlatform {
  /// Line of the element that has the name.
  using Lines = std::map<std::string, int, std::less<>>;

  SimgridPlatform(const SourceText& text, Diagnostics& errors)
      : source(text), file(text, "platform", "a SimGrid platform", errors, "trace"), diagnostics(errors), units(errors) {}

  /// True if the name is new among its kind; adds [duplicate-name] otherwise.
  bool claim(const std::string& name, pugi::xml_node element, Lines& lines, const char* what);
  void add_node(const std::string& name, std::uint32_t node) { nodes.emplace(name, node); }
  /// Whether one more node fits; adds [too-large] otherwise.
  bool room_for_one(pugi::xml_node element);
  /// Number of the link that an attribute names; adds [unknown-link].
  std::optional<std::uint32_t> link_of(pugi::xml_node element, const char* attribute);
  /// Help for a name that is not known. Comparing with every name is slow; errors that will not be
  /// shown get no suggestion.
  std::string similar(const std::string& name, const Lines& lines, const std::string& what) const;

  void note_profiles(pugi::xml_node element);
  std::optional<Bandwidth> rate_of(pugi::xml_node element, const char* attribute);
  /// Zero if there is no such attribute.
  std::optional<Duration> time_of(pugi::xml_node element, const char* attribute);
  SimgridPolicy policy_of(pugi::xml_node element, const char* attribute, SimgridPolicy otherwise);
  /// The names of a cluster's hosts; adds [bad-radical], [too-large] or [duplicate-name].
  std::optional<std::vector<std::string>> hosts_of(pugi::xml_node element);

  const SourceText& source;
  XmlFile file;
  Diagnostics& diagnostics;
  SimgridUnits units;
  PlatformGraph graph;
  std::vector<RoutedLink> links;
  std::vector<SimgridPolicy> policies;  ///< per link
  std::set<std::uint32_t> copies;       ///< links that stand for another one in an edge
  std::vector<ListedRoute> routes;
  std::vector<pugi::xml_node> route_places;
  /// Hosts and routers of the file by name.
  std::map<std::string, std::uint32_t, std::less<>> nodes;
  std::map<std::string, std::uint32_t, std::less<>> link_numbers;
  Lines node_lines;
  Lines link_lines;
  Lines zone_lines;
  SimgridFindings findings;

 private:
  /// "0-3,8" as numbers.
  std::optional<std::vector<std::uint64_t>> radical_of(pugi::xml_node element);
};

}  // namespace weft
