// SPDX-License-Identifier: Apache-2.0
// Strided groups: how parallel training divides ranks - every group has `size` ranks that are
// `stride` apart.
//
// Where it sits: workload formats and templates that know sizes of groups instead of lists make
// their communicators here. With tensor-parallel size T, data-parallel size D and P pipeline
// stages, rank = (stage x D + d) x T + t, as Megatron numbers them (arXiv 2104.04473), so "tp" is
// (T, 1), "dp" is (D, T), "pp" is (P, T x D), "ep" is (E, T) and its counterpart (D / E, T x E).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/dag/dag.hpp"

namespace weft {

/// Groups {b, b + stride, ..., b + (size - 1) stride}, in order of their first rank. Requires:
/// size, stride > 0 and size x stride divides rank_count.
std::vector<std::vector<RankId>> strided_groups(std::uint32_t rank_count, std::uint32_t size, std::uint32_t stride);

/// The communicator of these groups.
Communicator strided_communicator(std::string name, std::uint32_t rank_count, std::uint32_t size, std::uint32_t stride);

}  // namespace weft
