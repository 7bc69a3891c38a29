// SPDX-License-Identifier: Apache-2.0
// SimGrid platforms: every route has the delay and the rate that its list of links has; what cannot
// be held is told.
#include "topologies/formats/simgrid.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "topologies/topology_reader.hpp"
#include "topology_help.hpp"

namespace weft::simgrid_test {
namespace {

std::shared_ptr<const Topology> read(const std::string& inner) {
  return read_topology(SourceText("net.xml", "<platform version=\"4.1\">\n" + inner + "\n</platform>\n"), "simgrid");
}

std::vector<std::string> codes(const std::string& inner) {
  return codes_of([&] { read(inner); });
}

std::string errors(const std::string& inner) {
  return errors_of([&] { read(inner); });
}

struct Path {
  Duration delay;
  std::int64_t rate_bps = std::numeric_limits<std::int64_t>::max();
  int ways = 1;  ///< most next hops at any node
};

Path path(const Topology& topology, const std::string& from, const std::string& to) {
  Path found;
  const NodeId end = node_named(topology, to);
  std::vector<LinkId> hops;
  for (NodeId at = node_named(topology, from); at != end;) {
    topology.routes().next_hops(topology, at, end, hops);
    const Link& link = topology.link(hops.at(0));
    found.delay += link.propagation_delay;
    found.rate_bps = std::min(found.rate_bps, link.rate.in_bps());
    found.ways = std::max(found.ways, static_cast<int>(hops.size()));
    at = link.destination;
  }
  return found;
}

/// What is told of a platform beside that its switches take time here.
std::vector<std::string> told(const Topology& topology) {
  std::vector<std::string> sentences(topology.assumptions().begin(), topology.assumptions().end());
  EXPECT_EQ(
      std::erase_if(sentences, [](const std::string& text) { return text.find("flow.switching_delay") != std::string::npos; }),
      topology.link_count() > 2 ? 1U : 0U);
  return sentences;
}

bool assumes(const Topology& topology, const std::string& part) {
  const auto assumptions = topology.assumptions();
  return std::any_of(assumptions.begin(), assumptions.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

std::string cluster(const std::string& attributes) {
  return "<zone id=\"w\" routing=\"Full\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" speed=\"1Gf\" bw=\"125MBps\" lat=\"50us\" " +
         attributes + "/></zone>";
}

// a --l1-- J --l2-- b, J --l3-- c: the lists name neither J nor which end of l1 is at a.
constexpr const char* star = R"(
  <zone id="w" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
    <link id="l1" bandwidth="125MBps" latency="10us" sharing_policy="SPLITDUPLEX"/>
    <link id="l2" bandwidth="10Gbps" latency="2ms" sharing_policy="SPLITDUPLEX"/>
    <link id="l3" bandwidth="1MiBps" latency="300ns" sharing_policy="SPLITDUPLEX"/>
    <route src="a" dst="b"> <link_ctn id="l1" direction="UP"/> <link_ctn id="l2" direction="DOWN"/> </route>
    <route src="a" dst="c"> <link_ctn id="l1"/> <link_ctn id="l3"/> </route>
    <route src="b" dst="c"> <link_ctn id="l2_UP"/> <link_ctn id="l3_DOWN"/> </route>
  </zone>)";

TEST(Simgrid, FindsWhereLinksMeet) {
  const auto topology = read(star);
  EXPECT_EQ(topology->endpoints().size(), 3U);
  EXPECT_EQ(topology->node_count(), 4U);
  EXPECT_EQ(topology->link_count(), 6U);
  EXPECT_TRUE(told(*topology).empty());
  // 10 us + 2 ms; 125 MB/s x 8 bit.
  EXPECT_EQ(path(*topology, "a", "b").delay, Duration::us(2010));
  EXPECT_EQ(path(*topology, "a", "b").rate_bps, 1'000'000'000);
  // 2 ms + 300 ns; 2^20 B/s x 8 bit.
  EXPECT_EQ(path(*topology, "c", "b").delay, Duration::ns(2'000'300));
  EXPECT_EQ(path(*topology, "c", "b").rate_bps, 8'388'608);
}

TEST(Simgrid, LetsTrafficPassHostsByARouterOfTheirOwn) {
  // b is in the middle: a -x- b -y- c.
  const auto topology = read(R"(
    <zone id="w" routing="Floyd">
      <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
      <link id="x" bandwidth="1Gbps" latency="1us"/> <link id="y" bandwidth="2Gbps" latency="2us"/>
      <route src="a" dst="b"><link_ctn id="x"/></route>
      <route src="b" dst="c"><link_ctn id="y"/></route>
    </zone>)");
  EXPECT_EQ(path(*topology, "a", "c").delay, Duration::us(3));
  EXPECT_EQ(path(*topology, "a", "b").delay, Duration::us(1));
  const NodeId router = node_named(*topology, "b/router");
  // As fast as both links together, in no time: 1 + 2 Gb/s.
  const Link& port = topology->link(topology->out_links(node_named(*topology, "b"))[0]);
  EXPECT_EQ(port.destination, router);
  EXPECT_EQ(port.rate, Bandwidth::gbps(3));
  EXPECT_EQ(port.propagation_delay, Duration::zero());
  EXPECT_TRUE(assumes(*topology, "2 SHARED links have the full rate in each direction"));
}

// A random tree of hosts and routers, listed pair by pair. The reader must find a graph with the
// same delay for every pair.
TEST(Simgrid, FindsRandomTreesFromTheirRoutes) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int nodes = 2 + static_cast<int>(random() % 14);
    std::vector<int> parent(static_cast<std::size_t>(nodes), -1);
    std::vector<int> delay_us(static_cast<std::size_t>(nodes), 0);
    std::string text = "<zone id=\"w\" routing=\"Full\">\n";
    for (int i = 0; i < nodes; ++i) text += fmt::format("<host id=\"h{}\" speed=\"1Gf\"/>\n", i);
    for (int i = 1; i < nodes; ++i) {
      parent[static_cast<std::size_t>(i)] = static_cast<int>(random() % static_cast<unsigned>(i));
      delay_us[static_cast<std::size_t>(i)] = 1 << (i - 1);  // sums of them are all different
      text +=
          fmt::format("<link id=\"l{}\" bandwidth=\"1Gbps\" latency=\"{}us\" sharing_policy=\"SPLITDUPLEX\"/>\n", i, 1 << (i - 1));
    }
    // Links on the way from x to y: up from both to where they meet.
    const auto links_between = [&](int x, int y) {
      std::vector<int> up;
      std::vector<int> down;
      while (x != y) {
        if (x > y) {
          up.push_back(x);
          x = parent[static_cast<std::size_t>(x)];
        } else {
          down.push_back(y);
          y = parent[static_cast<std::size_t>(y)];
        }
      }
      up.insert(up.end(), down.rbegin(), down.rend());
      return up;
    };
    for (int x = 0; x < nodes; ++x) {
      for (int y = x + 1; y < nodes; ++y) {
        const bool turned = random() % 2 == 0;
        text += fmt::format("<route src=\"h{}\" dst=\"h{}\">", turned ? y : x, turned ? x : y);
        for (const int link : turned ? links_between(y, x) : links_between(x, y))
          text += fmt::format("<link_ctn id=\"l{}\"/>", link);
        text += "</route>\n";
      }
    }
    const auto topology = read(text + "</zone>");
    EXPECT_TRUE(told(*topology).empty()) << told(*topology)[0];
    for (int x = 0; x < nodes; ++x) {
      for (int y = 0; y < nodes; ++y) {
        if (x == y) continue;
        int expected_us = 0;
        for (const int link : links_between(x, y)) expected_us += delay_us[static_cast<std::size_t>(link)];
        EXPECT_EQ(path(*topology, "h" + std::to_string(x), "h" + std::to_string(y)).delay, Duration::us(expected_us));
      }
    }
  }
}

// Edges that shared a link once met at a switch beside their routers, and flows between them lost
// the link's delay and limit.
TEST(Simgrid, CrossesALinkOnceForEveryEdge) {
  const std::string two_edges = R"(<host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <router id="r"/>
    <link id="l" bandwidth="1GBps" latency="50us" sharing_policy="SPLITDUPLEX"/>
    <route src="a" dst="r"><link_ctn id="l"/></route>
    <route src="r" dst="b"><link_ctn id="l"/></route></zone>)";
  for (const std::string routing : {"Floyd", "Dijkstra", "DijkstraCache"}) {
    const auto topology = read("<zone id=\"w\" routing=\"" + routing + "\">" + two_edges);
    EXPECT_EQ(path(*topology, "a", "b").delay, Duration::us(100));
    EXPECT_EQ(path(*topology, "a", "b").rate_bps, 8'000'000'000);
    ASSERT_EQ(told(*topology).size(), 1U);
    EXPECT_TRUE(assumes(*topology, "1 link of several edges"));
  }
}

// Between hosts that all have an edge to each other no route takes two edges, so links may be
// shared as in a zone of full routes.
TEST(Simgrid, KeepsALinkSharedAmongEdgesThatNoRouteJoins) {
  std::string text = star;
  text.replace(text.find("Full"), 4, "Floyd");
  const auto topology = read(text);
  EXPECT_EQ(topology->node_count(), 4U);
  EXPECT_TRUE(told(*topology).empty());
  EXPECT_EQ(path(*topology, "a", "b").delay, Duration::us(2010));
}

// Two edges of one link each are shorter than one of three: SimGrid goes from a to b over c, across
// l twice.
TEST(Simgrid, CrossesALinkOnceForEveryEdgeWhereTwoEdgesAreShorter) {
  const auto topology = read(R"(<zone id="w" routing="Floyd">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
    <link id="l" bandwidth="1Gbps" latency="10us" sharing_policy="SPLITDUPLEX"/>
    <link id="l2" bandwidth="1Gbps" latency="10us" sharing_policy="SPLITDUPLEX"/>
    <link id="l3" bandwidth="1Gbps" latency="10us" sharing_policy="SPLITDUPLEX"/>
    <route src="a" dst="b"><link_ctn id="l"/><link_ctn id="l2"/><link_ctn id="l3"/></route>
    <route src="a" dst="c"><link_ctn id="l"/></route>
    <route src="c" dst="b"><link_ctn id="l"/></route></zone>)");
  EXPECT_EQ(path(*topology, "a", "b").delay, Duration::us(20));
  EXPECT_EQ(path(*topology, "a", "c").delay, Duration::us(10));
}

TEST(Simgrid, SumsTheEdgesOfRandomTrees) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    // Routers 0 to 7 in a random tree, every one with a host; an edge takes one or two of the five
    // links.
    std::string text = "<zone id=\"w\" routing=\"Floyd\">\n";
    for (int link = 0; link < 5; ++link) {
      text +=
          fmt::format("<link id=\"l{}\" bandwidth=\"1Gbps\" latency=\"{}us\" sharing_policy=\"SPLITDUPLEX\"/>\n", link, 1 << link);
    }
    std::array<int, 16> parent{};
    std::array<int, 16> delay_us{};
    for (int i = 0; i < 16; ++i) {
      text += i < 8 ? fmt::format("<router id=\"n{}\"/>\n", i) : fmt::format("<host id=\"n{}\" speed=\"1Gf\"/>\n", i);
    }
    for (int i = 1; i < 16; ++i) {
      parent[static_cast<std::size_t>(i)] = i < 8 ? static_cast<int>(random() % static_cast<unsigned>(i)) : i - 8;
      const int first = static_cast<int>(random() % 5);
      const int second = static_cast<int>(random() % 5);
      text += fmt::format("<route src=\"n{}\" dst=\"n{}\"><link_ctn id=\"l{}\"/>", i, parent[static_cast<std::size_t>(i)], first);
      delay_us[static_cast<std::size_t>(i)] = 1 << first;
      if (second != first) {
        text += fmt::format("<link_ctn id=\"l{}\"/>", second);
        delay_us[static_cast<std::size_t>(i)] += 1 << second;
      }
      text += "</route>\n";
    }
    const auto topology = read(text + "</zone>");
    const auto to_root = [&](int node) {
      std::vector<int> nodes;
      for (; node != 0; node = parent[static_cast<std::size_t>(node)]) nodes.push_back(node);
      return nodes;
    };
    for (int x = 8; x < 16; ++x) {
      for (int y = 8; y < 16; ++y) {
        if (x == y) continue;
        // Edges above exactly one of the two.
        int expected_us = 0;
        const std::vector<int> up = to_root(x);
        const std::vector<int> down = to_root(y);
        for (const int node : up) {
          if (std::find(down.begin(), down.end(), node) == down.end()) expected_us += delay_us[static_cast<std::size_t>(node)];
        }
        for (const int node : down) {
          if (std::find(up.begin(), up.end(), node) == up.end()) expected_us += delay_us[static_cast<std::size_t>(node)];
        }
        EXPECT_EQ(path(*topology, "n" + std::to_string(x), "n" + std::to_string(y)).delay, Duration::us(expected_us));
      }
    }
  }
}

