// SPDX-License-Identifier: Apache-2.0
// Partition of a topology: which nodes would share a logical process (LP) for a given threshold
// zeta.
//
// Where it sits: `weft topology partition`; core/engine/partition does the work. Packet mode gives
// every node to an LP by it.
//
// Model: the edges are the cables with their propagation delay, and inside a host edges without
// delay: the whole server is one LP, since NVLink and PCIe transfers are handled together by its
// host.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/partition.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// Edges between nodes, for core/engine/partition.
std::vector<PartitionEdge> partition_edges(const Topology& topology);

/// Partitions of all nodes; lp_of_node is indexed by NodeId.
Partition partition_topology(const Topology& topology, Duration zeta);
Partition partition_topology_automatically(const Topology& topology, std::uint32_t lps_min);

/// What `weft topology partition` prints.
struct PartitionSummary {
  struct Lp {
    LpId id;
    std::uint32_t hosts = 0;
    std::uint32_t switches = 0;
    std::uint32_t cables_out = 0;  ///< to other LPs
  };
  std::vector<Lp> lps;           ///< by id
  std::uint32_t cut_cables = 0;  ///< cables between two LPs
  Duration lookahead;
};

PartitionSummary summarize_partition(const Topology& topology, const Partition& partition);

/// Some lines of text: counts, lookahead, and the sizes of LPs, alike ones together.
std::string to_text(const PartitionSummary& summary);

}  // namespace weft
