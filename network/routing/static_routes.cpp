// SPDX-License-Identifier: Apache-2.0
#include "network/routing/static_routes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"
#include "network/routes_file.pb.h"
#include "topologies/topology.hpp"

namespace weft {

namespace {

namespace pb = routes_file;

class RoutesReader {
 public:
  RoutesReader(const pb::Routes& file, FieldPlaces places, const Topology& topology, Diagnostics& diagnostics)
      : file_(file), places_(places), topology_(topology), diagnostics_(diagnostics), marks_(topology.node_count()) {
    for (std::uint32_t i = 0; i < topology.node_count(); ++i) nodes_.emplace(topology.node_name(NodeId(i)), NodeId(i));
  }

  std::shared_ptr<const StaticRoutes> read() {
    for (int i = 0; i < file_.route_size(); ++i) read_route(i);
    diagnostics_.throw_if_errors();
    for (const auto& [to, entries] : entries_of_) {
      std::fill(marks_.begin(), marks_.end(), Mark::unseen);
      marks_[to.index()] = Mark::done;
      for (const Entry& entry : entries) {
        if (!leads_there(entry, to)) break;  // one error for each destination says enough
      }
      if (diagnostics_.error_count() >= Diagnostics::kept_errors_max) break;
    }
    diagnostics_.throw_if_errors();
    return std::move(routes_);
  }

 private:
  /// A destination of a route.
  struct Entry {
    NodeId at;
    int route = 0;  ///< number in the file
    int to = 0;     ///< number in the route
  };
  enum class Mark : std::uint8_t { unseen, open, done };
  /// Of a search: a node, and the routes from it that were not followed yet.
  struct Step {
    NodeId node;
    std::vector<LinkId> next_links;
  };

  FieldPlaces inside(int route) const { return places_.inside(file_, "route", route); }
  SourcePlace place_of(const Entry& entry) const { return inside(entry.route).of(file_.route(entry.route), "to", entry.to); }

  void read_route(int number) {
    const pb::Route& given = file_.route(number);
    if (given.at().empty() || given.to_size() == 0 || given.via().empty()) {
      diagnostics_.error("missing-field", "the route is not complete", places_.of(file_, "route", number),
                         R"(write route { at: "leaf0" to: "host6" via: "agg1" }, with as many destinations as you like)");
      return;
    }
    const std::optional<LinkId> link = link_of(given, number);
    for (int i = 0; i < given.to_size(); ++i) {
      const std::optional<NodeId> to = node_called(given.to(i), number, "to", i);
      if (!to) continue;
      const Entry entry{link ? topology_.link(*link).source : NodeId::none(), number, i};
      if (!is_endpoint(topology_.node(*to).kind)) {
        diagnostics_.error("not-an-endpoint", fmt::format("{} is no endpoint", in_quotes(given.to(i))), place_of(entry),
                           "routes lead to GPUs, or to ports of hosts without GPUs");
        continue;
      }
      if (!link) continue;
      std::vector<Entry>& entries = entries_of_[*to];
      if (routes_->add(entry.at, *to, *link)) {
        entries.push_back(entry);
        continue;
      }
      const auto first = std::find_if(entries.begin(), entries.end(), [&](const Entry& other) { return other.at == entry.at; });
      diagnostics_.error("duplicate-route", fmt::format("{} has two routes to {}", given.at(), given.to(i)), place_of(entry),
                         fmt::format("the first is at line {}; keep one of them", place_of(*first).line));
    }
  }

  std::optional<LinkId> link_of(const pb::Route& given, int number) {
    const std::optional<NodeId> at = node_called(given.at(), number, "at", 0);
    const std::optional<NodeId> via = node_called(given.via(), number, "via", 0);
    if (!at || !via) return {};
    if (topology_.node(*at).kind != NodeKind::packet_switch) {
      diagnostics_.error("not-a-switch", fmt::format("{} is no packet switch", in_quotes(given.at())),
                         inside(number).of(given, "at"),
                         "hosts choose their ports by flow.routing; routes are for the switches between them");
      return {};
    }
    std::uint32_t cables = 0;
    for (const LinkId link : topology_.out_links(*at)) {
      if (topology_.link(link).destination != *via) continue;
      if (cables++ == given.cable()) return link;
    }
    if (cables == 0) {
      std::vector<std::string> neighbours;
      for (const LinkId link : topology_.out_links(*at))
        neighbours.push_back(topology_.node_name(topology_.link(link).destination));
      diagnostics_.error("no-cable", fmt::format("no cable joins {} and {}", given.at(), given.via()),
                         inside(number).of(given, "via"),
                         suggestion(given.via(), neighbours, fmt::format("neighbour of {}", given.at())));
    } else {
      diagnostics_.error("no-cable", fmt::format("there is no cable {} between {} and {}", given.cable(), given.at(), given.via()),
                         inside(number).of(given, "cable"),
                         fmt::format("{} them, counted from 0", counted(cables, "cable joins", "cables join")));
    }
    return {};
  }