TEST(Simgrid, MakesASwitchOfALinkThatAllCross) {
  const auto topology = read(R"(
    <zone id="w" routing="Full">
      <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
      <link id="la" bandwidth="1Gbps" latency="10us" sharing_policy="SPLITDUPLEX"/>
      <link id="lb" bandwidth="1Gbps" latency="20us" sharing_policy="SPLITDUPLEX"/>
      <link id="lc" bandwidth="1Gbps" latency="30us" sharing_policy="SPLITDUPLEX"/>
      <link id="backbone" bandwidth="500Mbps" latency="7us" sharing_policy="SPLITDUPLEX"/>
      <route src="a" dst="b"><link_ctn id="la"/><link_ctn id="backbone"/><link_ctn id="lb"/></route>
      <route src="a" dst="c"><link_ctn id="la"/><link_ctn id="backbone"/><link_ctn id="lc"/></route>
      <route src="b" dst="c"><link_ctn id="lb"/><link_ctn id="backbone"/><link_ctn id="lc"/></route>
    </zone>)");
  EXPECT_EQ(topology->node_count(), 4U);
  EXPECT_NO_THROW(node_named(*topology, "backbone"));
  // 10 + 7 + 30 us: half of the backbone's delay on either side. No flow is faster than the
  // backbone.
  EXPECT_EQ(path(*topology, "a", "c").delay, Duration::us(47));
  EXPECT_EQ(path(*topology, "a", "c").rate_bps, 500'000'000);
  EXPECT_TRUE(assumes(*topology, "1 link that all its users cross (\"backbone\")"));
}

