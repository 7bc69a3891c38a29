// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/route_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/containers/disjoint_sets.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

constexpr std::uint8_t uncoloured = 2;

Duration half(Duration delay) { return Duration::ticks((delay.in_ticks() + 1) / 2); }

class Joiner {
 public:
  Joiner(PlatformGraph& graph, const std::vector<RoutedLink>& links, const std::vector<ListedRoute>& routes)
      : graph_(graph),
        links_(links),
        routes_(routes),
        link_count_(static_cast<std::uint32_t>(links.size())),
        node_count_(graph.node_count()),
        junctions_(2 * links.size() + graph.node_count()),
        neighbours_(links.size()),
        is_bus_(links.size(), false) {}

  JoinedLinks join() {
    collect_neighbours();
    unite_ends();
    add_hubs();
    add_cables();
    return std::move(joined_);
  }

 private:
  struct Neighbour {
    std::uint32_t of;  ///< a link, or link_count_ + a node
    std::uint8_t colour = uncoloured;
  };
  struct Meeting {
    std::uint32_t link;
    std::uint32_t before;
    std::uint32_t after;
    bool both_ways;
  };

  std::uint32_t before(const ListedRoute& route, std::size_t i) const {
    return i == 0 ? link_count_ + route.from : route.links[i - 1];
  }
  std::uint32_t after(const ListedRoute& route, std::size_t i) const {
    return i + 1 == route.links.size() ? link_count_ + route.to : route.links[i + 1];
  }

  void collect_neighbours() {
    for (const ListedRoute& route : routes_) {
      for (std::size_t i = 0; i < route.links.size(); ++i) {
        meetings_.push_back({route.links[i], before(route, i), after(route, i), route.both_ways});
      }
    }
    std::stable_sort(meetings_.begin(), meetings_.end(), [](const Meeting& a, const Meeting& b) { return a.link < b.link; });
    for (std::size_t begin = 0; begin < meetings_.size();) {
      std::size_t end = begin;
      while (end < meetings_.size() && meetings_[end].link == meetings_[begin].link) ++end;
      colour(begin, end);
      begin = end;
    }
  }

