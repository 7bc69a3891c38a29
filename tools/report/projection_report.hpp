// SPDX-License-Identifier: Apache-2.0
// Projection report: the time of an iteration and the memory that it needs, on one cluster or
// several; and all plans that a search found.
//
// Where it sits: report_page chooses it by the files of a folder.
// Threads: pure functions, which read files.
#pragma once

#include <filesystem>

#include "tools/report/report_parts.hpp"

namespace weft {

/// {"projections": [what `weft project training --json` prints, ...], "memory": [what `weft project
/// memory --json` prints, or null, ...]} in projection.json. Throws InputError of
/// read_results_json().
Report projection_report(const std::filesystem::path& folder);
/// What `weft project search --json` prints in plan_search.json. Throws the same.
Report plan_search_report(const std::filesystem::path& folder);

}  // namespace weft
