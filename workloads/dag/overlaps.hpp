// SPDX-License-Identifier: Apache-2.0
// Overlaps: how many ops that share a resource may run at the same time because no dependency
// orders them.
//
// Where it sits: under workloads/formats. A DAG cannot say "one at a time, in any order"; readers
// of formats whose simulators run the ops of one processor one after the other count here what they
// must tell the user.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace weft {

/// The resource of an op that takes none.
constexpr std::uint32_t no_resource = UINT32_MAX;

/// How many ops are not preceded by the op before them on their resource, in topological order
/// (smallest number first). `resource_of` gives the resource of each op; edges are (dependency,
/// op). 0 if the edges have a cycle, which RoleBuilder reports.
std::uint64_t count_overlaps(std::span<const std::uint32_t> resource_of,
                             std::span<const std::pair<std::uint32_t, std::uint32_t>> edges);

}  // namespace weft
