// SPDX-License-Identifier: Apache-2.0
// Run report: what the page says of a run.
//
// Where it sits: report_page asks for it where the folder is a run's.
// Model: figures are those of summary.json; the sections come in the order in which a reader asks:
// who ran when, what iterations cost, which links were busy, how long transfers took, what the run
// took for granted, what went in.
// Threads: pure function, which reads files.
#pragma once

#include <filesystem>

#include "tools/report/report_parts.hpp"

namespace weft {

/// Throws InputError [bad-results] and what readers of the tables do.
Report run_report(const std::filesystem::path& folder);

}  // namespace weft
