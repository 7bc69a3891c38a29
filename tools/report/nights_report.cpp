// SPDX-License-Identifier: Apache-2.0
// Report of nightly calibrations: errors, drift and values over the nights, and the last night.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/calibration_parts.hpp"
#include "tools/report/calibration_report.hpp"
#include "tools/report/run_folder.hpp"

namespace weft {

namespace {

constexpr std::size_t parameters_drawn_max = 8;

struct Night {
  std::string date;
  std::string status;
  bool alarm = false;
  std::string reasons;
  std::map<std::string, std::optional<double>> shares;
  double rows = 0;
  double matched = 0;
  double outliers = 0;
};

constexpr const char* share_columns[] = {"uncalibrated_mape",   "reference_mape", "published_mape",
                                         "hold_out_mape_after", "drift",          "drift_median"};

std::vector<Night> nights_in(const std::filesystem::path& history) {
  std::vector<Night> nights;
  ResultsTable(history / "nights.csv").each([&](const ResultsTable::Row& row) {
    Night& night = nights.emplace_back();
    night.date = row.text("date");
    night.status = row.text("status");
    night.alarm = row.number("alarm").value_or(0) > 0;
    night.reasons = row.text("reasons");
    for (const char* column : share_columns) night.shares[column] = row.number(column);
    night.rows = row.number("rows").value_or(0);
    night.matched = row.number("matched").value_or(0);
    night.outliers = row.number("outliers").value_or(0);
  });
  return nights;
}

ReportAxis dates_of(const std::vector<Night>& nights) {
  ReportAxis axis{"night"};
  for (const Night& night : nights) axis.categories.push_back(night.date);
  return axis;
}

ReportSeries series_of(const std::vector<Night>& nights, const char* name, const char* column) {
  ReportSeries series{name};
  for (std::size_t i = 0; i < nights.size(); ++i) {
    series.values.emplace_back(static_cast<double>(i), nights[i].shares.at(column));
    series.labels.push_back(nights[i].status);
  }
  return series;
}

std::string known_share(const std::optional<double>& share) { return share ? readable_share(*share) : "not known"; }

void add_errors(const std::vector<Night>& nights, ReportSection& section) {
  const std::vector<ReportSeries> series = {series_of(nights, "values in force", "published_mape"),
                                            series_of(nights, "scenarios as they stand", "uncalibrated_mape"),
                                            series_of(nights, "night's fit, of times held out", "hold_out_mape_after")};
  ReportJson chart =
      xy_chart("lines", "nights_errors", "Mean error by night",
               fmt::format("How far simulated times of a night are from its measured ones. On the last night: {} with "
                           "the values in force, {} without calibration.",
                           known_share(nights.back().shares.at("published_mape")),
                           known_share(nights.back().shares.at("uncalibrated_mape"))),
               dates_of(nights), ReportAxis{"mean error", "share"}, series);
  chart["marked"] = true;
  section.charts.push_back(std::move(chart));
}

void add_drift(const std::vector<Night>& nights, ReportSection& section) {
  const bool is_known = std::ranges::any_of(nights, [](const Night& night) { return night.shares.at("drift").has_value(); });
  if (!is_known) return;
  const std::vector<ReportSeries> series = {series_of(nights, "night", "drift"),
                                            series_of(nights, "median of nights before", "drift_median")};
  const auto alarms = std::ranges::count_if(nights, &Night::alarm);
  ReportJson chart = xy_chart("lines", "nights_drift", "Drift from the reference",
                              fmt::format("How far the reference's predictions are from those of the night's own fit. {}.",
                                          counted(static_cast<std::uint64_t>(alarms), "night had an alarm", "nights had an alarm")),
                              dates_of(nights), ReportAxis{"drift", "share"}, series);
  chart["marked"] = true;
  section.charts.push_back(std::move(chart));
}

/// As multiples of the first night's values, so that all fit on one axis.
void add_values(const std::filesystem::path& history, const std::vector<Night>& nights, ReportSection& section) {
  ReportTable table{
      "values-table",
      "Fitted values",
      {{"night", "text"}, {"parameter", "text"}, {"value", "text"}, {"from", "text"}, {"to", "text"}, {"knowledge", "text"}}};
  std::vector<std::string> names;
  std::map<std::string, ReportSeries> series;
  std::map<std::string, double> first;
  ResultsTable(history / "parameters.csv").each([&](const ResultsTable::Row& row) {
    const std::string name(row.text("parameter"));
    const std::string value(row.text("value"));
    table.rows.push_back(
        ReportJson::array({row.text("date"), name, value, row.text("low"), row.text("high"), row.text("knowledge")}));
    const std::optional<double> number = number_in_base_units(value);
    const auto night = std::ranges::find(nights, row.text("date"), &Night::date);
    if (!number || night == nights.end()) return;
    if (!first.contains(name)) {
      if (*number <= 0) return;
      first[name] = *number;
      names.push_back(name);
      series[name].name = name;
    }
    const double of_first = first[name];
    const std::optional<double> low = number_in_base_units(std::string(row.text("low")));
    const std::optional<double> high = number_in_base_units(std::string(row.text("high")));
    ReportSeries& line = series[name];
    line.values.emplace_back(static_cast<double>(night - nights.begin()), *number / of_first);
    line.intervals.push_back(low && high ? std::optional(std::pair(*low / of_first, *high / of_first)) : std::nullopt);
    line.labels.push_back(value);
  });
  std::vector<ReportSeries> drawn;
  for (std::size_t i = 0; i < std::min(names.size(), parameters_drawn_max); ++i) drawn.push_back(series[names[i]]);
  if (!drawn.empty()) {
    ReportJson chart =
        xy_chart("lines", "nights_values", "Fitted values by night",
                 "Values of each night's fit over those of its first night, with their intervals: 1 has not changed.",
                 dates_of(nights), ReportAxis{"value over that of its first night"}, drawn);
    chart["marked"] = true;
    if (drawn.size() < names.size()) chart["note"] = fmt::format("{} of {} parameters are drawn.", drawn.size(), names.size());
    section.charts.push_back(std::move(chart));
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

ReportTable nights_table(const std::vector<Night>& nights) {
  ReportTable table{"nights-table",
                    "Nights, the last one first",
                    {{"night", "text"},
                     {"status", "text"},
                     {"alarm", "text"},
                     {"measured times", ""},
                     {"matched", ""},
                     {"outliers", ""},
                     {"error in force", "share"},
                     {"error uncalibrated", "share"},
                     {"drift", "share"},
                     {"why", "text"}}};
  const auto cell = [](const std::optional<double>& share) { return share ? ReportJson(*share) : ReportJson(); };
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    table.rows.push_back(
        ReportJson::array({night->date, night->status, night->alarm ? "yes" : "no", night->rows, night->matched, night->outliers,
                           cell(night->shares.at("published_mape")), cell(night->shares.at("uncalibrated_mape")),
                           cell(night->shares.at("drift")), night->reasons}));
  }
  return table;
}

}  // namespace

Report nights_report(const std::filesystem::path& history) {
  const std::vector<Night> nights = nights_in(history);
  Report report;
  report.kind = "calibration";
  report.title = "Nightly calibration";
  if (nights.empty()) {
    report.warnings.push_back("No night has been made yet.");
    return report;
  }
  const Night& last = nights.back();
  report.subtitle = fmt::format("{}, the last of {}", counted(nights.size(), "night", "nights"), last.date);
  if (last.alarm) report.warnings.push_back("The last night had an alarm: the machine has drifted, or its errors have grown.");
  if (last.status != "published") report.warnings.push_back(fmt::format("The last night was {}: {}.", last.status, last.reasons));
  const auto add = [&](const char* name, const char* column, const char* more) {
    if (const std::optional<double> share = last.shares.at(column)) report.figures.push_back({name, *share, "share", more});
  };
  report.figures.push_back({"Last night", last.status, "text", last.date});
  add("Mean error, in force", "published_mape", "of the last night's times");
  add("Mean error, uncalibrated", "uncalibrated_mape", "of the same, with scenarios as they stand");
  add("Drift", "drift_median", "in the median of the last nights");
  report.figures.push_back({"Measured times", last.rows, "", fmt::format("{} matched, {} outliers", last.matched, last.outliers)});
  ReportSection& over = report.sections.emplace_back(ReportSection{"nights", "Over the nights"});
  add_errors(nights, over);
  add_drift(nights, over);
  over.tables.push_back(nights_table(nights));
  add_values(history, nights, report.sections.emplace_back(ReportSection{"values", "Fitted values"}));
  ReportSection times = measured_times_section(history / last.date);
  times.title = fmt::format("Simulated and measured times of {}", last.date);
  report.sections.push_back(std::move(times));
  return report;
}

}  // namespace weft
