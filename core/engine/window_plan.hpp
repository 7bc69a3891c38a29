// SPDX-License-Identifier: Apache-2.0
// Window plan: the logical processes of a run and the length of its windows.
//
// Where it sits: the engine (core/engine/engine) asks for it once, when it is built.
//
// Model: a window is as long as the lookahead, the least delay between two logical processes. Batch
// nodes (core/engine/batch_node) need windows no longer than the least delay of any connection to
// them, also inside their own process.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/engine/entity_directory.hpp"
#include "core/engine/partition.hpp"
#include "core/values/units.hpp"

namespace weft {

/// The logical processes that the options ask for.
Partition make_partition(std::size_t entity_count, const std::vector<PartitionEdge>& edges, const EngineOptions& options);

/// For every logical process with batch nodes: the least delay of a connection inside it that leads
/// to one of them; max() if there is none. Other processes have no value.
std::vector<std::optional<Duration>> longest_batch_windows(const EntityDirectory& directory, const Partition& partition,
                                                           const std::vector<PartitionEdge>& edges);

/// The length of a window: the lookahead, or as much of it as makes whole windows of the processes
/// with shorter ones. A rest would cost them as much as a whole window.
Duration window_span_of(Duration lookahead, const std::vector<std::optional<Duration>>& batch_windows);

/// The expected load of an entity before anything is measured. Batch nodes have work per
/// connection.
std::uint64_t weight_of(const EntityDirectory& directory, EntityId id);

}  // namespace weft
