// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/binary_tree.hpp"

#include <bit>

#include "core/check.hpp"

namespace weft {

TreeNeighbours in_binary_tree(std::uint32_t member, std::uint32_t members) {
  WEFT_CHECK(member < members, "a member of a tree is one of its members");
  TreeNeighbours neighbours;
  // 64 bits: sums of two 32-bit numbers fit.
  const std::uint64_t n = members;
  const std::uint64_t r = member;
  const std::uint64_t reach = member == 0 ? std::bit_ceil(n) : std::uint64_t{1} << std::countr_zero(member);
  if (member != 0) {
    const std::uint64_t above = (r ^ reach) | (reach << 1);
    neighbours.parent = static_cast<std::uint32_t>(above < n ? above : r ^ reach);
    if (reach > 1) neighbours.left = static_cast<std::uint32_t>(r - reach / 2);
  }
  for (std::uint64_t distance = reach / 2; distance > 0; distance /= 2) {
    if (r + distance >= n) continue;
    neighbours.right = static_cast<std::uint32_t>(r + distance);
    break;
  }
  return neighbours;
}

}  // namespace weft
