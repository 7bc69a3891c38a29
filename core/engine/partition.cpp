// SPDX-License-Identifier: Apache-2.0
#include "core/engine/partition.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <numeric>
#include <queue>
#include <tuple>

#include "core/check.hpp"

namespace weft {

namespace {

/// Disjoint sets over dense nodes.
class NodeSets {
 public:
  explicit NodeSets(std::size_t node_count) : rank_(node_count, 0), parent_(node_count), sets_(rank_.data(), parent_.data()) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  void join(std::uint32_t a, std::uint32_t b) { sets_.union_set(a, b); }
  bool joined(std::uint32_t a, std::uint32_t b) { return sets_.find_set(a) == sets_.find_set(b); }
  std::uint32_t representative(std::uint32_t node) { return sets_.find_set(node); }

 private:
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> parent_;
  boost::disjoint_sets<std::uint32_t*, std::uint32_t*> sets_;
};

/// Numbers groups by their smallest node and measures the lookahead. `group_of` maps a node to any
/// number below `group_limit`.
template <class GroupOf>
Partition number_groups(std::size_t node_count, std::size_t group_limit, std::span<const PartitionEdge> edges, GroupOf group_of) {
  Partition partition;
  partition.lp_of_node.reserve(node_count);
  std::vector<LpId> lp_of_group(group_limit, LpId::none());
  for (std::uint32_t node = 0; node < node_count; ++node) {
    LpId& lp = lp_of_group[group_of(node)];
    if (lp.is_none()) lp = LpId(partition.lp_count++);
    partition.lp_of_node.push_back(lp);
  }
  for (const PartitionEdge& edge : edges) {
    if (partition.lp_of_node[edge.from] != partition.lp_of_node[edge.to]) {
      partition.lookahead = std::min(partition.lookahead, edge.min_delay);
    }
  }
  WEFT_CHECK(partition.lookahead > Duration::zero(), "no edge of zero delay joins two logical processes");
  return partition;
}

}  // namespace

Partition partition_by_delay(std::size_t node_count, std::span<const PartitionEdge> edges, Duration zeta) {
  const Duration limit = std::max(zeta, Duration::ticks(1));
  NodeSets sets(node_count);
  for (const PartitionEdge& edge : edges) {
    WEFT_CHECK(edge.from < node_count && edge.to < node_count, "an edge joins nodes that exist");
    if (edge.min_delay < limit) sets.join(edge.from, edge.to);
  }
  return number_groups(node_count, node_count, edges, [&](std::uint32_t node) { return sets.representative(node); });
}

Partition partition_automatically(std::size_t node_count, std::span<const PartitionEdge> edges, std::uint32_t lps_min) {
  // As zeta grows, edges merge in order of delay, LPs become fewer and the lookahead longer: find
  // the first delay whose merging would leave too few LPs; zeta is that delay.
  std::vector<PartitionEdge> by_delay(edges.begin(), edges.end());
  std::sort(by_delay.begin(), by_delay.end(),
            [](const PartitionEdge& a, const PartitionEdge& b) { return a.min_delay < b.min_delay; });
  NodeSets sets(node_count);
  std::size_t lp_count = node_count;
  Duration zeta = Duration::zero();
  for (const PartitionEdge& edge : by_delay) {
    if (edge.min_delay > zeta) zeta = edge.min_delay;
    if (sets.joined(edge.from, edge.to)) continue;
    if (edge.min_delay > Duration::zero() && lp_count - 1 < lps_min) return partition_by_delay(node_count, edges, zeta);
    sets.join(edge.from, edge.to);
    --lp_count;
  }
  return partition_by_delay(node_count, edges, Duration::max());
}

Partition partition_merged(const Partition& partition, std::span<const PartitionEdge> edges, std::uint32_t lps_max) {
  if (partition.lp_count <= lps_max) return partition;
  // Neighbours by LP, and how much of the work an LP is taken to be.
  std::vector<std::vector<std::uint32_t>> neighbours(partition.lp_count);
  std::vector<std::uint64_t> weight(partition.lp_count, 1);
  for (const PartitionEdge& edge : edges) {
    const std::uint32_t from = partition.lp_of_node[edge.from].index();
    const std::uint32_t to = partition.lp_of_node[edge.to].index();
    ++weight[from];
    ++weight[to];
    if (from == to) continue;
    neighbours[from].push_back(to);
    neighbours[to].push_back(from);
  }
  const std::uint64_t total = std::accumulate(weight.begin(), weight.end(), std::uint64_t{0});
  // Group after group grows by the neighbour with most edges into it, of several the lowest, until
  // it has its share.
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> group_of(partition.lp_count, none);
  std::uint32_t group = 0;
  std::uint64_t placed = 0;
  std::uint32_t first_free = 0;
  while (placed < total) {
    std::vector<std::uint32_t> edges_into(partition.lp_count, 0);
    // Edges into the group, LP counted from the end
    std::priority_queue<std::tuple<std::uint32_t, std::uint32_t>> next;
    const std::uint64_t share_end = total * (group + 1) / lps_max;
    while (placed < total && (placed < share_end || group + 1 == lps_max)) {
      std::uint32_t lp = none;
      while (!next.empty() && lp == none) {
        const auto [edges_then, from_end] = next.top();
        next.pop();
        const std::uint32_t candidate = partition.lp_count - 1 - from_end;
        if (group_of[candidate] == none && edges_into[candidate] == edges_then) lp = candidate;
      }
      if (lp == none) {
        while (group_of[first_free] != none) ++first_free;
        lp = first_free;
      }
      group_of[lp] = group;
      placed += weight[lp];
      for (const std::uint32_t other : neighbours[lp]) {
        if (group_of[other] == none) next.emplace(++edges_into[other], partition.lp_count - 1 - other);
      }
    }
    ++group;
  }
  return number_groups(partition.lp_of_node.size(), group, edges,
                       [&](std::uint32_t node) { return group_of[partition.lp_of_node[node].index()]; });
}

Partition partition_explicitly(std::span<const LpId> lp_of_node, std::span<const PartitionEdge> edges) {
  std::vector<LpId> distinct(lp_of_node.begin(), lp_of_node.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return number_groups(lp_of_node.size(), distinct.size(), edges, [&](std::uint32_t node) {
    return static_cast<std::size_t>(std::lower_bound(distinct.begin(), distinct.end(), lp_of_node[node]) - distinct.begin());
  });
}

ZetaTable::ZetaTable(std::vector<Row> rows) : rows_(std::move(rows)) {
  WEFT_CHECK(!rows_.empty(), "a zeta table has a row");
  WEFT_CHECK(std::is_sorted(rows_.begin(), rows_.end(),
                            [](const Row& a, const Row& b) { return a.mean_gpus_per_job_max < b.mean_gpus_per_job_max; }),
             "rows of a zeta table ascend by job size");
}

ZetaTable ZetaTable::standard() {
  return ZetaTable({{8, Duration::ns(100)}, {64, Duration::ns(250)}, {1024, Duration::us(1)}, {1e18, Duration::ns(2500)}});
}

Duration ZetaTable::zeta_for(double mean_gpus_per_job) const {
  for (const Row& row : rows_) {
    if (mean_gpus_per_job <= row.mean_gpus_per_job_max) return row.zeta;
  }
  return rows_.back().zeta;
}

}  // namespace weft
