// SPDX-License-Identifier: Apache-2.0
#include "topologies/cut_off.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "topologies/connected_parts.hpp"
#include "topology_help.hpp"

namespace weft::cut_off_test {
namespace {

/// Cables by the names of their ends, out in both directions.
std::vector<bool> without(const Topology& topology, const std::vector<std::pair<std::string, std::string>>& cables) {
  std::vector<bool> is_out(topology.link_count(), false);
  for (const auto& [a, b] : cables) {
    for (const LinkId link : topology.out_links(node_named(topology, a))) {
      if (topology.link(link).destination != node_named(topology, b)) continue;
      is_out[link.index()] = is_out[topology.reverse(link).index()] = true;
    }
  }
  return is_out;
}

std::vector<bool> without_switches(const Topology& topology, const std::vector<std::string>& names) {
  std::vector<bool> is_out(topology.link_count(), false);
  for (const std::string& name : names) {
    for (const LinkId link : topology.out_links(node_named(topology, name)))
      is_out[link.index()] = is_out[topology.reverse(link).index()] = true;
  }
  return is_out;
}

/// Their places among the endpoints.
std::vector<std::size_t> cut_off(const Topology& topology, const std::vector<bool>& is_out) {
  std::vector<std::size_t> places;
  const std::vector<bool> result = cut_off_endpoints(topology, is_out, nics_relay(topology));
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i]) places.push_back(i);
  }
  return places;
}

/// Four pods of two leafs with two hosts each, two aggregation switches a pod, four spines.
std::shared_ptr<const Topology> fat_tree() { return build_named("fat_tree", {{"k", "4"}}); }

using Places = std::vector<std::size_t>;

TEST(CutOff, ByTheSwitchesOfATree) {
  const auto tree = fat_tree();
  EXPECT_EQ(cut_off(*tree, without_switches(*tree, {})), Places());
  EXPECT_EQ(cut_off(*tree, without_switches(*tree, {"leaf2"})), (Places{4, 5}));
  EXPECT_EQ(cut_off(*tree, without_switches(*tree, {"agg2"})), Places());
  EXPECT_EQ(cut_off(*tree, without_switches(*tree, {"spine0", "spine1"})), Places());
  // Both ways of a pod to the others, of which one leaf each is left.
  EXPECT_EQ(cut_off(*tree, without_switches(*tree, {"agg2", "agg3"})), (Places{4, 5, 6, 7}));
  EXPECT_EQ(cut_off(*tree, without(*tree, {{"leaf0", "agg0"}, {"leaf0", "agg1"}})), (Places{0, 1}));
  EXPECT_EQ(cut_off(*tree, without(*tree, {{"leaf0", "agg0"}})), Places());
}

// Without spines, every pod is on its own: the first of four alike is the network.
TEST(CutOff, OfEqualPartsTheFirstStays) {
  const auto tree = fat_tree();
  EXPECT_EQ(cut_off(*tree, without_switches(*tree, {"spine0", "spine1", "spine2", "spine3"})),
            (Places{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  // With the first leaf gone, too, the first of the larger ones.
  EXPECT_EQ(cut_off(*tree, without_switches(*tree, {"leaf0", "spine0", "spine1", "spine2", "spine3"})),
            (Places{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15}));
}

// A server on its own never was on a network.
TEST(CutOff, WhoHasNoCableIsNotCutOff) {
  const auto lone = build_named("lone_server", {});
  EXPECT_EQ(cut_off(*lone, std::vector<bool>(lone->link_count(), false)), Places());
}

/// The largest set of endpoints that reach each other by way of switches and NICs, by searching
/// from each; of equal ones the first.
std::vector<bool> naive(const Topology& topology, const std::vector<bool>& is_out) {
  const auto reached_from = [&](NodeId start) {
    std::vector<bool> seen(topology.node_count(), false);
    std::vector<NodeId> nodes{start};
    seen[start.index()] = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeKind kind = topology.node(nodes[i]).kind;
      if (i > 0 && kind != NodeKind::packet_switch && kind != NodeKind::nic) continue;
      for (const LinkId link : topology.out_links(nodes[i])) {
        const NodeId next = topology.link(link).destination;
        if (is_out[link.index()] || seen[next.index()] || topology.node(next).kind == NodeKind::nvswitch) continue;
        seen[next.index()] = true;
        nodes.push_back(next);
      }
    }
    return seen;
  };
  std::vector<bool> best(topology.endpoints().size(), false);
  std::size_t most = 0;
  for (const NodeId endpoint : topology.endpoints()) {
    const std::vector<bool> seen = reached_from(endpoint);
    // Alone with all of its own cables out, it is at no part.
    const auto has_cable = std::ranges::any_of(topology.out_links(endpoint), [&](LinkId link) { return !is_out[link.index()]; });
    if (!has_cable) continue;
    std::vector<bool> members;
    for (const NodeId other : topology.endpoints()) members.push_back(seen[other.index()]);
    const auto count = static_cast<std::size_t>(std::ranges::count(members, true));
    if (count <= most) continue;
    most = count;
    best = members;
  }
  best.flip();
  return best;
}

TEST(CutOff, AsASearchFromEveryEndpointFinds) {
  const std::vector<Instance> instances{
      {"fat_tree", {{"k", "4"}}},
      {"clos", {{"hosts", "8"}, {"gpus_per_host", "1"}, {"leafs_per_pod", "2"}, {"aggs_per_pod", "2"}, {"spines", "2"}}},
      {"single_switch", {{"hosts", "6"}}}};
  std::mt19937 random(3);
  std::size_t some_cut_off = 0;
  for (const Instance& instance : instances) {
    const auto topology = build_named(instance.builder, instance.settings);
    for (int i = 0; i < 300; ++i) {
      std::vector<bool> is_out(topology->link_count(), false);
      const std::uint32_t every = 1 + random() % 20;
      for (std::uint32_t link = 0; link < topology->link_count(); link += 2) {
        const bool inside = !topology->node(topology->link(LinkId(link)).source).host.is_none() &&
                            !topology->node(topology->link(LinkId(link)).destination).host.is_none();
        if (!inside && random() % every == 0) is_out[link] = is_out[link + 1] = true;
      }
      const std::vector<bool> found = cut_off_endpoints(*topology, is_out, nics_relay(*topology));
      EXPECT_EQ(found, naive(*topology, is_out)) << instance.builder << " " << i;
      some_cut_off += static_cast<std::size_t>(std::ranges::count(found, true));
    }
  }
  EXPECT_GT(some_cut_off, 1000U);
}

}  // namespace
}  // namespace weft::cut_off_test
