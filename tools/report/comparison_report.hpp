// SPDX-License-Identifier: Apache-2.0
// Comparison report: what the page says of comparison.json, which `weft compare` writes.
// Threads: pure function, which reads a file.
#pragma once

#include <filesystem>

#include "tools/report/report_parts.hpp"

namespace weft {

/// Throws InputError [bad-results].
Report comparison_report(const std::filesystem::path& folder);

}  // namespace weft
