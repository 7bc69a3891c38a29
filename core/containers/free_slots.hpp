// SPDX-License-Identifier: Apache-2.0
// Free slots: places of a vector that are used again.
// Threads: belongs to whoever owns both.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// A place in `items`: the last that was put into `free`, or a new one.
template <class T>
std::uint32_t take_slot(std::vector<T>& items, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    items.emplace_back();
    return static_cast<std::uint32_t>(items.size()) - 1;
  }
  const std::uint32_t slot = free.back();
  free.pop_back();
  return slot;
}

}  // namespace weft
