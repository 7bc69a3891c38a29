// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_page.hpp"

#include <array>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "tools/report/calibration_report.hpp"
#include "tools/report/comparison_report.hpp"
#include "tools/report/projection_report.hpp"
#include "tools/report/report_template.hpp"
#include "tools/report/run_report.hpp"
#include "tools/report/study_report.hpp"
#include "tools/results/output_file.hpp"

namespace weft {

namespace {

constexpr std::string_view data_place = "{{weft-report}}";

namespace fs = std::filesystem;

/// What a folder is of, by the file that says so.
struct ReportedFolder {
  const char* file;
  Report (*report)(const fs::path& folder);
};

constexpr const char* folder_help =
    "name the --out of weft run, weft study or weft compare, the --report of weft calibrate or weft project, or the history of "
    "nights";

[[noreturn]] void fail_without_results(const fs::path& folder) {
  const SourcePlace place = SourcePlace::named(folder.string());
  if (fs::exists(folder / "manifest.json") || fs::exists(folder / "manifest.json.partial"))
    fail("unfinished-run", "the run has not ended, or was killed: there is no summary.json", place,
         "wait for its end, or run it again; its finished rows are in the .partial files");
  fail("no-results", "the folder has no results of weft: neither summary.json, study.json nor comparison.json", place, folder_help);
}

Report study_report_if_ended(const fs::path& folder) {
  if (!fs::exists(folder / "study.csv"))
    fail("unfinished-run", "the study has not ended: there is no study.csv yet", SourcePlace::named(folder.string()),
         "weft study --resume goes on with it");
  return study_report(folder);
}

Report run_report_if_ended(const fs::path& folder) {
  if (fs::exists(folder / "manifest.json")) return run_report(folder);
  fail_without_results(folder);
}

constexpr std::array<ReportedFolder, 7> reported_folders = {{
    {"study.json", study_report_if_ended},
    {"comparison.json", comparison_report},
    {calibration_data_file, calibration_report},
    {"nights.csv", nights_report},
    {projection_data_file, projection_report},
    {plan_search_data_file, plan_search_report},
    {"summary.json", run_report_if_ended},
}};

Report report_of(const fs::path& folder) {
  const SourcePlace place = SourcePlace::named(folder.string());
  if (!fs::exists(folder)) fail("no-file", "there is no such folder", place, folder_help);
  if (!fs::is_directory(folder)) fail("no-results", "the report is of a folder", place, folder_help);
  for (const ReportedFolder& one : reported_folders) {
    if (fs::exists(folder / one.file)) return one.report(folder);
  }
  fail_without_results(folder);
}

}  // namespace

bool has_report_page() { return !report_template().empty(); }

void check_report_place(const fs::path& folder) {
  if (!has_report_page()) {
    fail("no-report-page", "this program was built without the page of reports", SourcePlace::named(report_file),
         "build it with -DWEFT_REPORT=ON, which needs npm");
  }
  const fs::path path = folder / report_file;
  std::error_code unknown;
  if (fs::exists(fs::symlink_status(path, unknown)) && !is_report(path)) {
    fail("file-in-the-way", "the report has this name, and the file is none that weft has written",
         SourcePlace::named(path.string()), "move it away");
  }
}

void check_report_place(const fs::path& folder, const std::string& file, std::string_view choice) {
  check_report_place(folder);
  for (const ReportedFolder& one : reported_folders) {
    if (one.file != file && fs::exists(folder / one.file)) {
      fail("file-in-the-way", fmt::format("the folder has other results, {}", one.file), SourcePlace::named(folder.string()),
           fmt::format("name a folder of its own with {}=DIR", choice));
    }
  }
}

std::string report_data(const fs::path& folder) { return printed_json(report_of(folder).json(), -1); }

std::string page_with(const std::string& data) {
  const std::string_view page = report_template();
  const std::size_t at = page.find(data_place);
  WEFT_CHECK(at != std::string_view::npos, "the page has a place for data");
  std::string filled(page.substr(0, at));
  filled.reserve(page.size() + data.size() + data.size() / 16);
  // Whatever names say, nothing of them ends the element that holds the data.
  for (const char letter : data) {
    if (letter == '<') {
      filled += "\\u003c";
    } else {
      filled += letter;
    }
  }
  filled += page.substr(at + data_place.size());
  return filled;
}

fs::path write_report_data(const fs::path& folder, const std::string& file, const std::string& text) {
  make_folder(folder, "--report");
  OutputFile data(folder / file, OutputFile::Packing::none, "--report");
  data.write(text);
  data.commit();
  return write_report(folder);
}

fs::path write_report(const fs::path& folder) {
  check_report_place(folder);
  const std::string page = page_with(report_data(folder));
  OutputFile file(folder / report_file, OutputFile::Packing::none, "the folder");
  file.write(page);
  file.commit();
  return folder / report_file;
}

}  // namespace weft
