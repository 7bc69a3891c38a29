// SPDX-License-Identifier: Apache-2.0
// Rows of cells as a table for a terminal.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

namespace weft {

/// Columns as wide as their longest text; the first to the left, all others to the right; a row per
/// line, `indent` before each. Rows may be shorter than others.
std::string aligned_rows(const std::vector<std::vector<std::string>>& rows, const std::string& indent = "");

}  // namespace weft
