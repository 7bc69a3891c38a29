// SPDX-License-Identifier: Apache-2.0
// Disjoint sets: which numbers have been joined to each other, directly or over others.
//
// Model: union-find with halved paths (Tarjan and van Leeuwen 1984). The least member of a set
// leads it, whatever the order of joins.
// Threads: belongs to one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weft {

class DisjointSets {
 public:
  /// So many sets of one number each, from 0.
  explicit DisjointSets(std::size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), std::uint32_t{0}); }

  std::uint32_t leader(std::uint32_t member) {
    while (above_[member] != member) member = above_[member] = above_[above_[member]];
    return member;
  }
  /// Returns whether they were not joined before.
  bool join(std::uint32_t a, std::uint32_t b) {
    a = leader(a);
    b = leader(b);
    above_[std::max(a, b)] = std::min(a, b);
    return a != b;
  }

 private:
  std::vector<std::uint32_t> above_;
};

}  // namespace weft