TEST(Simgrid, JoinsTheTwoDirectionsOfACable) {
  // Links up and down with routes for each direction: one cable per host, not two side by side.
  std::string text = "<zone id=\"w\" routing=\"Full\">";
  for (const char* host : {"a", "b", "c"}) {
    const std::string id = host;
    text += "<host id=\"" + id + "\" speed=\"1Gf\"/><link id=\"up_" + id +
            "\" bandwidth=\"1Gbps\" latency=\"1us\"/><link id=\"down_" + id + "\" bandwidth=\"1Gbps\" latency=\"1us\"/>";
  }
  for (const char* from : {"a", "b", "c"}) {
    for (const char* to : {"a", "b", "c"}) {
      if (std::string(from) == to) continue;
      text += std::string("<route src=\"") + from + "\" dst=\"" + to + "\" symmetrical=\"NO\"><link_ctn id=\"up_" + from +
              "\"/><link_ctn id=\"down_" + to + "\"/></route>";
    }
  }
  const auto topology = read(text + "</zone>");
  EXPECT_EQ(topology->link_count(), 6U);
  EXPECT_EQ(path(*topology, "a", "b").delay, Duration::us(2));
  EXPECT_EQ(path(*topology, "a", "b").ways, 1);
  EXPECT_TRUE(told(*topology).empty());
}

