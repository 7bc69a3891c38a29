// SPDX-License-Identifier: Apache-2.0
#include "network/in_network/switch_tree.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "network/routing/hop_weights.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

/// The routes from all members to the first one, as nodes with a cable each to the next.
class TreeSearch {
 public:
  TreeSearch(const Topology& topology, std::span<const NodeId> members, std::uint64_t seed, const HopWeights* weights)
      : topology_(topology), weights_(weights), hash_(mix64(seed)) {
    for (const NodeId member : members) hash_ = mix64(hash_ ^ member.index());
    target_ = members.front();
    add(target_, LinkId::none());
    for (const NodeId member : members.subspan(1)) {
      dead_ends_.clear();
      if (!walk(member, 0)) all_meet_ = false;
    }
  }

  SwitchTree tree(std::span<const NodeId> members) {
    SwitchTree tree;
    if (!all_meet_) {
      tree.objection = fmt::format("the shortest paths to {} end in different switches", topology_.node_name(target_));
      return tree;
    }
    tree.top = find_top();
    if (tree.top.is_none()) {
      tree.objection = "no packet switch joins them";
      return tree;
    }
    hang_from(tree.top, tree);
    std::unordered_map<NodeId, std::uint32_t> branch_of;
    for (std::uint32_t i = 0; i < tree.branches.size(); ++i) branch_of.emplace(tree.branches[i].node, i);
    for (const NodeId member : members) tree.leaves.push_back(branch_of.at(member));
    return tree;
  }

 private:
  std::uint32_t add(NodeId node, LinkId next) {
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    number_.emplace(node, index);
    nodes_.push_back(node);
    next_.push_back(next);
    return index;
  }

  /// Adds a shortest path from a node, `hops` away from its member, up to the tree. It must not
  /// meet the tree inside the target's host, whose NICs would have to pass on what comes from one
  /// switch and goes to another. Of several next hops the hash names the one to try first. False if
  /// none leads there.
  bool walk(NodeId at, std::uint64_t hops) {
    if (number_.contains(at)) return nodes_.size() == 1 || topology_.node(at).host != topology_.node(target_).host;
    if (dead_ends_.contains(at)) return false;
    std::vector<LinkId> next_hops;
    topology_.routes().next_hops(topology_, at, target_, next_hops);
    WEFT_CHECK(!next_hops.empty(), "endpoints are mutually reachable");
    std::size_t choice = spread(mix64(hash_ + hops), next_hops.size());
    if (weights_ != nullptr) {
      std::vector<std::int64_t> weights;
      weights_->weigh(at, target_, next_hops, weights);
      choice = choice_by_weight(mix64(hash_ + hops), weights);
    }
    for (std::size_t i = 0; i < next_hops.size(); ++i) {
      const LinkId link = next_hops[(choice + i) % next_hops.size()];
      if (!walk(topology_.link(link).destination, hops + 1)) continue;
      add(at, link);
      return true;
    }
    dead_ends_.insert(at);
    return false;
  }

  bool is_switch(std::uint32_t node) const { return topology_.node(nodes_[node]).kind == NodeKind::packet_switch; }

