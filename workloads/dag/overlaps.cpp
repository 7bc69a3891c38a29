// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/overlaps.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "workloads/dag/topological_order.hpp"

namespace weft {

namespace {

using Edges = std::span<const std::pair<std::uint32_t, std::uint32_t>>;  ///< (dependency, op)

/// Edges by dependency: the ops that wait for `op`.
class Successors {
 public:
  Successors(std::size_t count, Edges edges) : begin_(count + 1, 0) {
    for (const auto& [dependency, op] : edges) ++begin_[dependency + 1];
    for (std::size_t i = 0; i < count; ++i) begin_[i + 1] += begin_[i];
    targets_.resize(edges.size());
    std::vector<std::uint64_t> next(begin_.begin(), begin_.end() - 1);
    for (const auto& [dependency, op] : edges) targets_[next[dependency]++] = op;
  }
  std::span<const std::uint32_t> of(std::uint32_t op) const {
    return {targets_.data() + begin_[op], static_cast<std::size_t>(begin_[op + 1] - begin_[op])};
  }

 private:
  std::vector<std::uint64_t> begin_;
  std::vector<std::uint32_t> targets_;
};

}  // namespace

std::uint64_t count_overlaps(std::span<const std::uint32_t> resource_of, Edges edges) {
  const auto count = static_cast<std::uint32_t>(resource_of.size());
  std::set<std::uint32_t> resources;
  const bool is_shared = std::any_of(resource_of.begin(), resource_of.end(), [&resources](std::uint32_t resource) {
    return resource != no_resource && !resources.insert(resource).second;
  });
  if (!is_shared) return 0;
  const Successors successors(count, edges);
  const bool forward = std::all_of(edges.begin(), edges.end(), [](const auto& edge) { return edge.first < edge.second; });
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> position;  // inverse of order
  if (!forward) {
    order = topological_order(count, [&](std::uint32_t op) { return successors.of(op); }).order;
    if (order.size() < count) return 0;
    position.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) position[order[i]] = i;
  }
  const auto op_at = [&](std::uint32_t i) { return forward ? i : order[i]; };
  const auto position_of = [&](std::uint32_t op) { return forward ? op : position[op]; };

  // Consecutive ops of a resource, by position in the order.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::map<std::uint32_t, std::uint32_t> latest;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t resource = resource_of[op_at(i)];
    if (resource == no_resource) continue;
    const auto [before, is_first] = latest.try_emplace(resource, i);
    if (!is_first) pairs.emplace_back(before->second, i);
    before->second = i;
  }
  std::sort(pairs.begin(), pairs.end());

  // One pass finds for 64 pairs which of them are joined; bit p of reached[i]: the first of pair p
  // comes before the op at i. Pairs that begin close to each other share a pass, which looks at no
  // more of the order than they span.
  constexpr std::size_t pairs_per_pass = 64;
  std::uint64_t overlapping = 0;
  std::vector<std::uint64_t> reached(count);
  for (std::size_t begin = 0; begin < pairs.size(); begin += pairs_per_pass) {
    const auto pass = std::span(pairs).subspan(begin, std::min(pairs_per_pass, pairs.size() - begin));
    std::uint32_t last = 0;
    for (const auto& [before, after] : pass) last = std::max(last, after);
    std::fill(reached.begin() + pass.front().first, reached.begin() + last + 1, 0);
    for (std::size_t p = 0; p < pass.size(); ++p) reached[pass[p].first] |= std::uint64_t{1} << p;
    for (std::uint32_t i = pass.front().first; i < last; ++i) {
      if (reached[i] == 0) continue;
      for (const std::uint32_t next : successors.of(op_at(i))) {
        if (position_of(next) <= last) reached[position_of(next)] |= reached[i];
      }
    }
    for (std::size_t p = 0; p < pass.size(); ++p) overlapping += (reached[pass[p].second] >> p & 1) == 0 ? 1 : 0;
  }
  return overlapping;
}

}  // namespace weft