TEST(Simgrid, TellsRoutesThatAreNotTaken) {
  // From a to c the file goes over b, though there is a link from a to c.
  const auto topology = read(R"(
    <zone id="w" routing="Full">
      <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
      <link id="ab" bandwidth="1Gbps" latency="10us"/> <link id="bc" bandwidth="1Gbps" latency="20us"/>
      <link id="ac" bandwidth="1Mbps" latency="1ms"/>
      <route src="a" dst="b"><link_ctn id="ab"/></route>
      <route src="b" dst="c"><link_ctn id="bc"/></route>
      <route src="a" dst="c" symmetrical="NO"><link_ctn id="ab"/><link_ctn id="bc"/></route>
      <route src="c" dst="a" symmetrical="NO"><link_ctn id="ac"/></route>
    </zone>)");
  EXPECT_EQ(path(*topology, "a", "c").delay, Duration::ms(1));
  EXPECT_TRUE(assumes(*topology, "1 of 6 routes between hosts are not taken, such as that of line 9 between \"a\" and \"c\""));
}

TEST(Simgrid, TellsWhatItLeavesOut) {
  const auto topology = read(R"(
    <zone id="w" routing="Full">
      <host id="a" speed="1Gf" availability_file="a.txt"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
      <link id="l" bandwidth="1e8" latency="1e-5" sharing_policy="FATPIPE"/> <link id="m" bandwidth="1kBps" latency="0"/>
      <link id="idle" bandwidth="1Gbps" latency="1us"/>
      <route src="a" dst="a"><link_ctn id="l"/></route>
      <route src="a" dst="b"><link_ctn id="l"/></route>
      <route src="b" dst="c"><link_ctn id="m"/></route>
      <bypassRoute src="a" dst="b"><link_ctn id="idle"/></bypassRoute>
    </zone>)");
  // 10^8 B/s for each of three hosts: 3 x 800 Mb/s.
  EXPECT_EQ(path(*topology, "a", "b").rate_bps, 2'400'000'000);
  EXPECT_EQ(path(*topology, "a", "b").delay, Duration::us(10));
  EXPECT_TRUE(assumes(*topology, "1 FATPIPE link is as wide as all hosts need at once"));
  EXPECT_TRUE(assumes(*topology, "1 link is in no route and left out"));
  EXPECT_TRUE(assumes(*topology, "1 bypass route is left out"));
  EXPECT_TRUE(assumes(*topology, "1 availability profile is left out"));
  EXPECT_TRUE(assumes(*topology, "1 loopback is left out"));
  EXPECT_TRUE(assumes(*topology, "2 values have no unit: rates are Bps and times seconds"));
  EXPECT_TRUE(assumes(*topology, "2 of 6 pairs of hosts have no route in the file"));
}

TEST(Simgrid, TellsSettingsAndProfilesInside) {
  const auto topology = read(R"(
    <config id="General"><prop id="network/bandwidth-factor" value="0.5"/><prop id="network/latency-factor" value="2"/></config>
    <trace id="t" periodicity="1">0 1
      10 0.5</trace>)" + std::string(star));
  EXPECT_TRUE(assumes(*topology, "2 settings of SimGrid are left out"));
  EXPECT_TRUE(assumes(*topology, "1 availability profile is left out"));
}

// 3 x 2 x 2 nodes: 12 cables around the rings of three, 6 between the pairs of each other
// dimension.
TEST(SimgridCluster, CountsSharedLinksNotHosts) {
  const auto topology = read(cluster("radical=\"0-11\" sharing_policy=\"SHARED\" topology=\"TORUS\" topo_parameters=\"3,2,2\""));
  EXPECT_TRUE(assumes(*topology, "24 SHARED links"));
}

TEST(Simgrid, JoinsNestedZonesAtTheirGateways) {
  const auto topology = read(R"(
    <config><prop id="network/model" value="CM02"/></config>
    <zone id="world" routing="Full">
      <zone id="left" routing="Full">
        <host id="l0" speed="1Gf"/> <router id="lr"/> <link id="ll" bandwidth="1Gbps" latency="10us"/>
        <route src="l0" dst="lr"><link_ctn id="ll"/></route>
      </zone>
      <AS id="right" routing="Dijkstra">
        <cluster id="c" prefix="n" suffix=".x" radical="0-2,7" speed="1Gf" bw="1GBps" lat="5us" bb_bw="10GBps" bb_lat="3us"/>
      </AS>
      <link id="core" bandwidth="40Gbps" latency="1ms"/>
      <zoneRoute src="left" dst="right" gw_src="lr" gw_dst="nc_router.x"><link_ctn id="core"/></zoneRoute>
    </zone>)");
  EXPECT_EQ(topology->endpoints().size(), 5U);
  // 10 us + 1 ms + backbone 3 us + 5 us.
  EXPECT_EQ(path(*topology, "l0", "n7.x").delay, Duration::us(1018));
  // Inside the cluster: 5 + 3 + 5 us.
  EXPECT_EQ(path(*topology, "n0.x", "n7.x").delay, Duration::us(13));
}

TEST(Simgrid, ReadsStarsOfHostLinks) {
  const auto topology = read(R"(
    <zone id="c" routing="Cluster">
      <host id="s0" speed="1Gf"/> <host id="s1" speed="1Gf"/>
      <link id="u0" bandwidth="1Gbps" latency="10us"/> <link id="d0" bandwidth="2Gbps" latency="10us"/>
      <link id="l1" bandwidth="1Gbps" latency="20us"/>
      <host_link id="s0" up="u0" down="d0"/> <host_link id="s1" up="l1" down="l1"/>
      <cabinet id="k" prefix="k" suffix="" radical="1-3" speed="1Gf" bw="10Gbps" lat="1us"/>
      <backbone id="bb" bandwidth="10Gbps" latency="100us"/>
    </zone>)");
  EXPECT_EQ(topology->endpoints().size(), 5U);
  EXPECT_EQ(path(*topology, "s0", "s1").delay, Duration::us(130));
  EXPECT_EQ(path(*topology, "k1", "s1").delay, Duration::us(121));
  EXPECT_TRUE(assumes(*topology, "1 cable has the lower rate and the longer delay of its two directions"));
  EXPECT_TRUE(assumes(*topology, "1 SHARED link has the full rate in each direction"));
}

// Delays below were also printed by SimGrid 3.32 (Host::route_to) for platforms of the same
// parameters.
TEST(SimgridCluster, FatTree) {
  // Two levels; 4 children each; 1 parent, then 2; 2 cables per pair on the upper level: 16 hosts,
  // 4 leafs, 2 spines.
  const auto topology = read(cluster("radical=\"0-15\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\""));
  EXPECT_EQ(topology->node_count(), 16U + 4U + 2U);
  EXPECT_EQ(topology->link_count() / 2, 16U + std::size_t{4} * 2 * 2);
  EXPECT_EQ(path(*topology, "n0", "n1").delay, Duration::us(100));
  EXPECT_EQ(path(*topology, "n0", "n4").delay, Duration::us(200));
  EXPECT_EQ(path(*topology, "n0", "n4").ways, 4);  // 2 spines x 2 cables
  EXPECT_EQ(topology->node(node_named(*topology, "c/level1/0")).level, 1);
  EXPECT_EQ(topology->node(node_named(*topology, "c/level2/1")).level, 3);
}

TEST(SimgridCluster, Torus) {
  const auto topology = read(cluster("radical=\"0-23\" topology=\"TORUS\" topo_parameters=\"4,3,2\""));
  // A port per host; 24 cables in x, 24 in y, 12 in z, whose rings have two members.
  EXPECT_EQ(topology->link_count() / 2, 24U + 24U + 24U + 12U);
  EXPECT_EQ(path(*topology, "n0", "n3").delay, Duration::us(50));  // around the end of x
  // one step in each dimension: 3, 2, 1
  EXPECT_EQ(path(*topology, "n0", "n23").delay, Duration::us(150));
  // x 2, y 2: two steps and one around the end
  EXPECT_EQ(path(*topology, "n0", "n10").delay, Duration::us(150));
}

TEST(SimgridCluster, Dragonfly) {
  const auto topology = read(cluster("radical=\"0-53\" topology=\"DRAGONFLY\" topo_parameters=\"3,4;3,2;3,1;2\""));
  // 54 hosts; per chassis 3 pairs of blades, 9 chassis; per blade number 3 pairs of chassis, 9 of
  // them; 3 pairs of groups.
  EXPECT_EQ(topology->link_count() / 2, 54U + 27U + 27U + 3U);
  EXPECT_EQ(path(*topology, "n0", "n1").delay, Duration::us(100));
  EXPECT_EQ(path(*topology, "n0", "n2").delay, Duration::us(150));  // blade 0 to 1
  // chassis 0 to 1 and blade 0 to 2
  EXPECT_EQ(path(*topology, "n0", "n10").delay, Duration::us(200));
  // Four cables between groups count as one of 4 Gb/s: router 1 of group 0 leads to router 0 of
  // group 1.
  const auto links = topology->out_links(node_named(*topology, "c/group0/chassis0/blade1"));
  EXPECT_TRUE(std::any_of(links.begin(), links.end(), [&](LinkId link) {
    return topology->node_name(topology->link(link).destination) == "c/group1/chassis0/blade0" &&
           topology->link(link).rate == Bandwidth::gbps(4);
  }));
}

TEST(SimgridCluster, TellsABackboneThatCouldLimit) {
  EXPECT_TRUE(told(*read(cluster("radical=\"0-3\" bb_bw=\"1GBps\" bb_lat=\"1us\""))).empty());
  // 100 hosts of 1 Gb/s over 8 Gb/s.
  EXPECT_TRUE(assumes(*read(cluster("radical=\"0-99\" bb_bw=\"1GBps\" bb_lat=\"1us\"")), "the backbone of cluster \"c\" (8Gbps)"));
}

TEST(Simgrid, EveryMistakeHasItsCode) {
  using Codes = std::vector<std::string>;
  const auto zone = [](const std::string& inner) { return "<zone id=\"w\" routing=\"Full\">" + inner + "</zone>"; };
  const std::string a = "<host id=\"a\" speed=\"1Gf\"/>";
  const std::string ab = a + "<host id=\"b\" speed=\"1Gf\"/>";
  const std::string l = "<link id=\"l\" bandwidth=\"1Gbps\" latency=\"1us\"/>";
  const std::string route = "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>";
  EXPECT_EQ(codes(zone(ab + l + route)), Codes{});
  EXPECT_EQ(codes("<zone id=\"w\" routing=\"Full\">"), Codes{"bad-xml"});
  EXPECT_EQ(codes(""), Codes{"no-hosts"});
  EXPECT_EQ(codes(zone(a) + zone("")), (Codes{"unsupported", "duplicate-name"}));
  EXPECT_EQ(codes("<zone id=\"w\" routing=\"Fool\">" + a + "</zone>"), Codes{"unknown-routing"});
  EXPECT_EQ(codes("<zone id=\"w\" routing=\"Vivaldi\">" + a + "</zone>"), Codes{"unsupported"});
  EXPECT_EQ(codes("<zone id=\"w\">" + a + "</zone>"), Codes{"missing-attribute"});
  EXPECT_EQ(codes(zone(a + a)), Codes{"duplicate-name"});
  EXPECT_EQ(codes(zone("<host id=\"a\" sped=\"1Gf\"/>")), Codes{"unknown-attribute"});
  EXPECT_EQ(codes(zone("<host id=\"a\" id=\"b\"/>")), Codes{"duplicate-attribute"});
  EXPECT_EQ(codes(zone(a + "<hots/>")), Codes{"unknown-element"});
  EXPECT_EQ(codes(zone(a + "text")), Codes{"stray-text"});
  EXPECT_EQ(codes(zone(a + "<peer id=\"p\"/>")), Codes{"unsupported"});
  EXPECT_EQ(codes(zone(ab)), Codes{"disconnected"});
  EXPECT_EQ(codes(zone(ab + l + "<route src=\"a\" dst=\"x\"><link_ctn id=\"l\"/></route>")), Codes{"unknown-node"});
  EXPECT_EQ(codes(zone(ab + l + "<route src=\"a\" dst=\"b\"><link_ctn id=\"m\"/></route>")), Codes{"unknown-link"});
  EXPECT_EQ(codes(zone(ab + l + "<route src=\"a\" dst=\"b\"/>")), Codes{"empty-route"});
  EXPECT_EQ(codes(zone(ab + l + route + route)), Codes{"duplicate-route"});
  EXPECT_EQ(codes(zone(ab + l + "<route src=\"a\" dst=\"b\" symmetrical=\"maybe\"><link_ctn id=\"l\"/></route>")),
            Codes{"bad-value"});
  EXPECT_EQ(codes(zone(ab + l + "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\" direction=\"LEFT\"/></route>")), Codes{"bad-value"});
  EXPECT_EQ(
      codes(zone(ab + l + route + "<zoneRoute src=\"w\" dst=\"v\" gw_src=\"a\" gw_dst=\"b\"><link_ctn id=\"l\"/></zoneRoute>")),
      Codes{"unknown-node"});
  const auto link = [&](const std::string& attributes) { return codes(zone(ab + "<link id=\"l\" " + attributes + "/>" + route)); };
  EXPECT_EQ(link("bandwidth=\"1Gbits\" latency=\"1us\""), Codes{"unknown-unit"});
  EXPECT_EQ(link("bandwidth=\"1gbps\" latency=\"1us\""), Codes{"unknown-unit"});
  EXPECT_EQ(link("bandwidth=\"fast\" latency=\"1us\""), Codes{"bad-value"});
  EXPECT_EQ(link("bandwidth=\"0bps\" latency=\"1us\""), Codes{"zero-bandwidth"});
  EXPECT_EQ(link("bandwidth=\"-1bps\" latency=\"1us\""), Codes{"out-of-range"});
  EXPECT_EQ(link("bandwidth=\"1e30bps\" latency=\"1us\""), Codes{"out-of-range"});
  EXPECT_EQ(link("bandwidth=\"1Gbps\" latency=\"1y\""), Codes{"unknown-unit"});
  EXPECT_EQ(link("bandwidth=\"1Gbps\" latency=\"soon\""), Codes{"bad-value"});
  EXPECT_EQ(link("bandwidth=\"1Gbps\" latency=\"-1s\""), Codes{"out-of-range"});
  EXPECT_EQ(link("bandwidth=\"1Gbps\" latency=\"1s\" sharing_policy=\"WIFI\""), Codes{"unsupported"});
  EXPECT_EQ(link("bandwidth=\"1Gbps\" latency=\"1s\" sharing_policy=\"FULLDUPLEX\""), Codes{"unknown-policy"});
  EXPECT_EQ(codes(cluster("radical=\"3-1\"")), Codes{"bad-radical"});
  EXPECT_EQ(codes(cluster("radical=\"0-\"")), Codes{"bad-radical"});
  EXPECT_EQ(codes(cluster("radical=\"0-99999999\"")), Codes{"too-large"});
  EXPECT_EQ(codes(cluster("radical=\"0-18446744073709551615\"")), Codes{"too-large"});
  EXPECT_EQ(codes(cluster("radical=\"0-3,2\"")), Codes{"duplicate-name"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"CUBE\" topo_parameters=\"2\"")), Codes{"unknown-shape"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"TORUS\"")), Codes{"missing-attribute"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"TORUS\" topo_parameters=\"2,x\"")), Codes{"bad-value"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"TORUS\" topo_parameters=\"2,0\"")), Codes{"bad-topology"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"TORUS\" topo_parameters=\"2,3\"")), Codes{"count-mismatch"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1\"")), Codes{"bad-topology"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"FAT_TREE\" topo_parameters=\"1;4;4000000000;4000000000\"")),
            Codes{"too-large"});
  EXPECT_EQ(codes(cluster("radical=\"0-3\" topology=\"DRAGONFLY\" topo_parameters=\"4,1;1,1;1,1;1\"")), Codes{"bad-topology"});
}

