// SPDX-License-Identifier: Apache-2.0
// Chakra trace: one rank's file (PREFIX.RANK.et, its JSON form PREFIX.RANK.json, or either as .gz)
// as arrays, in the order in which its ops are to be issued.
//
// Where it sits: formats/chakra reads one per rank and turns it into a role. The binary file is
// read message by message (formats/chakra_message), so a damaged length cannot make it allocate
// more than the file holds.
//
// Dependencies are data_deps and, in traces that PyTorch did not record, ctrl_deps. Nodes of one
// lane (`stream` or `tid`) run one after the other. Kernels of different streams that name the same
// storage wait for each other. Among ready nodes the order is by start time, then by id, as
// ASTRA-sim issues free nodes. docs/internals/workload_readers.md has these rules and their
// reasons.
//
// Errors are located by byte offset, in JSON by line: [empty-file], [not-chakra], [truncated-file],
// [bad-length], [unknown-node-type], [duplicate-id], [unknown-dependency], [cycle],
// [negative-size], [missing-attribute], [wrong-rank], [unsupported-collective], [too-many-streams].
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/dag/dag.hpp"
#include "workloads/formats/rank_set.hpp"

namespace weft {

/// A node of the trace. `op` is complete but for the communicator, and for the peer of messages,
/// which `peer_rank` names.
struct ChakraNode {
  Op op;
  std::uint32_t name_begin = 0;  ///< in ChakraTrace::names; ends where the next node's begins
  std::uint32_t group = 0;       ///< index into ChakraTrace::group_names, for communication
  std::uint32_t peer_rank = 0;   ///< of sends and receives
  Duration recorded;             ///< what the trace measured, also for communication
};

struct ChakraTrace {
  std::vector<ChakraNode> nodes;  ///< in issue order: dependencies point to earlier nodes
  std::string names;
  /// (dependency, node), both indices of `nodes`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  /// That communication uses; "" = everyone.
  std::vector<std::string> group_names;
  std::vector<ProcessGroup> groups;  ///< that metadata declares
  bool from_pytorch = false;

  // What was assumed, to be told once per workload.
  std::uint64_t ignored_control_dependencies = 0;
  std::uint64_t unnamed_groups = 0;  ///< collectives that name no group, not even that of everyone
  std::uint64_t launch_costs = 0;    ///< collectives that are CPU calls
  std::uint64_t storage_waits = 0;   ///< edges between GPU streams
  std::uint64_t untimed_memory = 0;  ///< memory nodes without a duration
  std::uint64_t untimed_ops = 0;     ///< compute nodes that give num_ops but no duration
  /// Compute nodes that give tensor_size, but neither num_ops nor a duration.
  std::uint64_t untimed_tensors = 0;
  /// Compute nodes without a lane that nothing orders after the one before on their processor.
  std::uint64_t overlaps = 0;
  std::uint64_t invalid_nodes = 0;       ///< of type 0
  std::uint64_t cpu_communication = 0;   ///< communication that is marked as a CPU op
  std::uint64_t broadcasts = 0;          ///< whose root the format does not say
  std::uint64_t rooted = 0;              ///< reduces, gathers and scatters without a root
  std::uint64_t sized_barriers = 0;      ///< barriers with a comm_size
  std::uint64_t clamped_priorities = 0;  ///< nodes whose comm_priority is not in 0 .. 7
  std::uint64_t partial_dimensions = 0;  ///< collectives whose involved_dim excludes a dimension

  std::string_view name(std::size_t node) const;
};

/// Reads one file in binary form. With `rank`, whose file it is, sends must come from that rank and
/// receives go to it. Throws InputError.
ChakraTrace read_chakra_trace(const std::string& path, std::optional<std::uint32_t> rank = std::nullopt);
/// Reads one file in JSON form (formats/chakra_json); the rest as for the binary form.
ChakraTrace read_chakra_json(const std::string& path, std::optional<std::uint32_t> rank = std::nullopt);

/// A JSON list of {"pg_name": "1", "ranks": [0, 1], "group_size": 2} inside `text`, or none if
/// there is none or it is damaged.
std::optional<std::vector<ProcessGroup>> parse_process_groups(std::string_view text);

}  // namespace weft