  /// Rule 1 for the meetings of one link; marks it as a bus if its neighbours have no two colours.
  void colour(std::size_t begin, std::size_t end) {
    const std::uint32_t link = meetings_[begin].link;
    std::vector<Neighbour>& neighbours = neighbours_[link];
    for (std::size_t i = begin; i < end; ++i) {
      neighbours.push_back({meetings_[i].before});
      neighbours.push_back({meetings_[i].after});
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) { return a.of < b.of; });
    neighbours.erase(
        std::unique(neighbours.begin(), neighbours.end(), [](const Neighbour& a, const Neighbour& b) { return a.of == b.of; }),
        neighbours.end());
    std::vector<std::vector<std::uint32_t>> opposite(neighbours.size());
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t a = index_of(link, meetings_[i].before);
      const std::uint32_t b = index_of(link, meetings_[i].after);
      opposite[a].push_back(b);
      opposite[b].push_back(a);
      if (meetings_[i].before == link || meetings_[i].after == link) is_bus_[link] = true;
    }
    // In the order of the routes: what comes first stands before the link.
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t first = index_of(link, meetings_[i].before);
      if (neighbours[first].colour != uncoloured) continue;
      neighbours[first].colour = 0;
      std::vector<std::uint32_t> frontier = {first};
      while (!frontier.empty()) {
        const std::uint32_t at = frontier.back();
        frontier.pop_back();
        for (const std::uint32_t other : opposite[at]) {
          if (neighbours[other].colour == uncoloured) {
            neighbours[other].colour = static_cast<std::uint8_t>(1 - neighbours[at].colour);
            frontier.push_back(other);
          } else if (neighbours[other].colour == neighbours[at].colour) {
            is_bus_[link] = true;
          }
        }
      }
    }
  }

  std::uint32_t index_of(std::uint32_t link, std::uint32_t neighbour) const {
    const auto& neighbours = neighbours_[link];
    const auto at = std::lower_bound(neighbours.begin(), neighbours.end(), neighbour,
                                     [](const Neighbour& a, std::uint32_t of) { return a.of < of; });
    return static_cast<std::uint32_t>(at - neighbours.begin());
  }

  std::uint8_t colour_of(std::uint32_t link, std::uint32_t neighbour) const {
    return neighbours_[link][index_of(link, neighbour)].colour;
  }

  /// The end of `of` that faces `neighbour`; a node has one.
  std::uint32_t end_facing(std::uint32_t of, std::uint32_t neighbour) const {
    if (of >= link_count_) return 2 * link_count_ + (of - link_count_);
    return 2 * of + colour_of(of, neighbour);
  }

  void unite_ends() {
    for (std::uint32_t link = 0; link < link_count_; ++link) {
      if (is_bus_[link]) junctions_.join(2 * link, 2 * link + 1);
      for (const Neighbour& neighbour : neighbours_[link]) {
        junctions_.join(2 * link + neighbour.colour, end_facing(neighbour.of, link));
      }
    }
    for (std::uint32_t link = 0; link < link_count_; ++link) {
      if (!neighbours_[link].empty() && junctions_.leader(2 * link) == junctions_.leader(2 * link + 1)) {
        is_bus_[link] = true;
        joined_.buses.push_back(link);
      }
    }
  }

  struct Junction {
    std::vector<std::uint32_t> nodes;
    std::vector<std::uint32_t> links;  ///< ascending, each once
    std::uint32_t hub = 0;
    std::optional<std::uint32_t> bus;
    Bandwidth rate;  ///< of its cables together
  };

  void add_hubs() {
    for (std::uint32_t link = 0; link < link_count_; ++link) {
      if (neighbours_[link].empty()) continue;
      for (const std::uint32_t end : {2 * link, 2 * link + 1}) {
        Junction& junction = hubs_[junctions_.leader(end)];
        if (!junction.links.empty() && junction.links.back() == link) continue;
        junction.links.push_back(link);
        junction.rate = PlatformGraph::sum(junction.rate, width(link));
        if (is_bus_[link] && !junction.bus) junction.bus = link;
      }
    }
    for (std::uint32_t node = 0; node < node_count_; ++node) {
      const auto found = hubs_.find(junctions_.leader(2 * link_count_ + node));
      if (found != hubs_.end()) found->second.nodes.push_back(node);
    }
    for (auto& [root, junction] : hubs_) add_hub(junction);
  }

  void add_hub(Junction& junction) {
    const auto is_switch = [&](std::uint32_t node) { return !graph_.is_host(node); };
    if (!junction.bus && junction.nodes.size() == 1) {
      junction.hub = junction.nodes[0];
      return;
    }
    if (!junction.bus && std::count_if(junction.nodes.begin(), junction.nodes.end(), is_switch) == 1) {
      junction.hub = *std::find_if(junction.nodes.begin(), junction.nodes.end(), is_switch);
    } else {
      std::string name = links_[junction.bus.value_or(junction.links[0])].name;
      if (!junction.bus && junction.links.size() > 1) name += fmt::format("+{}", links_[junction.links[1]].name);
      junction.hub = graph_.add_switch(name);
    }
    for (const std::uint32_t node : junction.nodes) {
      if (node == junction.hub) continue;
      const bool on_bus = junction.bus && is_neighbour(*junction.bus, link_count_ + node);
      if (on_bus) {
        graph_.join(node, junction.hub, width(*junction.bus), half(links_[*junction.bus].delay));
      } else {
        graph_.join(node, junction.hub, junction.rate, Duration::zero());
      }
    }
  }

  bool is_neighbour(std::uint32_t link, std::uint32_t neighbour) const {
    const std::uint32_t index = index_of(link, neighbour);
    return index < neighbours_[link].size() && neighbours_[link][index].of == neighbour;
  }

  /// Rule 5.
  Bandwidth width(std::uint32_t link) const {
    const Bandwidth rate = links_[link].rate;
    if (links_[link].shared) return rate;
    const std::int64_t most = link_rate_max.in_bps() / std::max<std::int64_t>(rate.in_bps(), 1);
    return rate * std::clamp<std::int64_t>(graph_.host_count(), 1, std::max<std::int64_t>(most, 1));
  }

  void add_cables() {
    joined_.cable_of_link.assign(link_count_, std::nullopt);
    std::vector<std::uint8_t> directions(link_count_, 0);
    for (const Meeting& meeting : meetings_) {
      const std::uint8_t along = colour_of(meeting.link, meeting.before) == 0 ? 1 : 2;
      directions[meeting.link] |= meeting.both_ways ? 3 : along;
    }
    joined_.is_used_both_ways.resize(link_count_);
    for (std::uint32_t link = 0; link < link_count_; ++link) joined_.is_used_both_ways[link] = directions[link] == 3;
    // One-way links that wait for their partner, by the junctions they lead from and to.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> waiting;
    std::vector<std::optional<std::uint32_t>> partner(link_count_);
    for (std::uint32_t link = 0; link < link_count_; ++link) {
      if (is_bus_[link] || (directions[link] != 1 && directions[link] != 2)) continue;
      std::uint32_t from = junctions_.leader(2 * link);
      std::uint32_t to = junctions_.leader(2 * link + 1);
      if (directions[link] == 2) std::swap(from, to);
      auto& against = waiting[{to, from}];
      if (against.empty()) {
        waiting[{from, to}].push_back(link);
      } else {
        partner[link] = against.front();
        partner[against.front()] = link;
        against.erase(against.begin());
      }
    }
    for (std::uint32_t link = 0; link < link_count_; ++link) {
      if (neighbours_[link].empty() || is_bus_[link]) continue;
      if (partner[link] && *partner[link] < link) {
        joined_.cable_of_link[link] = joined_.cable_of_link[*partner[link]];
        continue;
      }
      auto [rate, delay] = share_of(link);
      if (partner[link]) {
        const auto [other_rate, other_delay] = share_of(*partner[link]);
        if (other_rate != rate || other_delay != delay) ++joined_.unequal_directions;
        rate = std::min(rate, other_rate);
        delay = std::max(delay, other_delay);
      }
      const std::uint32_t a = hubs_.at(junctions_.leader(2 * link)).hub;
      const std::uint32_t b = hubs_.at(junctions_.leader(2 * link + 1)).hub;
      joined_.cable_of_link[link] = graph_.join(a, b, rate, delay);
    }
  }

  /// A link's rate and delay with what buses next to it add (rule 3).
  std::pair<Bandwidth, Duration> share_of(std::uint32_t link) const {
    Bandwidth rate = width(link);
    Duration delay = links_[link].delay;
    for (const Neighbour& neighbour : neighbours_[link]) {
      if (neighbour.of >= link_count_ || !is_bus_[neighbour.of]) continue;
      delay += half(links_[neighbour.of].delay);
      if (links_[neighbour.of].shared) rate = std::min(rate, links_[neighbour.of].rate);
    }
    return {rate, std::min(delay, link_delay_max)};
  }

  PlatformGraph& graph_;
  const std::vector<RoutedLink>& links_;
  const std::vector<ListedRoute>& routes_;
  std::uint32_t link_count_;
  std::uint32_t node_count_;
  DisjointSets junctions_;
  std::vector<Meeting> meetings_;
  std::vector<std::vector<Neighbour>> neighbours_;  ///< per link, ascending
  std::vector<bool> is_bus_;
  std::map<std::uint32_t, Junction> hubs_;
  JoinedLinks joined_;
};

