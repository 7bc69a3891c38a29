// SPDX-License-Identifier: Apache-2.0
// Event digest: what one event adds to the fingerprint chain of the entity that handles it.
//
// It covers time, class, kind, source and payload, but no sequence number: those count what the
// source did for others as well. The six words are folded pairwise by 64x64->128-bit products (as
// in wyhash, Wang Yi), independent of each other and therefore cheap; the chain itself is made by
// Fingerprint::add.
// Thread safety: a pure function.
#pragma once

#include <cstdint>

#include "core/engine/event.hpp"

namespace weft {

inline std::uint64_t event_digest(const Event& event) {
  __extension__ using Wide = unsigned __int128;
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const std::uint64_t header = static_cast<std::uint64_t>(event.key.event_class) << 48 |
                               static_cast<std::uint64_t>(event.kind) << 32 | event.key.source.index();
  return fold(static_cast<std::uint64_t>(event.key.time.in_ticks()) ^ 0xa0761d6478bd642fULL, header ^ 0xe7037ed1a0b428dbULL) +
         fold(event.payload[0] ^ 0x8ebc6af09c88c6e3ULL, event.payload[1] ^ 0x589965cc75374cc3ULL) * 3 +
         fold(event.payload[2] ^ 0x1d8e4e27c47d124fULL, event.payload[3] ^ 0xeb44accab455d165ULL) * 5;
}

}  // namespace weft
