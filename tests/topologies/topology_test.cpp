// SPDX-License-Identifier: Apache-2.0
// The graph itself: ids, names, order of endpoints, and what build() refuses.
#include "topologies/topology.hpp"

#include <gtest/gtest.h>

#include "core/check.hpp"
#include "topology_help.hpp"

namespace weft::topology_test {
namespace {

const Bandwidth rate = Bandwidth::gbps(100);
const Duration delay = Duration::ns(10);

TEST(Topology, CablesAreTwoNeighbouringLinks) {
  TopologyBuilder builder("pair");
  const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const LinkId link = builder.add_cable(a, b, rate, delay);
  const auto topology = std::move(builder).build(nullptr, {});
  const LinkId back = topology->reverse(link);
  EXPECT_EQ(topology->reverse(back), link);
  EXPECT_EQ(topology->link(back).source, b);
  EXPECT_EQ(topology->link(back).destination, a);
  EXPECT_EQ(topology->link(back).rate, rate);
  EXPECT_EQ(topology->link(back).propagation_delay, delay);
  EXPECT_EQ(topology->link_name(link), "host0->host1");
}

TEST(Topology, EndpointsComeHostByHostWhateverTheOrderOfAdding) {
  TopologyBuilder builder("mixed");
  const HostId first = builder.add_host();
  const HostId second = builder.add_host();
  const NodeId hub = builder.add_switch(1);
  const NodeId s0 = builder.add_endpoint(second, NodeKind::gpu);
  const NodeId f0 = builder.add_endpoint(first, NodeKind::gpu);
  const NodeId s1 = builder.add_endpoint(second, NodeKind::gpu);
  const NodeId f1 = builder.add_endpoint(first, NodeKind::gpu);
  for (const NodeId gpu : {s0, f0, s1, f1}) builder.add_cable(gpu, hub, rate, delay);
  const auto topology = std::move(builder).build(nullptr, {});
  const auto all = topology->endpoints();
  EXPECT_EQ(std::vector<NodeId>(all.begin(), all.end()), (std::vector<NodeId>{f0, f1, s0, s1}));
  const auto of_second = topology->endpoints_of(second);
  EXPECT_EQ(std::vector<NodeId>(of_second.begin(), of_second.end()), (std::vector<NodeId>{s0, s1}));
  EXPECT_EQ(topology->node_name(s1), "host1/gpu1");
  EXPECT_EQ(topology->node_name(f0), "host0/gpu0");
}

TEST(Topology, OutLinksAscendAndCoverEveryLinkOnce) {
  const auto topology = build_named("fat_tree", {{"k", "4"}, {"gpus_per_host", "2"}});
  std::vector<bool> seen(topology->link_count(), false);
  for (std::uint32_t i = 0; i < topology->node_count(); ++i) {
    const auto out = topology->out_links(NodeId(i));
    EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
    for (const LinkId link : out) {
      EXPECT_EQ(topology->link(link).source, NodeId(i));
      EXPECT_FALSE(seen[link.index()]);
      seen[link.index()] = true;
    }
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool b) { return b; }));
}

TEST(Topology, NamesAreUniqueOnEveryBuiltFabric) {
  for (const auto& topology :
       {build_named("clos", {{"hosts", "8"}, {"leafs_per_pod", "2"}, {"aggs_per_pod", "2"}, {"spines", "4"}}),
        build_named("rail_optimized", {{"hosts", "4"}}),
        build_named("multi_site", {{"fabric_params", "hosts=2"}, {"sites", "3"}})}) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < topology->node_count(); ++i) names.push_back(topology->node_name(NodeId(i)));
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << topology->name();
  }
}

TEST(Topology, GivenNamesAreKeptAndMissingOnesMade) {
  TopologyBuilder builder("named");
  const NodeId gpu = builder.add_endpoint(builder.add_host(), NodeKind::gpu);
  const NodeId tor = builder.add_switch(1, "tor-7");
  const NodeId unknown_level = builder.add_switch(0);
  const NodeId port = builder.add_endpoint(builder.add_host(), NodeKind::host);
  builder.add_cable(gpu, tor, rate, delay);
  builder.add_cable(port, tor, rate, delay);
  builder.add_cable(tor, unknown_level, rate, delay);
  const auto topology = std::move(builder).build(nullptr, {});
  EXPECT_EQ(topology->node_name(gpu), "host0/gpu0");
  EXPECT_EQ(topology->node_name(tor), "tor-7");
  EXPECT_EQ(topology->node_name(unknown_level), "switch0");
  EXPECT_EQ(topology->node_name(port), "host1");
}

TEST(TopologyBuild, RefusesATopologyWithoutEndpoints) {
  EXPECT_EQ(codes_of([] {
              TopologyBuilder builder("empty");
              builder.add_switch(1);
              std::move(builder).build(nullptr, {});
            }),
            std::vector<std::string>{"no-endpoints"});
}

