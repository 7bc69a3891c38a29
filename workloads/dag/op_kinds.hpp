// SPDX-License-Identifier: Apache-2.0
// Op kinds: what ops do, which collectives there are, and where ops run.
//
// Where it sits: ops of a workload (workloads/dag/dag) say so; the host's collective algorithms go
// by it without the rest of a workload.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

enum class OpKind : std::uint8_t { compute, collective, send, receive };
enum class CollectiveType : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  barrier,
  all_to_all_v
};
inline constexpr std::size_t collective_types = static_cast<std::size_t>(CollectiveType::all_to_all_v) + 1;
std::string_view to_text(OpKind kind);
std::string_view to_text(CollectiveType type);
/// Whether one position of the group is its source or its sink: of broadcast, reduce, gather and
/// scatter.
bool has_root(CollectiveType type);

/// Where a compute op runs. CPU ops (launching kernels, loading data) leave the GPU free.
enum class Processor : std::uint8_t { gpu, cpu };

/// How `peer` of an op is meant.
enum class PeerAddressing : std::uint8_t { absolute, relative };

}  // namespace weft
