// SPDX-License-Identifier: Apache-2.0
// Partition: which nodes share a logical process (LP), and how far apart the LPs are.
//
// Where it sits: the engine partitions its entities with it, `weft topology partition` a topology's
// nodes.
//
// Model (propagation-delay-based partitioning of the paper): nodes are vertices, whoever may send
// to whom with which least delay are edges. Nodes joined by an edge with delay < zeta share an LP,
// so that no short edge remains between LPs. The lookahead, the most that a window is long, is the
// least delay of the edges that remain: a larger zeta gives fewer LPs and longer windows. Zeta is
// given, looked up by the mean size of the jobs, or chosen: automatically means the longest
// lookahead that still leaves enough LPs for the threads. No choice changes the results of a run,
// only its speed.
//
// Invariants
//   1. LP ids are dense and numbered by their smallest node.
//   2. An edge of zero delay never joins two LPs; so lookahead > 0.
// Thread safety: pure functions; tables are values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// `from` may send to `to`. The direction does not matter here.
struct PartitionEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Duration min_delay;
};

struct Partition {
  std::vector<LpId> lp_of_node;
  std::uint32_t lp_count = 0;
  /// Least delay between two LPs; Duration::max() if no edge joins two.
  Duration lookahead = Duration::max();
};

/// Nodes joined by an edge with delay < zeta share an LP; so do nodes joined by an edge of zero
/// delay.
Partition partition_by_delay(std::size_t node_count, std::span<const PartitionEdge> edges, Duration zeta);

/// The longest lookahead that leaves at least `lps_min` LPs. If no partition has that many, the one
/// with the most LPs.
Partition partition_automatically(std::size_t node_count, std::span<const PartitionEdge> edges, std::uint32_t lps_min);

/// The same with at most about `lps_max` LPs: neighbours are put together so that all have about as
/// many edges. For LPs of which many cost little more than one (core/engine/batch_process). The
/// lookahead is no shorter.
Partition partition_merged(const Partition& partition, std::span<const PartitionEdge> edges, std::uint32_t lps_max);

/// The partition that `lp_of_node` (any numbers) describes, renumbered. Requires: no edge of zero
/// delay joins two LPs (WEFT_CHECK).
Partition partition_explicitly(std::span<const LpId> lp_of_node, std::span<const PartitionEdge> edges);

/// Zeta by the mean size of the jobs: small jobs stay within a few racks, so that many short
/// windows' worth of LPs are busy at once; large jobs cross the whole fabric, where only long
/// windows pay.
class ZetaTable {
 public:
  struct Row {
    double mean_gpus_per_job_max = 0;  ///< the row holds up to and including this size
    Duration zeta;
  };

  /// Rows ascend by size; sizes beyond the last row use the last row. Requires: at least one row
  /// (WEFT_CHECK).
  explicit ZetaTable(std::vector<Row> rows);

  /// Up to 8 GPUs per job: 100 ns (cables inside a rack, 20 m, merge); up to 64: 250 ns (50 m, leaf
  /// to aggregation inside a row); up to 1,024: 1 us (200 m, a building); above: 2.5 us (500 m, a
  /// campus). Fibre lengths at 5 ns per metre; a starting point.
  static ZetaTable standard();

  Duration zeta_for(double mean_gpus_per_job) const;

 private:
  std::vector<Row> rows_;
};

}  // namespace weft
