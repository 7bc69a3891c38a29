// SPDX-License-Identifier: Apache-2.0
// Topological order: Kahn's algorithm and a cycle finder over any adjacency.
//
// Where it sits: RoleBuilder sorts ops with it, trace readers sort nodes. Among the ready nodes the
// smallest comes first, so the order depends on nothing but the graph and the numbering.
// `successors_of(node)` returns a range of node numbers; nodes are 0 .. count-1.
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace weft {

struct TopologicalOrder {
  std::vector<std::uint32_t> order;  ///< shorter than the graph if there is a cycle
  /// Per node: predecessors not yet in `order`; > 0 on cycles and behind them.
  std::vector<std::uint32_t> waiting;
};

template <class SuccessorsOf>
TopologicalOrder topological_order(std::uint32_t count, const SuccessorsOf& successors_of) {
  TopologicalOrder result;
  result.waiting.assign(count, 0);
  for (std::uint32_t node = 0; node < count; ++node) {
    for (const std::uint32_t successor : successors_of(node)) ++result.waiting[successor];
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t node = 0; node < count; ++node) {
    if (result.waiting[node] == 0) ready.push(node);
  }
  result.order.reserve(count);
  while (!ready.empty()) {
    const std::uint32_t node = ready.top();
    ready.pop();
    result.order.push_back(node);
    for (const std::uint32_t successor : successors_of(node)) {
      if (--result.waiting[successor] == 0) ready.push(successor);
    }
  }
  return result;
}

/// One cycle among the nodes with waiting > 0: each node is a successor of the one before it, the
/// first of the last; the smallest number comes first. Requires: there is such a node. Each has a
/// predecessor that waits too, so walking backwards must return.
template <class SuccessorsOf>
std::vector<std::uint32_t> find_cycle(const std::vector<std::uint32_t>& waiting, const SuccessorsOf& successors_of) {
  constexpr std::uint32_t no_node = UINT32_MAX;
  std::vector<std::uint32_t> predecessor(waiting.size(), no_node);
  for (std::uint32_t node = 0; node < waiting.size(); ++node) {
    if (waiting[node] == 0) continue;
    for (const std::uint32_t successor : successors_of(node)) {
      if (predecessor[successor] == no_node) predecessor[successor] = node;
    }
  }
  std::uint32_t at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<bool> seen(waiting.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    at = predecessor[at];
  }
  std::vector<std::uint32_t> cycle;
  const std::uint32_t first = at;
  do {
    cycle.push_back(at);
    at = predecessor[at];
  } while (at != first);
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

/// "a -> b -> a", for messages: the nodes of a cycle by name, at most 12 of them, and the first
/// again.
template <class NameOf>
std::string cycle_text(std::span<const std::uint32_t> cycle, const NameOf& name_of) {
  constexpr std::size_t shown_max = 12;
  std::string text;
  for (const std::uint32_t node : cycle.first(std::min(cycle.size(), shown_max))) text += fmt::format("{} -> ", name_of(node));
  return fmt::format("{}{}{}", text, cycle.size() > shown_max ? "... -> " : "", name_of(cycle.front()));
}

}  // namespace weft
