// SPDX-License-Identifier: Apache-2.0
// Counted note: "1 barrier runs as an all-reduce", "2 barriers run as all-reduces" for
// Workload::assumptions.
// Where it sits: under workloads/formats, whose readers count what a format leaves open.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

/// Adds a note if the count is not zero: the number, what is counted with its verb, and `rest`,
/// which is the same for one and for many.
inline void add_counted_note(std::vector<std::string>& notes, std::uint64_t count, std::string_view one, std::string_view many,
                             std::string_view rest) {
  if (count > 0) notes.push_back(fmt::format("{}{}", counted(count, one, many), rest));
}

}  // namespace weft
