// SPDX-License-Identifier: Apache-2.0
// "1 switch", "2 switches": a number with its noun, for summaries and messages.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

inline std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace weft
