// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/strided_groups.hpp"

#include <utility>
#include <vector>

#include "core/check.hpp"

namespace weft {

std::vector<std::vector<RankId>> strided_groups(std::uint32_t rank_count, std::uint32_t size, std::uint32_t stride) {
  const std::uint64_t block = std::uint64_t{size} * stride;
  WEFT_CHECK(block > 0 && rank_count % block == 0, "groups of one size and stride fill the ranks");
  std::vector<std::vector<RankId>> groups(rank_count / size);
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    groups[rank / block * stride + rank % stride].emplace_back(rank);
  }
  return groups;
}

Communicator strided_communicator(std::string name, std::uint32_t rank_count, std::uint32_t size, std::uint32_t stride) {
  return {std::move(name), rank_count, strided_groups(rank_count, size, stride)};
}

}  // namespace weft
