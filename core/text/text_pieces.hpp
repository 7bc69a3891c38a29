// SPDX-License-Identifier: Apache-2.0
// Text pieces: settings that stand in one line of text, taken apart.
//
// Where it sits: readers of parameters that hold lists, such as host_groups of topology builders
// and packet.profiles.
// Threads: functions without side effects.
#pragma once

#include <algorithm>
#include <string_view>

namespace weft {

/// Without the letters of `blanks` at both ends.
inline std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// The part of `rest` before the first of the `marks`; both are taken off. All of it if there is
/// none.
inline std::string_view next_part(std::string_view& rest, std::string_view marks) {
  const std::size_t end = std::min(rest.find_first_of(marks), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

}  // namespace weft
