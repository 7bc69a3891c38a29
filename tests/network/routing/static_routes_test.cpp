// SPDX-License-Identifier: Apache-2.0
#include "network/routing/static_routes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "network/packet/packet_topology.hpp"
#include "network/routing/ecmp.hpp"
#include "tests/network/test_topologies.hpp"
#include "topologies/topology.hpp"
#include "topologies/topology_reader.hpp"

namespace weft::static_routes_test {
namespace {

// Three switches in a ring, with a host each.
std::shared_ptr<const Topology> triangle() {
  std::string text;
  for (const char* i : {"0", "1", "2"}) text += std::string("host { port: \"h") + i + "\" } switch { name: \"s" + i + "\" }\n";
  for (const char* ends : {"h0 s0", "h1 s1", "h2 s2", "s0 s1", "s1 s2", "s2 s0"}) {
    const std::string both = ends;
    text += "link { a: \"" + both.substr(0, 2) + "\" b: \"" + both.substr(3) + "\" rate: \"100Gbps\" fibre: \"2m\" }\n";
  }
  return read_topology(SourceText("triangle", text), "weft");
}

PathRule rule_with(const std::string& routes, const Topology& topology) {
  PathRule rule{.choice = PathRule::Choice::by_destination};
  rule.routes = read_static_routes(SourceText("routes", routes), topology);
  return rule;
}

std::string nodes_of(const Topology& topology, const std::vector<LinkId>& links) {
  std::string text = topology.node_name(topology.link(links.front()).source);
  for (const LinkId link : links) text += " " + topology.node_name(topology.link(link).destination);
  return text;
}

TEST(StaticRoutes, GoBeforeTheShortestWayAndOnlyForTheirDestination) {
  const auto topology = triangle();
  const auto ends = topology->endpoints();
  const PathRule rule = rule_with(R"(route { at: "s0" to: "h1" via: "s2" })", *topology);
  const auto path = [&](int from, int to) {
    return nodes_of(*topology,
                    ecmp_path(*topology, rule, ends[static_cast<std::size_t>(from)], ends[static_cast<std::size_t>(to)], 0, 0));
  };
  EXPECT_EQ(path(0, 1), "h0 s0 s2 s1 h1");
  EXPECT_EQ(path(1, 0), "h1 s1 s0 h0");
  EXPECT_EQ(path(0, 2), "h0 s0 s2 h2");
  EXPECT_EQ(path(2, 1), "h2 s2 s1 h1");
  // Packets go the same way.
  const PacketTopology nodes(*topology, rule);
  EXPECT_EQ(nodes_of(*topology, nodes.route(ends[0], ends[1], 0, 0).links), "h0 s0 s2 s1 h1");
}

TEST(StaticRoutes, NameOneOfParallelCables) {
  const auto topology =
      read_topology(SourceText("two", R"(host { port: "a" } host { port: "b" } switch { name: "s" } switch { name: "t" }
    link { a: "a" b: "s" rate: "100Gbps" fibre: "2m" } link { a: "b" b: "t" rate: "100Gbps" fibre: "2m" }
    link { a: "s" b: "t" rate: "100Gbps" fibre: "2m" cables: 3 })"),
                    "weft");
  const auto ends = topology->endpoints();
  std::set<LinkId> taken;
  for (const char* cable : {"0", "1", "2"}) {
    const PathRule rule = rule_with(std::string(R"(route { at: "s" to: "b" via: "t" cable: )") + cable + " }", *topology);
    taken.insert(ecmp_path(*topology, rule, ends[0], ends[1], 0, 0)[1]);
  }
  EXPECT_EQ(taken.size(), 3U);
}

// Routes at random switches to random neighbours: they are refused if the graph of all hops that
// may be taken from them has a circle in it (found by taking away, again and again, nodes from
// which no hop leads to another that is left), an endpoint, or a way out of the destination's host;
// and else every path ends. NICs that relay, NICs with a way to two leafs, endpoints that are ports
// themselves.
TEST(StaticRoutes, RandomTablesAreTakenIfAndOnlyIfTheyLeadThere) {
  const std::shared_ptr<const Topology> topologies[] = {
      built("fat_tree", {{"k", "4"}}), built("bcube", {{"n", "3"}, {"k", "1"}}),
      built("rail_optimized", {{"hosts", "2"}, {"gpus_per_host", "2"}, {"nics_per_host", "2"}, {"nic_model", "port"}}),
      built("dual_plane_rail", {{"hosts", "2"}})};
  for (const auto& topology : topologies) {
    const auto ends = topology->endpoints();
    std::vector<NodeId> switches;
    for (std::uint32_t i = 0; i < topology->node_count(); ++i) {
      if (topology->node(NodeId(i)).kind == NodeKind::packet_switch) switches.push_back(NodeId(i));
    }
    int taken = 0;
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      RandomStream random(seed, 0, 0);
      const NodeId to = ends[random.below(ends.size())];
      std::string text;
      std::map<NodeId, NodeId> via;
      for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
        const NodeId at = switches[random.below(switches.size())];
        const auto out = topology->out_links(at);
        const NodeId next = topology->link(out[random.below(out.size())]).destination;
        if (!via.emplace(at, next).second) continue;
        text += "route { at: \"" + topology->node_name(at) + "\" to: \"" + topology->node_name(to) + "\" via: \"" +
                topology->node_name(next) + "\" }\n";
      }
      const HostId host = topology->node(to).host;
      std::map<NodeId, std::set<NodeId>> hops;
      std::vector<NodeId> left;
      for (const auto& [at, next] : via) left.push_back(at);
      while (!left.empty()) {
        const NodeId at = left.back();
        left.pop_back();
        if (at == to || hops.contains(at)) continue;
        std::set<NodeId>& next = hops[at];
        if (via.contains(at)) {
          next.insert(via.at(at));
        } else if (is_endpoint(topology->node(at).kind)) {
          next.insert(at);  // never gets there
        } else {
          std::vector<LinkId> links;
          topology->routes().next_hops(*topology, at, to, links);
          for (const LinkId link : links) {
            const NodeId there = topology->link(link).destination;
            const bool leaves = topology->node(at).host == host && topology->node(there).host != host;
            next.insert(leaves ? at : there);
          }
        }
        left.insert(left.end(), next.begin(), next.end());
      }
      for (bool changes = true; changes;) {
        changes = std::erase_if(hops, [&](const auto& hop) {
                    return std::none_of(hop.second.begin(), hop.second.end(), [&](NodeId next) { return hops.contains(next); });
                  }) > 0;
      }
      if (!hops.empty()) {
        ++refused;
        EXPECT_THROW(rule_with(text, *topology), InputError) << topology->name() << "\n" << text;
        continue;
      }
      ++taken;
      const PathRule rule = rule_with(text, *topology);
      for (const NodeId from : ends) {
        if (topology->node(from).host == host) continue;
        const std::vector<LinkId> path = ecmp_path(*topology, rule, from, to, 0, 0);
        ASSERT_EQ(topology->link(path.back()).destination, to);
        for (const LinkId link : path) {
          const auto route = via.find(topology->link(link).source);
          if (route != via.end()) {
            ASSERT_EQ(topology->link(link).destination, route->second);
          }
        }
      }
    }
    EXPECT_GT(taken, 20) << topology->name();
    EXPECT_GT(refused, 20) << topology->name();
  }
}

}  // namespace
}  // namespace weft::static_routes_test
