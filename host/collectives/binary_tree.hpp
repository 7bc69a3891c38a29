// SPDX-License-Identifier: Apache-2.0
// Binary tree: who is above and below whom when members 0..n-1 form a binary tree in which every
// second one is a leaf.
//
// Model (Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and
// scan, 2009): in-order numbering. The height of member r is its number of trailing zero bits;
// members of height h have their children at distance 2^(h-1) to either side, and 0 is the root
// with one child. Where the right child would lie beyond n-1, the next smaller distance that does
// not is taken. Odd members are leaves, so in the tree over the mirrored order (n even) or over the
// order shifted by one (n odd) every inner member but one is a leaf.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

struct TreeNeighbours {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t parent = none;
  std::uint32_t left = none;   ///< the child with the smaller number
  std::uint32_t right = none;  ///< the child with the larger number
};

/// Requires: member < members.
TreeNeighbours in_binary_tree(std::uint32_t member, std::uint32_t members);

}  // namespace weft