enum class Taken : std::uint8_t { alone, spread, other };

/// Follows the routes of fewest links from a host to another along the listed cables.
class Walk {
 public:
  Walk(const PlatformGraph::Built& built, const JoinedLinks& joined)
      : topology_(*built.topology), joined_(joined), built_(built), is_listed_(topology_.link_count() / 2, false) {
    for (const auto& cable : joined.cable_of_link) {
      if (cable) is_listed_[built.cables[*cable].index() / 2] = true;
    }
  }

  std::uint64_t work() const { return work_; }

  Taken along(NodeId from, NodeId to, const std::vector<std::uint32_t>& links) {
    std::vector<std::uint32_t> expected;
    for (const std::uint32_t link : links) {
      if (joined_.cable_of_link[link]) expected.push_back(built_.cables[*joined_.cable_of_link[link]].index() / 2);
    }
    Taken taken = Taken::alone;
    std::size_t next = 0;
    NodeId at = from;
    while (at != to) {
      topology_.routes().next_hops(topology_, at, to, hops_);
      work_ += topology_.out_links(at).size();
      const auto wanted = std::find_if(hops_.begin(), hops_.end(), [&](LinkId hop) {
        return next < expected.size() ? hop.index() / 2 == expected[next] : !is_listed_[hop.index() / 2];
      });
      const auto own = std::find_if(hops_.begin(), hops_.end(), [&](LinkId hop) { return !is_listed_[hop.index() / 2]; });
      LinkId hop;
      if (wanted != hops_.end()) {
        hop = *wanted;
        if (next < expected.size()) ++next;
      } else if (own != hops_.end()) {
        hop = *own;
      } else {
        return Taken::other;
      }
      if (hops_.size() > 1) taken = Taken::spread;
      at = topology_.link(hop).destination;
    }
    return next == expected.size() ? taken : Taken::other;
  }