TEST(Simgrid, PointsAtTheAttribute) {
  EXPECT_EQ(errors("<zone id=\"w\" routing=\"Full\"><host id=\"a\"/><host id=\"b\"/>\n"
                   "<link id=\"cable\" bandwidth=\"1Gbps\" latency=\"1us\"/>\n"
                   "<route src=\"a\" dst=\"b\"><link_ctn id=\"cabel\"/></route></zone>"),
            "net.xml:4:38: error: there is no link \"cabel\" [unknown-link]\n"
            "    4 | <route src=\"a\" dst=\"b\"><link_ctn id=\"cabel\"/></route></zone>\n"
            "      |                                      ^~~~~\n"
            "  help: did you mean \"cable\"? it is defined at line 3\n");
}

TEST(Simgrid, RefusesOtherFiles) {
  const auto whole = [](const std::string& text) {
    return codes_of([&] { read_topology(SourceText("net.xml", text), "simgrid"); });
  };
  EXPECT_EQ(whole("<platform version=\"3\"><AS id=\"a\" routing=\"Full\"><host id=\"h\"/></AS></platform>"),
            std::vector<std::string>{"bad-version"});
  EXPECT_EQ(whole("<system/>"), std::vector<std::string>{"wrong-root"});
  EXPECT_EQ(whole(""), std::vector<std::string>{"empty-file"});
  EXPECT_EQ(whole("nodes 1"), std::vector<std::string>{"bad-xml"});
  std::string deep = "<platform version=\"4.1\">";
  for (int i = 0; i < 100; ++i) deep += fmt::format("<zone id=\"z{}\" routing=\"Full\">", i);
  for (int i = 0; i < 100; ++i) deep += "</zone>";
  EXPECT_EQ(whole(deep + "</platform>"), std::vector<std::string>{"too-deep"});
}

}  // namespace
}  // namespace weft::simgrid_test