TEST(TopologyBuild, NamesTwoEndpointsWithoutAPath) {
  const std::string text = errors_of([] {
    TopologyBuilder builder("islands");
    const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host, "a");
    const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host, "b");
    const NodeId c = builder.add_endpoint(builder.add_host(), NodeKind::host, "c");
    const NodeId left = builder.add_switch(1);
    const NodeId right = builder.add_switch(1);
    builder.add_cable(a, left, rate, delay);
    builder.add_cable(b, left, rate, delay);
    builder.add_cable(c, right, rate, delay);
    std::move(builder).build(nullptr, {});
  });
  EXPECT_NE(text.find("there is no path from \"a\" to \"c\""), std::string::npos) << text;
  EXPECT_NE(text.find("[disconnected]"), std::string::npos) << text;
}

TEST(TopologyBuild, AnEndpointIsNoBridge) {
  // b stands on both islands, but does not forward: a and c stay apart.
  EXPECT_EQ(codes_of([] {
              TopologyBuilder builder("bridge");
              const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
              const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
              const NodeId c = builder.add_endpoint(builder.add_host(), NodeKind::host);
              const NodeId left = builder.add_switch(1);
              const NodeId right = builder.add_switch(1);
              builder.add_cable(a, left, rate, delay);
              builder.add_cable(b, left, rate, delay);
              builder.add_cable(b, right, rate, delay);
              builder.add_cable(c, right, rate, delay);
              std::move(builder).build(nullptr, {});
            }),
            std::vector<std::string>{"disconnected"});
}

TEST(TopologyBuild, AnNvswitchJoinsOnlyItsOwnHost) {
  // Rails without a spine: equal rails meet, unequal ones only over NVLink, which does not lead to
  // other hosts.
  const auto rails = [](bool with_spine) {
    TopologyBuilder builder("rails");
    const NodeId rail0 = builder.add_switch(1);
    const NodeId rail1 = builder.add_switch(1);
    if (with_spine) builder.add_cable(rail0, rail1, rate, delay);
    for (int h = 0; h < 2; ++h) {
      const HostId host = builder.add_host();
      const NodeId gpu0 = builder.add_endpoint(host, NodeKind::gpu);
      const NodeId gpu1 = builder.add_endpoint(host, NodeKind::gpu);
      const NodeId nvswitch = builder.add_inside(host, NodeKind::nvswitch);
      builder.add_cable(gpu0, nvswitch, rate, delay);
      builder.add_cable(gpu1, nvswitch, rate, delay);
      builder.add_cable(gpu0, rail0, rate, delay);
      builder.add_cable(gpu1, rail1, rate, delay);
    }
    return std::move(builder).build(nullptr, {});
  };
  EXPECT_EQ(codes_of([&] { rails(false); }), std::vector<std::string>{"disconnected"});
  EXPECT_EQ(codes_of([&] { rails(true); }), std::vector<std::string>{});
}

TEST(TopologyBuild, TwoPlanesAndDirectCablesAreConnected) {
  // Every two endpoints share a plane or a cable, though no plane reaches all: a-b on plane 0, b-c
  // on plane 1, a-c by cable.
  TopologyBuilder builder("planes");
  const NodeId a = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId b = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId c = builder.add_endpoint(builder.add_host(), NodeKind::host);
  const NodeId plane0 = builder.add_switch(1);
  const NodeId plane1 = builder.add_switch(1);
  builder.add_cable(a, plane0, rate, delay);
  builder.add_cable(b, plane0, rate, delay);
  builder.add_cable(b, plane1, rate, delay);
  builder.add_cable(c, plane1, rate, delay);
  builder.add_cable(a, c, rate, delay);
  EXPECT_EQ(codes_of([&] { std::move(builder).build(nullptr, {}); }), std::vector<std::string>{});
}

TEST(TopologyBuilder, MisuseIsABug) {
  TopologyBuilder builder("misuse");
  const HostId host = builder.add_host();
  const HostId other = builder.add_host();
  const NodeId gpu = builder.add_endpoint(host, NodeKind::gpu);
  const NodeId foreign = builder.add_inside(other, NodeKind::nvswitch);
  EXPECT_THROW(builder.add_cable(gpu, gpu, rate, delay), CheckFailure);
  EXPECT_THROW(builder.add_cable(gpu, foreign, rate, delay), CheckFailure);
  EXPECT_THROW(builder.add_endpoint(host, NodeKind::nic), CheckFailure);
  EXPECT_THROW(builder.add_inside(host, NodeKind::gpu), CheckFailure);
  EXPECT_THROW(builder.add_endpoint(HostId(7), NodeKind::gpu), CheckFailure);
  const NodeId leaf = builder.add_switch(1);
  EXPECT_THROW(builder.add_cable(gpu, leaf, Bandwidth::zero(), delay), CheckFailure);
  EXPECT_THROW(builder.add_cable(gpu, leaf, rate, Duration::ns(-1)), CheckFailure);
}

}  // namespace
}  // namespace weft::topology_test
