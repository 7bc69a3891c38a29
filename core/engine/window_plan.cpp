// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window_plan.hpp"

#include <algorithm>
#include <variant>

#include "core/check.hpp"
#include "core/engine/batch_node.hpp"
#include "core/engine/batch_process.hpp"

namespace weft {

Partition make_partition(std::size_t entity_count, const std::vector<PartitionEdge>& edges, const EngineOptions& options) {
  if (const auto* by_zeta = std::get_if<PartitionByZeta>(&options.partition)) {
    return partition_by_delay(entity_count, edges, by_zeta->zeta);
  }
  if (const auto* by_table = std::get_if<PartitionByTable>(&options.partition)) {
    return partition_by_delay(entity_count, edges, by_table->table.zeta_for(by_table->mean_gpus_per_job));
  }
  if (const auto* given = std::get_if<PartitionExplicit>(&options.partition)) {
    WEFT_CHECK(given->lp_of_entity.size() == entity_count, "an explicit partition has one entry per entity");
    return partition_explicitly(given->lp_of_entity, edges);
  }
  if (options.threads == 1) return partition_explicitly(std::vector<LpId>(entity_count, LpId(0)), edges);
  const std::uint32_t lps_min = options.threads * std::get<PartitionAutomatic>(options.partition).lps_per_thread_min;
  return partition_automatically(entity_count, edges, lps_min);
}

std::vector<std::optional<Duration>> longest_batch_windows(const EntityDirectory& directory, const Partition& partition,
                                                           const std::vector<PartitionEdge>& edges) {
  std::vector<char> is_batch_node(directory.size());
  std::vector<std::optional<Duration>> window_of_lp(partition.lp_count);
  for (std::uint32_t i = 0; i < directory.size(); ++i) {
    is_batch_node[i] = dynamic_cast<const BatchNode*>(&directory.entity(EntityId(i))) != nullptr ? 1 : 0;
    if (is_batch_node[i] != 0) window_of_lp[partition.lp_of_node[i].index()] = Duration::max();
  }
  for (const PartitionEdge& edge : edges) {
    const LpId lp = partition.lp_of_node[edge.from];
    if (lp != partition.lp_of_node[edge.to] || edge.from == edge.to || is_batch_node[edge.to] == 0) continue;
    window_of_lp[lp.index()] = std::min(*window_of_lp[lp.index()], edge.min_delay);
  }
  return window_of_lp;
}

std::uint64_t weight_of(const EntityDirectory& directory, EntityId id) {
  const bool is_batch_node = dynamic_cast<const BatchNode*>(&directory.entity(id)) != nullptr;
  return 1 + (is_batch_node ? directory.connection_count(id) : 0);
}

Duration window_span_of(Duration lookahead, const std::vector<std::optional<Duration>>& batch_windows) {
  Duration shortest = lookahead;
  for (const std::optional<Duration>& window : batch_windows)
    shortest = std::min({shortest, window.value_or(lookahead), window ? BatchProcess::window_limit : lookahead});
  WEFT_CHECK(shortest > Duration::zero(), "what a batch node sends takes time");
  return lookahead == Duration::max() ? lookahead : shortest * (lookahead.in_ticks() / shortest.in_ticks());
}

}  // namespace weft
