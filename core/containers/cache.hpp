// SPDX-License-Identifier: Apache-2.0
// Cache: fetching memory before it is needed. It changes how long a run takes, never what it says.
//
// Where it sits: loops that know what they will touch a few steps ahead (core/engine/batch_process
// and the nodes it runs, network/max_min, network/flow).
// Threads: any; what others may be writing is not touched by it.
#pragma once

#include <algorithm>
#include <cstddef>

namespace weft::cache {

inline constexpr std::size_t line_bytes = 64;

/// Asks for the lines of `bytes` from `begin` on; the address need not be valid.
inline void fetch(const void* begin, std::size_t bytes) {
  for (std::size_t byte = 0; byte < bytes; byte += line_bytes) {
    __builtin_prefetch(static_cast<const char*>(begin) + byte);
    // GCC takes a function that only fetches for one without effect, and leaves its calls out.
    __asm__ __volatile__("");
  }
}

/// visit(i) for each i < count, in order, and fetch(i) `ahead` steps before it. Inlined, as these
/// are few instructions in the hottest of loops.
template <class Fetch, class Visit>
[[gnu::always_inline]] inline void visit_ahead(std::size_t count, std::size_t ahead, Fetch fetch, Visit visit) {
  for (std::size_t i = 0; i < std::min(ahead, count); ++i) fetch(i);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) fetch(i + ahead);
    visit(i);
  }
}

}  // namespace weft::cache
