// SPDX-License-Identifier: Apache-2.0
// Calibration report: what a calibration found, and what nights came to.
//
// Where it sits: report_page chooses it by the files of a folder.
// Threads: pure functions, which read files.
#pragma once

#include <filesystem>

#include "tools/report/report_parts.hpp"

namespace weft {

/// calibration.json: what `weft calibrate --json` prints, with name, search, trail of the search
/// and notes; times.csv beside it: every measured time. Throws InputError of
/// read_results_json() and of tables.
Report calibration_report(const std::filesystem::path& folder);
/// The history of `weft calibrate --nightly`: nights.csv, parameters.csv and the last night's
/// times.csv. Throws the same.
Report nights_report(const std::filesystem::path& history);

}  // namespace weft
