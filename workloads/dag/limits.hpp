// SPDX-License-Identifier: Apache-2.0
// Limits of what a workload may say, checked by every reader so that sums over one rank fit their
// 64 bits; what overflows later still (many iterations of long ops) ends the run as [beyond-clock].
// Thread safety: constants.
#pragma once

#include <cstdint>

#include "core/values/units.hpp"

namespace weft {

constexpr std::uint32_t workload_rank_count_max = 1U << 24;
constexpr std::uint32_t workload_role_count_max = UINT16_MAX;
constexpr std::uint32_t workload_communicator_count_max = UINT16_MAX;
/// Ranks times communicators: each keeps a group and a position for every rank, 0.8 GB in all.
constexpr std::uint64_t workload_memberships_max = 1U << 26;
/// Positions of a split table: 32 MiB of sizes.
constexpr std::uint32_t split_positions_max = 2048;
/// One operation: a year, or 1 PiB.
constexpr Duration op_duration_max = one_year;
constexpr Bytes op_size_max = Bytes::of(1LL << 50);

/// Priorities of ops and listed flows are 0 to this one, which goes first.
constexpr std::uint8_t op_priority_max = 7;
/// Flows of a list.
constexpr std::uint32_t flow_list_size_max = 1U << 29;

}  // namespace weft
