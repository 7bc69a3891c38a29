// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/simgrid_routes.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

void SimgridRoutes::read(pugi::xml_node zone, bool full) {
  std::uint64_t hosts = 0;
  const std::size_t first = platform_.routes.size();
  for (const pugi::xml_node child : zone.children()) {
    if (std::string_view(child.name()) == "host") ++hosts;
    if (std::string_view(child.name()) == "route") read_route(child, "src", "dst");
    if (std::string_view(child.name()) == "zoneRoute" || std::string_view(child.name()) == "ASroute") read_zone_route(child);
  }
  if (!full) separate_edges(first);
  if (full) platform_.findings.pairs_of_full_zones += hosts * (hosts > 0 ? hosts - 1 : 0);
  for (const pugi::xml_node child : zone.children("route")) {
    if (full && is_host_pair(child)) platform_.findings.pairs_with_route += symmetrical(child, false) ? 2 : 1;
  }
}

void SimgridRoutes::separate_edges(std::size_t first) {
  Edges edges;
  std::map<std::uint32_t, std::vector<std::size_t>> users;  // routes by link, ascending
  for (std::size_t i = first; i < platform_.routes.size(); ++i) {
    edges.insert(std::minmax({platform_.routes[i].from, platform_.routes[i].to}));
    for (const std::uint32_t link : platform_.routes[i].links) {
      std::vector<std::size_t>& routes = users[link];
      if (routes.empty() || routes.back() != i) routes.push_back(i);
    }
  }
  const auto fewest = [](const ListedRoute& a, const ListedRoute& b) { return a.links.size() < b.links.size(); };
  const auto [shortest, longest] =
      std::minmax_element(platform_.routes.begin() + static_cast<std::ptrdiff_t>(first), platform_.routes.end(), fewest);
  const bool one_is_shortest = shortest != platform_.routes.end() && longest->links.size() < 2 * shortest->links.size();
  for (const auto& [link, routes] : users) {
    if (routes.size() == 1 || (one_is_shortest && each_two_have_an_edge(routes, edges))) continue;
    if (platform_.links[link].shared) ++platform_.findings.separated;
    for (std::size_t i = 1; i < routes.size(); ++i) {
      const auto copy = static_cast<std::uint32_t>(platform_.links.size());
      platform_.links.push_back(platform_.links[link]);
      platform_.policies.push_back(platform_.policies[link]);
      platform_.copies.insert(copy);
      std::vector<std::uint32_t>& of_edge = platform_.routes[routes[i]].links;
      std::replace(of_edge.begin(), of_edge.end(), link, copy);
    }
  }
}

bool SimgridRoutes::each_two_have_an_edge(const std::vector<std::size_t>& routes, const Edges& edges) const {
  std::set<std::uint32_t> ends;
  for (const std::size_t route : routes) ends.insert({platform_.routes[route].from, platform_.routes[route].to});
  if (ends.size() * (ends.size() - 1) / 2 > edges.size()) return false;
  for (auto a = ends.begin(); a != ends.end(); ++a) {
    for (auto b = std::next(a); b != ends.end(); ++b) {
      if (!edges.contains({*a, *b})) return false;
    }
  }
  return true;
}

bool SimgridRoutes::is_host_pair(pugi::xml_node route) const {
  const auto from = platform_.nodes.find(std::string_view(route.attribute("src").value()));
  const auto to = platform_.nodes.find(std::string_view(route.attribute("dst").value()));
  return from != platform_.nodes.end() && to != platform_.nodes.end() && from != to && platform_.graph.is_host(from->second) &&
         platform_.graph.is_host(to->second);
}

bool SimgridRoutes::symmetrical(pugi::xml_node route, bool complain) {
  const std::string text = route.attribute("symmetrical").value();
  if (text.empty() || text == "YES" || text == "yes") return true;
  if (text != "NO" && text != "no" && complain) {
    platform_.diagnostics.error("bad-value", fmt::format("symmetrical is YES or NO, not {}", in_quotes(text)),
                                platform_.file.place(route, "symmetrical"), "leave it out for YES");
  }
  return false;
}