  /// By node: its neighbours in the tree, with the link to each.
  std::vector<std::vector<std::pair<std::uint32_t, LinkId>>> neighbours() const {
    std::vector<std::vector<std::pair<std::uint32_t, LinkId>>> of(nodes_.size());
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      if (next_[node].is_none()) continue;
      const std::uint32_t other = number_.at(topology_.link(next_[node]).destination);
      of[node].emplace_back(other, next_[node]);
      of[other].emplace_back(node, topology_.reverse(next_[node]));
    }
    return of;
  }

  /// Hops from every node to the node from which they are the most, by breadth-first search.
  std::vector<std::uint32_t> hops_from(std::uint32_t start) const {
    std::vector<std::uint32_t> hops(nodes_.size(), SwitchTree::none);
    std::vector<std::uint32_t> queue = {start};
    hops[start] = 0;
    const auto of = neighbours();
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const auto& [other, link] : of[queue[i]]) {
        if (hops[other] != SwitchTree::none) continue;
        hops[other] = hops[queue[i]] + 1;
        queue.push_back(other);
      }
    }
    return hops;
  }

  /// The farthest node from any node of a tree is an end of its longest path.
  NodeId find_top() const {
    const auto farthest = [](const std::vector<std::uint32_t>& hops) {
      return static_cast<std::uint32_t>(std::max_element(hops.begin(), hops.end()) - hops.begin());
    };
    const std::uint32_t one_end = farthest(hops_from(0));
    const std::vector<std::uint32_t> from_one = hops_from(one_end);
    const std::vector<std::uint32_t> from_other = hops_from(farthest(from_one));
    NodeId top = NodeId::none();
    std::uint32_t least = SwitchTree::none;
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      const std::uint32_t most = std::max(from_one[node], from_other[node]);
      if (!is_switch(node) || most > least || (most == least && nodes_[node] > top)) continue;
      least = most;
      top = nodes_[node];
    }
    return top;
  }

  void hang_from(NodeId top, SwitchTree& tree) const {
    const auto of = neighbours();
    struct Place {
      std::uint32_t node;
      std::uint32_t branch;
      std::uint32_t parent;
    };
    std::vector<Place> queue = {{number_.at(top), SwitchTree::none, SwitchTree::none}};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Place at = queue[i];
      for (const auto& [other, link] : of[at.node]) {
        if (other == at.parent) continue;
        const auto branch = static_cast<std::uint32_t>(tree.branches.size());
        tree.branches.push_back({nodes_[other], topology_.reverse(link), at.branch, is_switch(other), 1});
        queue.push_back({other, branch, at.node});
      }
    }
  }

  const Topology& topology_;
  const HopWeights* weights_;
  std::uint64_t hash_;
  NodeId target_;
  std::unordered_map<NodeId, std::uint32_t> number_;
  std::vector<NodeId> nodes_;
  std::vector<LinkId> next_;  ///< by node; none() at the target
  /// Nodes from which the walk at hand does not reach the tree.
  std::unordered_set<NodeId> dead_ends_;
  bool all_meet_ = true;
};

}  // namespace

SwitchTree nvswitch_star(const Topology& topology, std::span<const NodeId> members) {
  const auto cables_to = [&](NodeId member, NodeId to) {
    std::vector<LinkId> cables;
    for (const LinkId link : topology.out_links(member)) {
      if (topology.link(link).destination == to) cables.push_back(link);
    }
    return cables;
  };
  std::vector<NodeId> switches;
  for (const LinkId link : topology.out_links(members.front())) {
    const NodeId to = topology.link(link).destination;
    if (topology.node(to).kind != NodeKind::nvswitch || std::find(switches.begin(), switches.end(), to) != switches.end()) continue;
    if (std::all_of(members.begin(), members.end(), [&](NodeId member) { return !cables_to(member, to).empty(); })) {
      switches.push_back(to);
    }
  }
  SwitchTree tree;
  if (switches.empty()) {
    tree.objection = fmt::format("host{} has no NVSwitch that {} and the others are all cabled to",
                                 topology.node(members.front()).host.index(), topology.node_name(members.front()));
    return tree;
  }
  tree.top = switches.front();
  for (const NodeId hub : switches) {
    for (const NodeId member : members) {
      const std::vector<LinkId> cables = cables_to(member, hub);
      const double share = 1.0 / static_cast<double>(switches.size() * cables.size());
      for (const LinkId cable : cables) {
        tree.leaves.push_back(static_cast<std::uint32_t>(tree.branches.size()));
        tree.branches.push_back({member, cable, SwitchTree::none, false, share});
      }
    }
  }
  return tree;
}

SwitchTree packet_switch_tree(const Topology& topology, std::span<const NodeId> members, std::uint64_t seed,
                              const HopWeights* weights) {
  return TreeSearch(topology, members, seed, weights).tree(members);
}

}  // namespace weft
