// SPDX-License-Identifier: Apache-2.0
// Subgroups: an order of a group's members, or of several parts of the group: rings, hosts, rails.
//
// Where it sits: collective programs name their peers by index in a division of the group into
// subgroups (collective_program), so that thousands of ranks share one program whatever the order
// in which their rings visit them.
//
// Model: every position 0..n-1 of a group is in one subgroup or in none, and has an index 0..size-1
// there. The whole group in order of position is the trivial division; it takes no memory.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// `index` modulo `size`, from 0 on.
constexpr std::uint32_t wrapped(std::int64_t index, std::uint32_t size) {
  const auto n = static_cast<std::int64_t>(size);
  return static_cast<std::uint32_t>((index % n + n) % n);
}

/// 0, 1, -1, 2, -2 ...
constexpr std::int64_t zigzag(std::int64_t k) { return k % 2 == 1 ? (k + 1) / 2 : -k / 2; }

class Subgroups {
 public:
  /// The whole group in order of position.
  explicit Subgroups(std::uint32_t positions) : positions_(positions) {}
  /// Each list is a subgroup in its order. Requires: disjoint, entries < positions (WEFT_CHECK).
  Subgroups(std::uint32_t positions, const std::vector<std::vector<std::uint32_t>>& subgroups);

  std::uint32_t positions() const { return positions_; }
  bool is_whole_group() const { return members_.empty(); }
  bool contains(std::uint32_t position) const { return is_whole_group() || places_[position].size > 0; }

  // Requires: contains(position).
  std::uint32_t index_of(std::uint32_t position) const { return is_whole_group() ? position : places_[position].index; }
  std::uint32_t size_at(std::uint32_t position) const { return is_whole_group() ? positions_ : places_[position].size; }
  /// Position of the member with `index` in the subgroup of `position`. Requires: index <
  /// size_at(position).
  std::uint32_t member(std::uint32_t position, std::uint32_t index) const {
    return is_whole_group() ? index : members_[places_[position].first + index];
  }
  /// Position of the k-th of all members, subgroup after subgroup.
  std::uint32_t member_in_order(std::uint32_t k) const { return is_whole_group() ? k : members_[k]; }

 private:
  struct Place {
    std::uint32_t first = 0;  ///< of its subgroup in members_
    std::uint32_t index = 0;
    std::uint32_t size = 0;  ///< 0: in no subgroup
  };

  std::uint32_t positions_ = 0;
  std::vector<Place> places_;           ///< by position; empty for the whole group
  std::vector<std::uint32_t> members_;  ///< subgroup after subgroup
};

}  // namespace weft
