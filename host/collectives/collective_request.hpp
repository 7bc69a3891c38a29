// SPDX-License-Identifier: Apache-2.0
// Collective request: what a group of ranks asks for, as algorithms see it.
#pragma once

#include <cstdint>

#include "core/values/units.hpp"
#include "host/collectives/group_layout.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

/// `bytes` as in workloads/dag/dag.hpp: the input buffer of one rank.
struct CollectiveRequest {
  CollectiveType type = CollectiveType::all_reduce;
  std::uint32_t root = 0;  ///< position; of broadcast, reduce, gather and scatter, 0 otherwise
  Bytes bytes;
  const GroupLayout* layout = nullptr;  ///< where the group's members are; outlives the request
  const SplitTable* splits = nullptr;   ///< of all_to_all_v; outlives the request

  std::uint32_t ranks() const { return layout->ranks(); }
  /// What the ranks have between them or divide: of all_gather and gather the gathered shards,
  /// otherwise `bytes`, of a barrier nothing.
  Bytes whole_buffer() const {
    return type == CollectiveType::all_gather || type == CollectiveType::gather ? bytes * ranks() : bytes;
  }
  friend bool operator==(const CollectiveRequest&, const CollectiveRequest&) = default;
};

}  // namespace weft
