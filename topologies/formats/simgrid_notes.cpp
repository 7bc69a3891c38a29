// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/simgrid_notes.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/formats/simgrid_platform.hpp"

namespace weft {

std::vector<std::string> simgrid_notes(const SimgridPlatform& platform, const JoinedLinks& joined) {
  SimgridFindings findings = platform.findings;
  std::set<std::uint32_t> used = findings.used_in_stars;
  for (const ListedRoute& route : platform.routes) {
    std::copy_if(route.links.begin(), route.links.end(), std::inserter(used, used.end()),
                 [&](std::uint32_t link) { return !platform.copies.contains(link); });
  }
  for (const std::uint32_t link : used) {
    const bool one_way = platform.policies[link] == SimgridPolicy::shared && !joined.is_used_both_ways[link] &&
                         !findings.both_ways_in_stars.contains(link);
    if (!one_way) findings.count_policy(platform.policies[link], 1);
  }
  if (findings.half_duplex > 0) {
    findings.assumptions.push_back(fmt::format("{} the full rate in each direction; in SimGrid both directions share it",
                                               counted(findings.half_duplex, "SHARED link has", "SHARED links have")));
  }
  if (findings.fat_pipes > 0) {
    findings.assumptions.push_back(
        fmt::format("{} as wide as all hosts need at once; a single flow is capped by its other links only",
                    counted(findings.fat_pipes, "FATPIPE link is", "FATPIPE links are")));
  }
  // Of buses that are FATPIPE the note above says enough.
  std::vector<std::uint32_t> buses;
  std::copy_if(joined.buses.begin(), joined.buses.end(), std::back_inserter(buses),
               [&](std::uint32_t link) { return platform.links[link].shared; });
  if (!buses.empty()) {
    std::vector<std::string> names;
    constexpr std::size_t named_max = 3;
    for (std::size_t i = 0; i < std::min(buses.size(), named_max); ++i) names.push_back(in_quotes(platform.links[buses[i]].name));
    if (buses.size() > named_max) names.emplace_back("...");
    findings.assumptions.push_back(fmt::format(
        "{} ({}) became a switch: every flow has its rate and delay, that they share it together is lost",
        counted(buses.size(), "link that all its users cross", "links that all their users cross"), fmt::join(names, ", ")));
  }
  if (findings.separated > 0) {
    findings.assumptions.push_back(
        fmt::format("{} of several edges between which routes are searched became one cable per edge: every flow has its rate and "
                    "delay, that the edges share it is lost",
                    counted(findings.separated, "link", "links")));
  }
  const std::uint64_t unused = platform.links.size() - platform.copies.size() - used.size();
  if (unused > 0)
    findings.assumptions.push_back(fmt::format("{} in no route and left out", counted(unused, "link is", "links are")));
  if (joined.unequal_directions + findings.unequal > 0) {
    findings.assumptions.push_back(
        fmt::format("{} the lower rate and the longer delay of its two directions, which differ in the file",
                    counted(joined.unequal_directions + findings.unequal, "cable has", "cables have")));
  }
  const auto left_out = [&](std::uint64_t count, const char* one, const char* many) {
    if (count > 0) findings.assumptions.push_back(fmt::format("{} left out", counted(count, one, many)));
  };
  left_out(findings.bypasses, "bypass route is", "bypass routes are");
  left_out(findings.settings, "setting of SimGrid is", "settings of SimGrid are");
  left_out(findings.profiles, "availability profile is", "availability profiles are");
  left_out(findings.loopbacks, "loopback is", "loopbacks are");
  if (findings.limiters > 0) findings.assumptions.push_back("limiter links cap each direction of a host, not both together");
  if (platform.graph.cable_count() > 1) {
    findings.assumptions.emplace_back(
        "switches and routers add flow.switching_delay to the delays of the file; in SimGrid they take no time, as "
        "with --set=flow.switching_delay=0ns");
  }
  if (platform.units.without_unit() > 0) {
    findings.assumptions.push_back(fmt::format("{} no unit: rates are Bps and times seconds, as in SimGrid",
                                               counted(platform.units.without_unit(), "value has", "values have")));
  }
  if (findings.pairs_with_route < findings.pairs_of_full_zones) {
    findings.assumptions.push_back(
        fmt::format("{} of {} pairs of hosts have no route in the file; here the links of the others join them",
                    findings.pairs_of_full_zones - findings.pairs_with_route, findings.pairs_of_full_zones));
  }
  return findings.assumptions;
}

void add_simgrid_notes(const SimgridPlatform& platform, const RouteComparison& comparison, std::vector<std::string>& assumptions) {
  if (comparison.other > 0) {
    const ListedRoute& route = platform.routes[*comparison.first_other];
    assumptions.push_back(
        fmt::format("{} of {} between hosts are not taken, such as that of line {} between {} and {}: there are ways over fewer "
                    "links, or a link serves several places",
                    comparison.other, counted(comparison.compared, "route", "routes"),
                    platform.file.place(platform.route_places[*comparison.first_other]).line,
                    in_quotes(platform.graph.name(route.from)), in_quotes(platform.graph.name(route.to))));
  }
  if (comparison.spread > 0) {
    assumptions.push_back(fmt::format("{} of {} between hosts share their traffic with other ways over as few links",
                                      comparison.spread, counted(comparison.compared, "route", "routes")));
  }
  if (comparison.left_out > 0) {
    assumptions.push_back(
        fmt::format("{} not compared with those of fewest links", counted(comparison.left_out, "route was", "routes were")));
  }
}

}  // namespace weft