void SimgridRoutes::read_zone_route(pugi::xml_node route) {
  for (const char* attribute : {"src", "dst"}) {
    const auto zone = platform_.file.required(route, attribute);
    if (zone && !platform_.zone_lines.contains(*zone)) {
      platform_.diagnostics.error("unknown-node", fmt::format("there is no zone {}", in_quotes(*zone)),
                                  platform_.file.place(route, attribute), platform_.similar(*zone, platform_.zone_lines, "zone"));
    }
  }
  read_route(route, "gw_src", "gw_dst");
}

void SimgridRoutes::read_route(pugi::xml_node element, const char* source, const char* destination) {
  const bool between_zones = std::string_view(source) == "gw_src";
  const std::vector<std::string> attributes = between_zones
                                                  ? std::vector<std::string>{"src", "dst", "gw_src", "gw_dst", "symmetrical"}
                                                  : std::vector<std::string>{"src", "dst", "symmetrical"};
  const std::vector<std::string> elements = {"link_ctn"};
  const std::vector<std::string> link_attributes = {"id", "direction"};
  const std::vector<std::string> none;
  platform_.file.check(element, attributes, elements);
  ListedRoute route;
  route.both_ways = symmetrical(element, true);
  const auto from = end_of(element, source);
  const auto to = end_of(element, destination);
  for (const pugi::xml_node child : element.children("link_ctn")) {
    platform_.file.check(child, link_attributes, none);
    const std::string direction = child.attribute("direction").value();
    if (!direction.empty() && direction != "UP" && direction != "DOWN" && direction != "NONE") {
      platform_.diagnostics.error("bad-value", fmt::format("a direction is UP, DOWN or NONE, not {}", in_quotes(direction)),
                                  platform_.file.place(child, "direction"), "leave it out for links that are not SPLITDUPLEX");
    }
    if (const auto link = platform_.link_of(child, "id")) route.links.push_back(*link);
  }
  if (!element.child("link_ctn")) {
    platform_.diagnostics.error("empty-route", "the route has no links", platform_.file.place(element),
                                "write <link_ctn id=\"...\"/> for each");
  }
  if (!from || !to || route.links.empty()) return;
  if (*from == *to) {
    ++platform_.findings.loopbacks;
    return;
  }
  route.from = *from;
  route.to = *to;
  if (!between_zones) claim_route(route, element);
  platform_.routes.push_back(std::move(route));
  platform_.route_places.push_back(element);
}

void SimgridRoutes::claim_route(const ListedRoute& route, pugi::xml_node element) {
  const int line = platform_.file.place(element).line;
  for (const bool backwards : {false, true}) {
    if (backwards && !route.both_ways) break;
    const auto pair = backwards ? std::pair(route.to, route.from) : std::pair(route.from, route.to);
    const auto [first, is_new] = route_lines_.emplace(pair, line);
    if (is_new) continue;
    platform_.diagnostics.error("duplicate-route",
                                fmt::format("there are two routes from {} to {}", in_quotes(platform_.graph.name(pair.first)),
                                            in_quotes(platform_.graph.name(pair.second))),
                                platform_.file.place(element),
                                fmt::format("the first is at line {}; symmetrical=\"NO\" makes a route one-way", first->second));
    return;
  }
}

std::optional<std::uint32_t> SimgridRoutes::end_of(pugi::xml_node route, const char* attribute) {
  const auto name = platform_.file.required(route, attribute);
  if (!name) return std::nullopt;
  const auto found = platform_.nodes.find(*name);
  if (found != platform_.nodes.end()) return found->second;
  // Of a cluster that is itself in error nothing is known; its own error says enough.
  if (platform_.diagnostics.has_errors() && platform_.nodes.empty()) return std::nullopt;
  platform_.diagnostics.error("unknown-node", fmt::format("there is no host or router {}", in_quotes(*name)),
                              platform_.file.place(route, attribute),
                              name->find("_router") != std::string::npos
                                  ? "only FLAT clusters have a router, called PREFIX + ID + _router + SUFFIX or as router_id says"
                                  : platform_.similar(*name, platform_.node_lines, "host or router"));
  return std::nullopt;
}

}  // namespace weft
