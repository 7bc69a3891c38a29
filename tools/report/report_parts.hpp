// SPDX-License-Identifier: Apache-2.0
// Report parts: what the page draws, as JSON: charts, tables, sections, the report as a whole.
//
// Where it sits: run_report, study_report and the others fill them; report_page puts them into the
// page. tools/report/page/src/report.ts has the same shapes for the page.
// Units: base ones on every axis ("s", "bytes", "bps", "share" of 1); the page chooses prefixes.
// Threads: values.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

using ReportJson = nlohmann::ordered_json;

struct ReportAxis {
  std::string name;
  std::string unit = {};
  bool is_log = false;
  std::vector<std::string> categories = {};
  std::optional<double> maximum = {};

  ReportJson json() const;
};

struct ReportSeries {
  std::string name;
  std::vector<std::pair<double, std::optional<double>>> values = {};
  /// None, or one for each value; labels likewise.
  std::vector<std::optional<std::pair<double, double>>> intervals = {};
  std::vector<std::string> labels = {};

  ReportJson json() const;
};

/// Names and words of a chart; its kind adds the rest.
ReportJson chart_of(std::string_view kind, std::string id, std::string title, std::string caption);
ReportJson xy_chart(std::string_view kind, std::string id, std::string title, std::string caption, const ReportAxis& x,
                    const ReportAxis& y, std::span<const ReportSeries> series);

struct ReportTable {
  std::string id;
  std::string title;
  std::vector<std::pair<std::string, std::string>> columns;  ///< name, unit
  ReportJson rows = ReportJson::array();
  std::string note = {};

  ReportJson json() const;
};

struct ReportSection {
  std::string id;
  std::string title;
  std::vector<std::string> text = {};
  std::vector<std::string> notes = {};
  ReportJson charts = ReportJson::array();
  std::vector<ReportTable> tables = {};

  bool is_empty() const { return text.empty() && notes.empty() && charts.empty() && tables.empty(); }
  ReportJson json() const;
};

struct ReportFigure {
  std::string name;
  ReportJson value;
  std::string unit = {};
  std::string more = {};
};

struct Report {
  std::string kind;  ///< "run", "study"
  std::string title;
  std::string subtitle = {};
  std::vector<std::string> warnings = {};
  std::vector<ReportFigure> figures = {};
  std::vector<ReportSection> sections = {};

  /// Sections in which nothing stands are left out.
  ReportJson json() const;
};

}  // namespace weft