 private:
  const Topology& topology_;
  const JoinedLinks& joined_;
  const PlatformGraph::Built& built_;
  std::vector<bool> is_listed_;
  std::vector<LinkId> hops_;
  std::uint64_t work_ = 0;
};

}  // namespace

JoinedLinks join_by_routes(PlatformGraph& graph, const std::vector<RoutedLink>& links, const std::vector<ListedRoute>& routes) {
  return Joiner(graph, links, routes).join();
}

RouteComparison compare_routes(const PlatformGraph& graph, const PlatformGraph::Built& built, const JoinedLinks& joined,
                               const std::vector<ListedRoute>& routes) {
  constexpr std::uint64_t work_max = 50'000'000;
  struct Direction {
    std::uint32_t to;
    std::uint32_t route;
    bool backwards;
  };
  std::vector<Direction> directions;
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    if (!graph.is_host(routes[i].from) || !graph.is_host(routes[i].to)) continue;
    directions.push_back({routes[i].to, i, false});
    if (routes[i].both_ways) directions.push_back({routes[i].from, i, true});
  }
  // By destination: routes to one destination are searched together.
  std::stable_sort(directions.begin(), directions.end(), [](const Direction& a, const Direction& b) { return a.to < b.to; });
  RouteComparison comparison;
  Walk walk(built, joined);
  std::uint64_t searches = 0;
  for (std::size_t i = 0; i < directions.size(); ++i) {
    if (i == 0 || directions[i].to != directions[i - 1].to) {
      searches += built.topology->link_count() + built.topology->node_count();
    }
    if (walk.work() + searches > work_max) {
      comparison.left_out = directions.size() - i;
      break;
    }
    const ListedRoute& route = routes[directions[i].route];
    std::vector<std::uint32_t> links = route.links;
    if (directions[i].backwards) std::reverse(links.begin(), links.end());
    const NodeId from = built.nodes[directions[i].backwards ? route.to : route.from];
    const Taken taken = walk.along(from, built.nodes[directions[i].to], links);
    ++comparison.compared;
    if (taken == Taken::spread) ++comparison.spread;
    if (taken != Taken::other) continue;
    ++comparison.other;
    if (!comparison.first_other) comparison.first_other = directions[i].route;
  }
  return comparison;
}

}  // namespace weft
