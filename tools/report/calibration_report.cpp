// SPDX-License-Identifier: Apache-2.0
#include "tools/report/calibration_report.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "core/values/units.hpp"
#include "tools/report/calibration_parts.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/report_page.hpp"
#include "tools/report/run_folder.hpp"

namespace weft {

namespace {

constexpr std::size_t times_drawn_max = 2000;
constexpr std::size_t distribution_points = 200;

/// Up to which size, and its name; of times without a size there is no class.
struct SizeClass {
  double below;
  const char* name;
};
constexpr std::array<SizeClass, 3> size_classes = {{
    {65536, "fitted, below 64 KiB"},
    {16777216, "fitted, 64 KiB to 16 MiB"},
    {HUGE_VAL, "fitted, 16 MiB and more"},
}};

struct ComparedTime {
  double measured_s = 0;
  double before_s = 0;
  double fitted_s = 0;
  std::optional<double> size;
  std::string what;
  bool held_out = false;

  double error_before() const { return std::abs(before_s / measured_s - 1); }
  double error_fitted() const { return std::abs(fitted_s / measured_s - 1); }
};

std::vector<ComparedTime> compared_times(const ResultsTable& table) {
  std::vector<ComparedTime> times;
  table.each([&](const ResultsTable::Row& row) {
    const std::optional<double> measured = row.number("measured_s");
    const std::optional<double> before = row.number("before_s");
    const std::optional<double> fitted = row.number("fitted_s");
    if (!measured || !before || !fitted || *measured <= 0) return;
    times.push_back(
        {*measured, *before, *fitted, row.number("size_bytes"), std::string(row.text("what")), row.text("part") == "held_out"});
  });
  return times;
}

ReportJson scatter_of(const std::vector<ComparedTime>& times) {
  ReportSeries equal{"as measured"};
  ReportSeries before{"before"};
  ReportSeries fitted{"fitted"};
  ReportSeries held_out{"fitted, held out from the search"};
  double low = HUGE_VAL;
  double high = 0;
  const std::vector<std::size_t> kept = which_to_keep(times.size(), times_drawn_max);
  for (const std::size_t i : kept) {
    const ComparedTime& time = times[i];
    if (time.before_s <= 0 || time.fitted_s <= 0) continue;
    low = std::min(low, time.measured_s);
    high = std::max(high, time.measured_s);
    before.values.emplace_back(time.measured_s, time.before_s);
    before.labels.push_back(time.what);
    ReportSeries& after = time.held_out ? held_out : fitted;
    after.values.emplace_back(time.measured_s, time.fitted_s);
    after.labels.push_back(time.what);
  }
  if (high > 0) equal.values = {{low, low}, {high, high}};
  std::vector<ReportSeries> series = {fitted, before};
  if (!held_out.values.empty()) series.insert(series.begin() + 1, held_out);
  series.push_back(equal);
  WeightedValues errors;
  for (const ComparedTime& time : times) errors.add(time.error_fitted());
  ReportJson chart = xy_chart("scatter", "times", "Simulated against measured times",
                              fmt::format("Each point is a measured time; on the line it is simulated as it was measured. Half of "
                                          "{} are within {} after the fit, 90 % within {}.",
                                          counted(times.size(), "time", "times"), readable_share(errors.quantile(0.5)),
                                          readable_share(errors.quantile(0.9))),
                              ReportAxis{"measured", "s", true}, ReportAxis{"simulated", "s", true}, series);
  chart["joined"] = ReportJson::array({equal.name});
  if (kept.size() < times.size())
    chart["note"] = fmt::format("{} of {} times are drawn, every {}th; errors are of all.", kept.size(), times.size(), kept[1]);
  return chart;
}

ReportJson errors_of(const std::vector<ComparedTime>& times) {
  std::vector<ReportSeries> series = {{"before"}, {"fitted"}};
  WeightedValues before;
  WeightedValues fitted;
  std::array<WeightedValues, size_classes.size()> by_size;
  for (const ComparedTime& time : times) {
    before.add(time.error_before());
    fitted.add(time.error_fitted());
    if (!time.size) continue;
    const auto found = std::ranges::find_if(size_classes, [&](const SizeClass& one) { return *time.size < one.below; });
    if (found != size_classes.end()) by_size[static_cast<std::size_t>(found - size_classes.begin())].add(time.error_fitted());
  }
  series[0].values.reserve(distribution_points);
  const auto take = [](const WeightedValues& values, ReportSeries& to) {
    for (const auto& [error, share] : values.distribution(distribution_points)) to.values.emplace_back(error, share);
  };
  take(before, series[0]);
  take(fitted, series[1]);
  const auto filled = std::ranges::count_if(by_size, [](const WeightedValues& values) { return !values.is_empty(); });
  for (std::size_t i = 0; filled > 1 && i < by_size.size(); ++i) {
    if (!by_size[i].is_empty()) take(by_size[i], series.emplace_back(ReportSeries{size_classes[i].name}));
  }
  ReportAxis y{"times with at most that error", "share"};
  y.maximum = 1;
  return xy_chart("lines", "errors", "How far off simulated times are",
                  fmt::format("Before the fit half of the times were off by {} at most, after it by {}; 90 % by {} and by {}.",
                              readable_share(before.quantile(0.5)), readable_share(fitted.quantile(0.5)),
                              readable_share(before.quantile(0.9)), readable_share(fitted.quantile(0.9))),
                  ReportAxis{"error, as a share of the measured time", "share"}, y, series);
}

/// Mean errors by size, in classes from 4^k to 4^(k+1) bytes.
void add_errors_by_size(const std::vector<ComparedTime>& times, ReportSection& section) {
  struct Class {
    double before = 0;
    double fitted = 0;
    double count = 0;
  };
  std::map<int, Class> classes;
  for (const ComparedTime& time : times) {
    if (!time.size || *time.size < 1) continue;
    Class& one = classes[(std::bit_width(static_cast<std::uint64_t>(*time.size)) - 1) / 2];
    one.before += time.error_before();
    one.fitted += time.error_fitted();
    one.count += 1;
  }
  if (classes.size() < 2) return;
  std::vector<ReportSeries> series = {{"before"}, {"fitted"}};
  double worst = 0;
  double worst_size = 0;
  for (const auto& [k, one] : classes) {
    const double size = std::exp2(2 * k);
    series[0].values.emplace_back(size, one.before / one.count);
    series[1].values.emplace_back(size, one.fitted / one.count);
    if (one.fitted / one.count >= worst) {
      worst = one.fitted / one.count;
      worst_size = size;
    }
  }
  ReportJson chart =
      xy_chart("lines", "errors_by_size", "Mean error by size",
               fmt::format("Sizes from a power of four to the next. After the fit those from {} on are furthest off, "
                           "by {}.",
                           readable_bytes(worst_size), readable_share(worst)),
               ReportAxis{"size, from", "bytes", true}, ReportAxis{"mean error", "share"}, series);
  chart["marked"] = true;
  section.charts.push_back(std::move(chart));
}

ReportTable parameters_table(const ReportJson& parameters) {
  ReportTable table{
      "parameters-table",
      "Parameters",
      {{"parameter", "text"}, {"before", "text"}, {"fitted", "text"}, {"from", "text"}, {"to", "text"}, {"knowledge", "text"}}};
  for (const ReportJson& one : parameters) {
    table.rows.push_back(ReportJson::array({results_text(one, "name"), results_text(one, "before"), results_text(one, "fitted"),
                                            results_text(one, "low"), results_text(one, "high"), results_text(one, "knowledge")}));
  }
  table.note =
      "From and to: the interval of the fitted value. Identified: the times tell the value; loose: not to 5 %; free: not at all.";
  return table;
}

/// Values and intervals as multiples of what the scenario had, so that all fit on one axis.
void add_parameters(const ReportJson& json, ReportSection& section) {
  const ReportJson& parameters = results_list(json, "parameters");
  ReportAxis names{"parameter"};
  std::vector<ReportSeries> series;
  std::string words;
  for (const ReportJson& one : parameters) {
    const std::optional<double> before = number_in_base_units(results_text(one, "before"));
    const std::optional<double> fitted = number_in_base_units(results_text(one, "fitted"));
    const std::optional<double> low = number_in_base_units(results_text(one, "low"));
    const std::optional<double> high = number_in_base_units(results_text(one, "high"));
    if (!before || !fitted || *before <= 0) continue;
    ReportSeries point{results_text(one, "name")};
    point.values.emplace_back(static_cast<double>(names.categories.size()), *fitted / *before);
    point.intervals.push_back(low && high ? std::optional(std::pair(*low / *before, *high / *before)) : std::nullopt);
    point.labels.push_back(results_text(one, "fitted"));
    names.categories.push_back(point.name);
    words += fmt::format("{}{} is {}", words.empty() ? "" : ", ", point.name, results_text(one, "fitted"));
    series.push_back(std::move(point));
  }
  if (!series.empty()) {
    ReportJson chart = xy_chart("lines", "parameters", "Fitted values against those of before",
                                fmt::format("1 is the value of before; bars are intervals. {}.", words), names,
                                ReportAxis{"fitted over before"}, series);
    chart["marked"] = true;
    section.charts.push_back(std::move(chart));
  }
  if (!parameters.empty()) section.tables.push_back(parameters_table(parameters));
}

void add_search(const ReportJson& json, ReportSection& section) {
  std::vector<ReportSeries> series;
  for (const ReportJson& step : results_list(json, "trail")) {
    const std::string doing = results_text(step, "doing");
    const std::optional<double> candidates = results_number(step, "candidates");
    const std::optional<double> mape = results_number(step, "mape");
    if (!candidates || !mape) continue;
    if (series.empty() || series.back().name != doing) {
      const bool is_back = std::ranges::any_of(series, [&](const ReportSeries& one) { return one.name == doing; });
      if (!is_back) series.emplace_back(ReportSeries{doing});
    }
    std::ranges::find(series, doing, &ReportSeries::name)->values.emplace_back(*candidates, *mape);
  }
  if (series.empty()) return;
  ReportJson chart =
      xy_chart("lines", "search", "How the search went",
               fmt::format("Mean error of the best values so far, by candidates that were simulated. {} runs in all.",
                           results_number(json, "runs").value_or(0)),
               ReportAxis{"candidates"}, ReportAxis{"mean error of the best so far", "share"}, series);
  chart["marked"] = true;
  chart["step"] = true;
  section.charts.push_back(std::move(chart));
}

}  // namespace

std::optional<double> number_in_base_units(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double plain = std::strtod(text.c_str(), &end);
  if (end == text.c_str() + text.size()) return plain;
  if (const auto duration = parse_duration(text); duration.value) return duration.value->in_s();
  if (const auto bytes = parse_bytes(text); bytes.value) return static_cast<double>(bytes.value->count());
  if (const auto rate = parse_bandwidth(text); rate.value) return static_cast<double>(rate.value->in_bps());
  return std::nullopt;
}

ReportSection measured_times_section(const std::filesystem::path& folder) {
  ReportSection section{"times-section", "Simulated and measured times"};
  const ResultsTable table(folder / "times.csv");
  if (!table.is_there()) return section;
  const std::vector<ComparedTime> times = compared_times(table);
  if (times.empty()) return section;
  section.charts.push_back(scatter_of(times));
  section.charts.push_back(errors_of(times));
  add_errors_by_size(times, section);
  return section;
}

Report calibration_report(const std::filesystem::path& folder) {
  const ReportJson json = read_results_json(folder / calibration_data_file);
  const ReportJson& before = results_object(json, "before");
  const ReportJson& training = results_object(json, "training");
  const ReportJson& hold_out = results_object(json, "hold_out");
  Report report;
  report.kind = "calibration";
  report.title = fmt::format("Calibration of {}", results_text(json, "name"));
  report.subtitle = fmt::format(
      "{} to {}, search {}", counted(results_list(json, "parameters").size(), "parameter fitted", "parameters fitted"),
      counted(static_cast<std::uint64_t>(results_number(before, "count").value_or(0)), "measured time", "measured times"),
      results_text(json, "search"));
  if (const auto stopped = json.find("stopped"); stopped != json.end() && *stopped == true)
    report.warnings.push_back("The search was stopped before its end: what follows is the best so far.");
  const auto add = [&](const char* name, const ReportJson& of, const char* what, std::string more) {
    if (const std::optional<double> value = results_number(of, what))
      report.figures.push_back({name, *value, "share", std::move(more)});
  };
  add("Mean error before", before, "mape", "with the scenario as it stood");
  add("Mean error after", training, "mape", "of the times that the search saw");
  add("Mean error, held out", hold_out, "mape",
      fmt::format("of {} times that it did not see", results_number(hold_out, "count").value_or(0)));
  add("Pairs in order", hold_out.empty() ? training : hold_out, "ordering_accuracy",
      "pairs of times whose longer one is simulated longer, too");
  report.figures.push_back({"Outliers", results_cell(json, "outliers"), "",
                            fmt::format("{} times belong to nothing simulated", results_number(json, "unmatched").value_or(0))});
  add_parameters(json, report.sections.emplace_back(ReportSection{"parameters-section", "Parameters"}));
  report.sections.push_back(measured_times_section(folder));
  add_search(json, report.sections.emplace_back(ReportSection{"search-section", "The search"}));
  ReportSection& notes = report.sections.emplace_back(ReportSection{"notes", "Assumptions and notes"});
  notes.notes = results_texts(json, "notes");
  return report;
}

}  // namespace weft
