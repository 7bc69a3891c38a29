// SPDX-License-Identifier: Apache-2.0
#include "network/flow/inside_host.hpp"

#include <algorithm>

#include "topologies/topology.hpp"

namespace weft {

namespace {

bool is_inner(const Node& node) { return stays_inside(node.kind) || node.kind == NodeKind::nic; }

}  // namespace

InsideHost::InsideHost(const Topology& topology) : topology_(topology), first_of_node_(topology.node_count() + 1, 0) {
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> group_of(topology.node_count(), none);
  std::vector<NodeId> stack;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (!is_inner(topology.node(NodeId(i))) || group_of[i] != none) continue;
    group_of[i] = i;
    stack.push_back(NodeId(i));
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (const LinkId link : topology.out_links(at)) {
        const NodeId next = topology.link(link).destination;
        if (!is_inner(topology.node(next)) || topology.node(next).host != topology.node(at).host) continue;
        if (group_of[next.index()] != none) continue;
        group_of[next.index()] = i;
        stack.push_back(next);
      }
    }
  }
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(groups_.size());
    if (is_endpoint(topology.node(NodeId(i)).kind)) {
      for (const LinkId link : topology.out_links(NodeId(i))) {
        const NodeId next = topology.link(link).destination;
        if (group_of[next.index()] != none && topology.node(next).host == topology.node(NodeId(i)).host) {
          groups_.push_back(group_of[next.index()]);
        }
      }
      std::sort(groups_.begin() + first, groups_.end());
      groups_.erase(std::unique(groups_.begin() + first, groups_.end()), groups_.end());
    }
    first_of_node_[i + 1] = static_cast<std::uint32_t>(groups_.size());
  }
}

bool InsideHost::joins(NodeId a, NodeId b) const {
  if (topology_.node(a).host != topology_.node(b).host || topology_.node(a).host.is_none()) return false;
  const auto groups = [&](NodeId node) {
    return std::pair(groups_.begin() + first_of_node_[node.index()], groups_.begin() + first_of_node_[node.index() + 1]);
  };
  auto [left, left_end] = groups(a);
  auto [right, right_end] = groups(b);
  while (left != left_end && right != right_end) {
    if (*left == *right) return true;
    if (*left < *right) {
      ++left;
    } else {
      ++right;
    }
  }
  const auto links = topology_.out_links(a);
  return std::any_of(links.begin(), links.end(), [&](LinkId link) { return topology_.link(link).destination == b; });
}

}  // namespace weft
