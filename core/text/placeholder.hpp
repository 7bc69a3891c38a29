// SPDX-License-Identifier: Apache-2.0
// Placeholders in paths that a user gives, such as {date} in "fct-{date}.csv".
// Thread safety: pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// `text` with `value` in place of `placeholder`, wherever it stands in it; not in what was put in.
inline std::string with_placeholder(std::string text, std::string_view placeholder, std::string_view value) {
  for (std::size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at + value.size()))
    text.replace(at, placeholder.size(), value);
  return text;
}

}  // namespace weft
