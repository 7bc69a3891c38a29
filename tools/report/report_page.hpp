// SPDX-License-Identifier: Apache-2.0
// Report page: report.html of what stands in a folder.
//
// Where it sits: `weft report`, and --report of other commands.
// Model: the page (tools/report/page, built with the program) is one file without data; a report is
// the page with JSON in its place. It needs no network and no other file.
// Threads: pure functions; write_report() writes a file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tools/results/results_folder.hpp"

namespace weft {

/// Files that say what a folder is of; what is in them stands with their reports
/// (calibration_report.hpp, projection_report.hpp).
inline constexpr const char* calibration_data_file = "calibration.json";
inline constexpr const char* projection_data_file = "projection.json";
inline constexpr const char* plan_search_data_file = "plan_search.json";
/// Beside the results of a run, what `weft explain` found of it.
inline constexpr const char* explanation_data_file = "explanation.json";

/// Whether this program was built with the page. Without it write_report() refuses.
bool has_report_page();

/// Throws what write_report() would of the page and its place in the folder, which need not be
/// there yet: [no-report-page] where the program was built without it, [file-in-the-way] where
/// another file has its name. For those who write a report after long work.
void check_report_place(const std::filesystem::path& folder);
/// The same where results are to be written there, too, of which `file` is; and [file-in-the-way]
/// where the folder has other results. `choice` is the flag that names another place.
void check_report_place(const std::filesystem::path& folder, const std::string& file, std::string_view choice = "--report");

/// Writes folder/report.html and returns its path. What the folder is of shows in its files:
/// summary.json of a run, study.json of a study, comparison.json of a comparison, calibration.json
/// of a calibration, nights.csv of nights, projection.json and plan_search.json of projections.
/// Throws InputError [no-report-page], [no-results] of a folder without any of them,
/// [unfinished-run] where a run or study has not ended, [bad-results], [file-in-the-way],
/// [cannot-write], and what readers of tables do.
std::filesystem::path write_report(const std::filesystem::path& folder);

/// Writes what a command found into a file of the folder, which is made unless it is there, and
/// then the report. Throws the same.
std::filesystem::path write_report_data(const std::filesystem::path& folder, const std::string& file, const std::string& text);

/// The data of the page, as JSON. Throws the same, but for what is of the page itself.
std::string report_data(const std::filesystem::path& folder);

/// The page with these data. Requires: has_report_page().
std::string page_with(const std::string& data);

}  // namespace weft
