// SPDX-License-Identifier: Apache-2.0
// Run folder: what a run left, as its report reads it.
// Threads: belongs to one thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/report_parts.hpp"
#include "tools/report/results_table.hpp"

namespace weft {

/// Throws InputError [bad-results] of what is no JSON object, and what SourceText::read() does.
ReportJson read_results_json(const std::filesystem::path& path);

/// Members of an object; none, or "", where it has none of that name and type.
std::optional<double> results_number(const ReportJson& json, const char* name);
std::string results_text(const ReportJson& json, const char* name);
/// Likewise, empty.
const ReportJson& results_list(const ReportJson& json, const char* name);
/// Of a list, those that are texts.
std::vector<std::string> results_texts(const ReportJson& json, const char* name);
const ReportJson& results_object(const ReportJson& json, const char* name);
/// A number as a cell of a table; null where there is none.
ReportJson results_cell(const ReportJson& json, const char* name);

/// What an object says by itself: a row for each member that is neither list nor object.
ReportTable facts_table(std::string title, const ReportJson& json);

struct RunFolder {
  std::filesystem::path path;
  ReportJson summary;
  ReportJson manifest;

  ResultsTable table(const char* name) const { return ResultsTable(path / name); }
  std::optional<double> figure(const char* name) const { return results_number(summary, name); }
};

}  // namespace weft
