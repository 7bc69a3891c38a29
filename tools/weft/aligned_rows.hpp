// SPDX-License-Identifier: Apache-2.0
// Rows of text as a table for a terminal.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace weft {

/// Columns as wide as their longest text; the first to the left, all others to the right; a row per
/// line, `indent` before each. Lines end with their last text; rows may be shorter than others.
std::string aligned_rows(const std::vector<std::vector<std::string>>& rows, const std::string& indent = "");

/// The same of rows of one length.
template <std::size_t N>
std::string aligned(const std::vector<std::array<std::string, N>>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows) cells.emplace_back(row.begin(), row.end());
  return aligned_rows(cells);
}

}  // namespace weft