  std::optional<NodeId> node_called(const std::string& name, int route, const char* field, int index) {
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found->second;
    std::vector<std::string> known;
    // Comparing with every name is slow; errors that will not be shown need no suggestion.
    if (diagnostics_.error_count() < Diagnostics::kept_errors_max) {
      for (const auto& [known_name, node] : nodes_) known.push_back(known_name);
    }
    const std::string best = closest(name, known);
    diagnostics_.error("unknown-node", fmt::format("there is no node {}", in_quotes(name)),
                       inside(route).of(file_.route(route), field, index),
                       best.empty() ? "`weft topology convert` writes a topology with all names"
                                    : fmt::format("did you mean {}?", in_quotes(best)));
    return {};
  }

  /// Invariant 1: a search from a switch that has a route, by all routes that may be taken from
  /// there; nodes done lead there.
  bool leads_there(const Entry& entry, NodeId to) {
    if (marks_[entry.at.index()] != Mark::unseen) return true;
    steps_.clear();
    enter(entry.at, to);
    while (!steps_.empty()) {
      Step& step = steps_.back();
      if (step.next_links.empty()) {
        marks_[step.node.index()] = Mark::done;
        steps_.pop_back();
        continue;
      }
      const NodeId next = topology_.link(step.next_links.back()).destination;
      step.next_links.pop_back();
      const HostId destination_host = topology_.node(to).host;
      const bool leaves_it = topology_.node(step.node).host == destination_host && topology_.node(next).host != destination_host;
      if (next != to && (leaves_it || is_endpoint(topology_.node(next).kind))) {
        diagnostics_.error("relaying-host",
                           fmt::format("the way to {} leads through {}", topology_.node_name(to),
                                       topology_.node_name(leaves_it ? step.node : next)),
                           place_of(entry),
                           "only NICs pass anything on, and none of the destination's own host: send it to a switch");
        return false;
      }
      if (marks_[next.index()] == Mark::open) {
        tell_circle(entry, next, to);
        return false;
      }
      if (marks_[next.index()] == Mark::unseen) enter(next, to);
    }
    return true;
  }

  void enter(NodeId node, NodeId to) {
    marks_[node.index()] = Mark::open;
    steps_.push_back({node, {}});
    const LinkId route = routes_->next(node, to);
    if (route.is_none()) {
      topology_.routes().next_hops(topology_, node, to, steps_.back().next_links);
    } else {
      steps_.back().next_links = {route};
    }
  }

  /// From `again` by the steps of the search back to it.
  void tell_circle(const Entry& entry, NodeId again, NodeId to) {
    std::string circle;
    bool has_routes_only = true;
    const auto first = std::find_if(steps_.begin(), steps_.end(), [&](const Step& step) { return step.node == again; });
    for (auto step = first; step != steps_.end(); ++step) {
      circle += fmt::format("{} -> ", topology_.node_name(step->node));
      has_routes_only = has_routes_only && !routes_->next(step->node, to).is_none();
    }
    diagnostics_.error(
        "routing-loop",
        fmt::format("what goes to {} may come back: {}{}", topology_.node_name(to), circle, topology_.node_name(again)),
        place_of(entry),
        has_routes_only ? "change one of the routes of these switches"
                        : "where there is no route, any shortest path may be taken: give that switch a route, too");
  }

  const pb::Routes& file_;
  FieldPlaces places_;
  const Topology& topology_;
  Diagnostics& diagnostics_;
  std::map<std::string, NodeId, std::less<>> nodes_;
  std::shared_ptr<StaticRoutes> routes_ = std::make_shared<StaticRoutes>();
  std::map<NodeId, std::vector<Entry>> entries_of_;  ///< by destination
  std::vector<Mark> marks_;                          ///< by node
  /// From a switch with a route to where the search is.
  std::vector<Step> steps_;
};

}  // namespace

std::shared_ptr<const StaticRoutes> read_static_routes(const SourceText& source, const Topology& topology) {
  pb::Routes file;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  return RoutesReader(file, document.places(), topology, diagnostics).read();
}

}  // namespace weft
