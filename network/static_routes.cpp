#include "network/static_routes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/counted.hpp"
#include "core/diagnostics.hpp"
#include "core/textproto.hpp"
#include "network/routes_file.pb.h"
#include "topologies/topology.hpp"

namespace weft {

namespace {

namespace pb = routes_file;

class RoutesReader {
 public:
  RoutesReader(FieldPlaces places, const Topology& topology, Diagnostics& diagnostics)
      : places_(places), topology_(topology), diagnostics_(diagnostics) {
    for (std::uint32_t i = 0; i < topology.node_count(); ++i) nodes_.emplace(topology.node_name(NodeId(i)), NodeId(i));
  }

  std::shared_ptr<const StaticRoutes> read(const pb::Routes& file) {
    for (int i = 0; i < file.route_size(); ++i) {
      read_route(file.route(i), places_.inside(file, "route", i), places_.of(file, "route", i));
    }
    diagnostics_.throw_if_errors();
    check_ways();
    diagnostics_.throw_if_errors();
    return std::move(routes_);
  }

 private:
  /// Of a search: a node, and the ways from it that were not followed yet.
  struct Step {
    NodeId node;
    std::vector<LinkId> ways;
  };

  void read_route(const pb::Route& given, const FieldPlaces& inside, const SourcePlace& whole) {
    if (given.at().empty() || given.to_size() == 0 || given.via().empty()) {
      diagnostics_.error("missing-field", "the route is not complete", whole,
                         R"(write route { at: "leaf0" to: "host6" via: "agg1" }, with as many destinations as you like)");
      return;
    }
    const std::optional<LinkId> link = link_of(given, inside);
    for (int i = 0; i < given.to_size(); ++i) {
      const SourcePlace place = inside.of(given, "to", i);
      const std::optional<NodeId> to = node_called(given.to(i), place);
      if (!to) continue;
      if (!is_endpoint(topology_.node(*to).kind)) {
        diagnostics_.error("not-an-endpoint", in_quotes(given.to(i)) + " is no endpoint", place,
                           "routes lead to GPUs, or to ports of hosts without GPUs");
        continue;
      }
      if (!link) continue;
      const NodeId at = topology_.link(*link).source;
      if (routes_->add(at, *to, *link)) {
        places_of_[*to].emplace_back(at, place);
        continue;
      }
      const auto& others = places_of_[*to];
      const auto first = std::find_if(others.begin(), others.end(), [at](const auto& other) { return other.first == at; });
      diagnostics_.error("duplicate-route", given.at() + " has two routes to " + given.to(i), place,
                         "the first is at line " + std::to_string(first->second.line) + "; keep one of them");
    }
  }

  std::optional<LinkId> link_of(const pb::Route& given, const FieldPlaces& inside) {
    const std::optional<NodeId> at = node_called(given.at(), inside.of(given, "at"));
    const std::optional<NodeId> via = node_called(given.via(), inside.of(given, "via"));
    if (!at || !via) return {};
    if (topology_.node(*at).kind != NodeKind::packet_switch) {
      diagnostics_.error("not-a-switch", in_quotes(given.at()) + " is no packet switch", inside.of(given, "at"),
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
      diagnostics_.error("no-cable", "no cable joins " + given.at() + " and " + given.via(), inside.of(given, "via"),
                         suggestion(given.via(), neighbours, "neighbour of " + given.at()));
    } else {
      diagnostics_.error("no-cable",
                         "there is no cable " + std::to_string(given.cable()) + " between " + given.at() + " and " + given.via(),
                         inside.of(given, "cable"), counted(cables, "cable joins", "cables join") + " them, counted from 0");
    }
    return {};
  }

  std::optional<NodeId> node_called(const std::string& name, const SourcePlace& place) {
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found->second;
    std::vector<std::string> known;
    // Comparing with every name is slow; errors that will not be shown need no suggestion.
    if (diagnostics_.error_count() < Diagnostics::kept_errors_max) {
      for (const auto& [known_name, node] : nodes_) known.push_back(known_name);
    }
    const std::string best = closest(name, known);
    diagnostics_.error(
        "unknown-node", "there is no node " + in_quotes(name), place,
        best.empty() ? "`weft topology convert` writes a topology with all names" : "did you mean " + in_quotes(best) + "?");
    return {};
  }

  /// Invariant 1: a search from the first hop of every route, by all ways that may be taken from there.
  void check_ways() {
    enum class Mark : std::uint8_t { unseen, open, done };
    std::vector<Mark> marks;
    std::vector<Step> steps;
    for (const auto& [to, given] : places_of_) {
      marks.assign(topology_.node_count(), Mark::unseen);
      marks[to.index()] = Mark::done;
      const auto enter = [&, to = to](NodeId node) {
        marks[node.index()] = Mark::open;
        steps.push_back({node, {}});
        const LinkId route = routes_->next(node, to);
        if (route.is_none()) {
          topology_.routes().next_hops(topology_, node, to, steps.back().ways);
        } else {
          steps.back().ways = {route};
        }
      };
      for (const auto& [at, place] : given) {
        if (marks[at.index()] != Mark::unseen) continue;
        steps.clear();
        enter(at);
        while (!steps.empty()) {
          if (steps.back().ways.empty()) {
            marks[steps.back().node.index()] = Mark::done;
            steps.pop_back();
            continue;
          }
          const NodeId next = topology_.link(steps.back().ways.back()).destination;
          steps.back().ways.pop_back();
          const HostId host = topology_.node(next).host;
          if (!host.is_none() && host != topology_.node(to).host) {
            diagnostics_.error("relaying-host",
                               "the way to " + topology_.node_name(to) + " leads through " + topology_.node_name(next), place,
                               "hosts pass nothing on: send it to a switch");
            return;
          }
          if (marks[next.index()] == Mark::open) return tell_circle(steps, next, to, place);
          if (marks[next.index()] == Mark::unseen) enter(next);
        }
      }
    }
  }

  void tell_circle(const std::vector<Step>& steps, NodeId again, NodeId to, const SourcePlace& place) {
    std::string circle;
    bool inside = false;
    for (const Step& step : steps) {
      inside = inside || step.node == again;
      if (inside) circle += topology_.node_name(step.node) + " -> ";
    }
    diagnostics_.error("routing-loop",
                       "what goes to " + topology_.node_name(to) + " may come back: " + circle + topology_.node_name(again), place,
                       "where there is no route, any shortest path may be taken: give that switch a route, too");
  }

  FieldPlaces places_;
  const Topology& topology_;
  Diagnostics& diagnostics_;
  std::map<std::string, NodeId, std::less<>> nodes_;
  std::shared_ptr<StaticRoutes> routes_ = std::make_shared<StaticRoutes>();
  std::map<NodeId, std::vector<std::pair<NodeId, SourcePlace>>> places_of_;  ///< by destination: where, and by which line
};

}  // namespace

std::shared_ptr<const StaticRoutes> read_static_routes(const SourceText& source, const Topology& topology) {
  pb::Routes file;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  return RoutesReader(document.places(), topology, diagnostics).read(file);
}

}  // namespace weft
