// SPDX-License-Identifier: Apache-2.0
#include "tools/report/study_report.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/readable.hpp"
#include "core/values/mean_interval.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/run_folder.hpp"
#include "tools/report/study_axes.hpp"

namespace weft {

namespace {

constexpr std::size_t study_series_max = 8;

struct StudiedMetric {
  std::string name;
  std::string unit;
  double factor = 1;           ///< into the unit of the page
  std::string numbering = {};  ///< what its numbers stand for
};

struct StudiedPoint {
  std::string number;
  std::vector<std::string> settings = {};
  std::vector<std::vector<double>> values = {};  ///< by metric, of replicates
  std::uint64_t runs = 0;
};

struct StudiedRuns {
  std::string question;
  std::string name;
  std::vector<std::string> settings;
  std::vector<StudiedMetric> metrics;
  std::vector<StudiedPoint> points;
  std::vector<std::pair<std::string, std::string>> failures;  ///< run, error
  std::uint64_t runs = 0;
  std::set<std::uint64_t> counted;  ///< numbers of the runs
  std::vector<std::size_t> varied;  ///< settings of several values
  std::vector<std::size_t> axes;    ///< those of them that vary by themselves
  bool is_scattered = false;        ///< points are samples or a list, and no grid
  ReportTable facts;                ///< study.json, but for lists
};

StudiedMetric metric_of(const std::string& name, const std::string& unit) {
  if (unit == "ns" || (unit.empty() && name.ends_with("_ns"))) return {name, "s", ns_in_s};
  if (unit == "s" || (name.ends_with("_s") && !name.ends_with("_per_s"))) return {name, "s"};
  if (unit == "bytes" || unit == "bps") return {name, unit};
  if (name.ends_with("_bytes")) return {name, "bytes"};
  if (name.ends_with("_bps")) return {name, "bps"};
  if (name.ends_with("_share") || name.ends_with("utilization") || name.ends_with("utilisation") ||
      name.ends_with("formula_error") || name == "goodput" || name == "regret")
    return {name, "share"};
  return {name, unit};
}

/// Files go without the folder that all values of a setting lie in.
void drop_common_folder(StudiedRuns& study, std::size_t setting) {
  if (study.points.empty() || !study.points.front().settings[setting].starts_with('/')) return;
  std::string folder = study.points.front().settings[setting];
  for (const StudiedPoint& point : study.points) {
    const std::string& value = point.settings[setting];
    const auto differs = std::ranges::mismatch(folder, value).in1;
    folder.erase(differs, folder.end());
    folder.erase(folder.find_last_of('/') + 1);
  }
  for (StudiedPoint& point : study.points) point.settings[setting].erase(0, folder.size());
}

/// Of settings that move along with each other the first that varies is an axis.
void take_axes(const ReportJson& description, StudiedRuns& study) {
  const std::string sampling = results_text(description, "sampling");
  study.is_scattered = sampling == "LATIN_HYPERCUBE" || sampling == "LISTED";
  std::set<std::string> along;
  for (const ReportJson& axis : results_list(description, "axes")) {
    bool has_first = false;
    for (const ReportJson& name : axis) {
      const std::string setting = name.is_string() ? name.get<std::string>() : "";
      const bool varies = std::ranges::any_of(study.varied, [&](std::size_t i) { return study.settings[i] == setting; });
      if (varies && has_first) along.insert(setting);
      has_first = has_first || varies;
    }
  }
  for (const std::size_t setting : study.varied) {
    if (!along.contains(study.settings[setting])) study.axes.push_back(setting);
  }
}

StudiedRuns read_runs(const std::filesystem::path& folder) {
  const ReportJson description = read_results_json(folder / "study.json");
  StudiedRuns study;
  study.question = results_text(description, "question");
  study.name = results_text(description, "name");
  study.facts = facts_table("The study", description);
  for (const ReportJson& name : results_list(description, "settings"))
    study.settings.push_back(name.is_string() ? name.get<std::string>() : "");
  for (const ReportJson& metric : results_list(description, "metrics")) {
    if (!metric.is_object()) continue;
    study.metrics.push_back(metric_of(results_text(metric, "name"), results_text(metric, "unit")));
    study.metrics.back().numbering = results_text(metric, "numbering");
  }
  std::map<std::string, std::size_t, std::less<>> index;
  ResultsTable(folder / "study.csv").each([&](const ResultsTable::Row& row) {
    ++study.runs;
    study.counted.insert(plain_number<std::uint64_t>(std::string(row.text("run"))).value_or(0));
    const std::string number(row.text("point"));
    const auto [found, is_new] = index.emplace(number, study.points.size());
    if (is_new) {
      StudiedPoint& point = study.points.emplace_back(StudiedPoint{number});
      for (const std::string& name : study.settings) point.settings.emplace_back(row.text(name));
      point.values.resize(study.metrics.size());
    }
    StudiedPoint& point = study.points[found->second];
    ++point.runs;
    if (!row.text("error").empty()) study.failures.emplace_back(row.text("run"), row.text("error"));
    for (std::size_t i = 0; i < study.metrics.size(); ++i) {
      if (const std::optional<double> value = row.number(study.metrics[i].name))
        point.values[i].push_back(*value * study.metrics[i].factor);
    }
  });
  for (std::size_t i = 0; i < study.settings.size(); ++i) drop_common_folder(study, i);
  for (std::size_t i = 0; i < study.settings.size(); ++i) {
    std::set<std::string> values;
    for (const StudiedPoint& point : study.points) values.insert(point.settings[i]);
    if (values.size() > 1) study.varied.push_back(i);
  }
  take_axes(description, study);
  return study;
}

ChartedValues values_along(const StudiedRuns& study, std::size_t setting) {
  std::vector<std::string> values;
  for (const StudiedPoint& point : study.points) {
    // One that does not have the setting has no place along it.
    if (!study.is_scattered || !point.settings[setting].empty()) values.push_back(point.settings[setting]);
  }
  return charted(values);
}

ReportAxis chart_axis(const StudiedRuns& study, std::size_t setting, const ChartedValues& values) {
  ReportAxis axis{study.settings[setting], values.unit};
  if (values.numbers.empty()) axis.categories = values.values;
  return axis;
}

std::string metric_text(double value, const StudiedMetric& metric) {
  if (metric.unit == "s") return readable(value);
  if (metric.unit == "bytes") return readable_bytes(value);
  if (metric.unit == "share") return readable_share(value);
  return fmt::format("{:.4g}{}{}", value, metric.unit.empty() ? "" : " ", metric.unit);
}

/// "flow.queue_pairs 4, hosts 8" of the settings given.
std::string settings_text(const StudiedRuns& study, const StudiedPoint& point, const std::vector<std::size_t>& settings) {
  std::string text;
  for (const std::size_t setting : settings) {
    if (!point.settings[setting].empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", study.settings[setting], point.settings[setting]);
  }
  return text;
}

/// Smallest and largest mean, in words; of numbers that stand for something, what for.
std::string span_text(const StudiedRuns& study, std::size_t metric) {
  if (!study.metrics[metric].numbering.empty()) return study.metrics[metric].numbering + '.';
  const StudiedPoint* least = nullptr;
  const StudiedPoint* most = nullptr;
  double least_mean = 0;
  double most_mean = 0;
  for (const StudiedPoint& point : study.points) {
    const std::optional<MeanInterval> interval = mean_interval(point.values[metric]);
    if (!interval) continue;
    if (least == nullptr || interval->mean < least_mean) {
      least = &point;
      least_mean = interval->mean;
    }
    if (most == nullptr || interval->mean > most_mean) {
      most = &point;
      most_mean = interval->mean;
    }
  }
  if (least == nullptr) return fmt::format("No run has a value of {}.", study.metrics[metric].name);
  if (least_mean == most_mean)
    return fmt::format("{} is {} at every point.", study.metrics[metric].name, metric_text(least_mean, study.metrics[metric]));
  return fmt::format("Least is {} ({}), most {} ({}).", metric_text(least_mean, study.metrics[metric]),
                     settings_text(study, *least, study.varied), metric_text(most_mean, study.metrics[metric]),
                     settings_text(study, *most, study.varied));
}

void add_lines(const StudiedRuns& study, const std::vector<std::size_t>& axes, std::size_t metric, ReportSection& section) {
  const std::size_t along = axes.front();
  const std::vector<std::size_t> others(axes.begin() + 1, axes.end());
  const ChartedValues values = values_along(study, along);
  const ReportAxis x = chart_axis(study, along, values);
  std::vector<std::string> names;
  std::map<std::string, ReportSeries> by_name;
  bool has_intervals = false;
  for (const StudiedPoint& point : study.points) {
    const std::optional<MeanInterval> interval = mean_interval(point.values[metric]);
    if (!interval) continue;
    const std::string name = others.empty() ? study.metrics[metric].name : settings_text(study, point, others);
    if (!by_name.contains(name)) names.push_back(name);
    ReportSeries& series = by_name[name];
    series.name = name;
    series.values.emplace_back(values.position_of(point.settings[along]), interval->mean);
    has_intervals = has_intervals || interval->half_width.has_value();
    series.intervals.push_back(interval->half_width ? std::optional(std::pair(interval->mean - *interval->half_width,
                                                                              interval->mean + *interval->half_width))
                                                    : std::nullopt);
  }
  if (names.empty()) return;
  std::vector<ReportSeries> series;
  for (const std::size_t i : which_to_keep(names.size(), study_series_max)) {
    ReportSeries& one = series.emplace_back(std::move(by_name[names[i]]));
    std::vector<std::size_t> order(one.values.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return one.values[k].first; });
    ReportSeries sorted{one.name};
    for (const std::size_t k : order) {
      sorted.values.push_back(one.values[k]);
      sorted.intervals.push_back(one.intervals[k]);
    }
    one = std::move(sorted);
  }
  ReportJson chart =
      xy_chart("lines", fmt::format("line-{}", metric), fmt::format("{} by {}", study.metrics[metric].name, study.settings[along]),
               span_text(study, metric) + (has_intervals ? " Bars are 95 % intervals of the mean." : ""), x,
               ReportAxis{study.metrics[metric].name, study.metrics[metric].unit}, series);
  chart["marked"] = true;
  if (series.size() < names.size())
    chart["note"] = fmt::format("{} of {} combinations of the other axes are drawn.", series.size(), names.size());
  section.charts.push_back(std::move(chart));
}

/// Of points that are no grid: each by one of its settings, in a series for each combination of
/// those that are no numbers, with all settings as its name. Points without a setting are not in
/// its chart.
void add_scatters(const StudiedRuns& study, const std::vector<std::size_t>& axes, std::size_t metric, ReportSection& section) {
  std::vector<std::size_t> kinds;
  for (const std::size_t axis : axes) {
    if (values_along(study, axis).numbers.empty()) kinds.push_back(axis);
  }
  for (const std::size_t along : axes) {
    const ChartedValues values = values_along(study, along);
    std::vector<std::size_t> others = kinds;
    std::erase(others, along);
    std::vector<ReportSeries> series;
    for (const StudiedPoint& point : study.points) {
      const std::optional<MeanInterval> interval = mean_interval(point.values[metric]);
      if (!interval || point.settings[along].empty()) continue;
      const std::string text = settings_text(study, point, others);
      const std::string name = text.empty() ? study.metrics[metric].name : text;
      auto found = std::ranges::find(series, name, &ReportSeries::name);
      if (found == series.end()) found = series.insert(series.end(), ReportSeries{name});
      found->values.emplace_back(values.position_of(point.settings[along]), interval->mean);
      found->labels.push_back(settings_text(study, point, axes));
    }
    if (series.empty()) continue;
    const std::size_t all = series.size();
    series.resize(std::min(all, study_series_max));
    ReportJson chart =
        xy_chart("scatter", fmt::format("scatter-{}-{}", metric, along),
                 fmt::format("{} by {}", study.metrics[metric].name, study.settings[along]),
                 "Each point; its other settings differ, too. " + span_text(study, metric), chart_axis(study, along, values),
                 ReportAxis{study.metrics[metric].name, study.metrics[metric].unit}, series);
    if (series.size() < all)
      chart["note"] = fmt::format("{} of {} combinations of the other settings are drawn.", series.size(), all);
    section.charts.push_back(std::move(chart));
  }
}

void add_heat_map(const StudiedRuns& study, const std::vector<std::size_t>& axes, std::size_t metric, ReportSection& section) {
  if (axes.size() < 2) return;
  const std::vector<std::string> columns = values_along(study, axes[0]).values;
  const std::vector<std::string> rows = values_along(study, axes[1]).values;
  if (columns.size() < 2 || rows.size() < 2) return;
  // Points of other axes at a place are put together.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> means;
  for (const StudiedPoint& point : study.points) {
    const std::optional<MeanInterval> interval = mean_interval(point.values[metric]);
    if (!interval) continue;
    const auto place = std::pair<std::size_t, std::size_t>(std::ranges::find(columns, point.settings[axes[0]]) - columns.begin(),
                                                           std::ranges::find(rows, point.settings[axes[1]]) - rows.begin());
    means[place].push_back(interval->mean);
  }
  // Of samples that are no grid, most places are empty.
  if (means.empty() || 2 * means.size() < columns.size() * rows.size()) return;
  ReportJson chart =
      chart_of("heat", fmt::format("heat-{}", metric),
               fmt::format("{} by {} and {}", study.metrics[metric].name, study.settings[axes[0]], study.settings[axes[1]]),
               "Means of points, the largest in the strongest colour. " + span_text(study, metric));
  ReportAxis x{study.settings[axes[0]]};
  x.categories = columns;
  ReportAxis y{study.settings[axes[1]]};
  y.categories = rows;
  chart["x"] = x.json();
  chart["y"] = y.json();
  chart["z"] = ReportAxis{study.metrics[metric].name, study.metrics[metric].unit}.json();
  chart["cells"] = ReportJson::array();
  for (const auto& [place, values] : means)
    chart["cells"].push_back(ReportJson::array({place.first, place.second, mean_interval(values)->mean}));
  if (axes.size() > 2) chart["note"] = "Means over the values of the other axes.";
  section.charts.push_back(std::move(chart));
}

std::string beside_each_other(const std::string& place, std::string_view value) {
  return place.empty() ? std::string(value) : fmt::format("{} / {}", place, value);
}

/// Values of several settings beside each other, in all combinations: "64 / 100".
struct NestedAxis {
  std::vector<std::size_t> settings = {};
  std::string name = {};
  std::vector<std::string> places = {""};

  void add(const StudiedRuns& study, std::size_t setting) {
    const std::string_view whole = study.settings[setting];
    name = beside_each_other(name, whole.substr(whole.rfind('.') + 1));
    std::vector<std::string> longer;
    for (const std::string& place : places) {
      for (const std::string& value : values_along(study, setting).values) longer.push_back(beside_each_other(place, value));
    }
    places = std::move(longer);
    settings.push_back(setting);
  }
  std::size_t place_of(const StudiedPoint& point) const {
    std::string text;
    for (const std::size_t setting : settings) text = beside_each_other(text, point.settings[setting]);
    return static_cast<std::size_t>(std::ranges::find(places, text) - places.begin());
  }
  ReportJson json() const {
    ReportAxis axis{name};
    axis.categories = places;
    return axis.json();
  }
};

/// Of more than two axes: every point at a place of its own, axes across and down by turns.
void add_whole_map(const StudiedRuns& study, const std::vector<std::size_t>& axes, std::size_t metric, ReportSection& section) {
  constexpr std::size_t cells_max = 2000;
  if (axes.size() < 3 || study.points.size() > cells_max) return;
  NestedAxis across;
  NestedAxis down;
  for (std::size_t i = 0; i < axes.size(); ++i) (i % 2 == 0 ? across : down).add(study, axes[i]);
  // Of points that are no grid, most places are empty.
  if (2 * study.points.size() < across.places.size() * down.places.size()) return;
  ReportJson cells = ReportJson::array();
  for (const StudiedPoint& point : study.points) {
    if (const std::optional<MeanInterval> interval = mean_interval(point.values[metric]))
      cells.push_back(ReportJson::array({across.place_of(point), down.place_of(point), interval->mean}));
  }
  if (cells.empty()) return;
  ReportJson chart = chart_of("heat", fmt::format("map-{}", metric), fmt::format("{} at every point", study.metrics[metric].name),
                              fmt::format("Across {}, down {}. {}", across.name, down.name, span_text(study, metric)));
  chart["x"] = across.json();
  chart["y"] = down.json();
  chart["z"] = ReportAxis{study.metrics[metric].name, study.metrics[metric].unit}.json();
  chart["cells"] = std::move(cells);
  section.charts.push_back(std::move(chart));
}

void add_pareto(const StudiedRuns& study, ReportSection& section) {
  if (study.metrics.size() < 2) return;
  struct Place {
    double x = 0;
    double y = 0;
    const StudiedPoint* point = nullptr;
  };
  std::vector<Place> places;
  for (const StudiedPoint& point : study.points) {
    const std::optional<MeanInterval> x = mean_interval(point.values[0]);
    const std::optional<MeanInterval> y = mean_interval(point.values[1]);
    if (x && y) places.push_back({x->mean, y->mean, &point});
  }
  if (places.size() < 3) return;
  std::ranges::stable_sort(places, [](const Place& a, const Place& b) { return std::pair(a.x, a.y) < std::pair(b.x, b.y); });
  ReportSeries front{"not beaten in both"};
  ReportSeries others{"beaten"};
  double best = HUGE_VAL;
  for (const Place& place : places) {
    const bool is_front = place.y < best;
    if (is_front) best = place.y;
    ReportSeries& series = is_front ? front : others;
    series.values.emplace_back(place.x, place.y);
    series.labels.push_back(settings_text(study, *place.point, study.varied));
  }
  const std::string caption =
      fmt::format("Each point by {} and {}. {} in both, where less is better: {}.", study.metrics[0].name, study.metrics[1].name,
                  counted(front.values.size(), "point is not beaten", "points are not beaten"),
                  front.labels.front() + (front.labels.size() > 1 ? "; ... ; " + front.labels.back() : ""));
  std::vector<ReportSeries> series = {front};
  if (!others.values.empty()) series.push_back(others);
  ReportJson chart = xy_chart("scatter", "pareto", fmt::format("{} against {}", study.metrics[1].name, study.metrics[0].name),
                              caption, ReportAxis{study.metrics[0].name, study.metrics[0].unit},
                              ReportAxis{study.metrics[1].name, study.metrics[1].unit}, series);
  chart["joined"] = ReportJson::array({front.name});
  section.charts.push_back(std::move(chart));
}

void add_points_table(const StudiedRuns& study, ReportSection& section) {
  ReportTable table{"points-table", "All points", {{"point", ""}}};
  for (const std::string& name : study.settings) table.columns.emplace_back(name, "text");
  table.columns.emplace_back("runs", "");
  for (const StudiedMetric& metric : study.metrics) {
    table.columns.emplace_back(metric.name, metric.unit);
    table.columns.emplace_back("+- 95 %", metric.unit);
  }
  for (const StudiedPoint& point : study.points) {
    ReportJson row = ReportJson::array({plain_number<double>(point.number).value_or(0)});
    for (const std::string& value : point.settings) row.push_back(value);
    row.push_back(point.runs);
    for (const std::vector<double>& values : point.values) {
      const std::optional<MeanInterval> interval = mean_interval(values);
      row.push_back(interval ? ReportJson(interval->mean) : ReportJson());
      row.push_back(interval && interval->half_width ? ReportJson(*interval->half_width) : ReportJson());
    }
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
}

/// What the runs noted, each once, in the order of the runs.
ReportSection notes_of_points(const std::filesystem::path& folder, const StudiedRuns& study) {
  ReportSection section{"notes", "Assumptions and notes"};
  std::vector<std::filesystem::path> records;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "points", error)) {
    // Runs may have been carried out that a stopping rule did not need.
    const auto number = plain_number<std::uint64_t>(entry.path().stem().string());
    if (entry.path().extension() == ".json" && number && study.counted.contains(*number)) records.push_back(entry.path());
  }
  std::ranges::sort(records);
  std::vector<std::pair<std::string, std::size_t>> notes;
  std::map<std::string, std::size_t> places;
  for (const std::filesystem::path& record : records) {
    for (const std::string& note : results_texts(read_results_json(record), "notes")) {
      const auto [place, is_new] = places.try_emplace(note, notes.size());
      if (is_new) notes.emplace_back(place->first, 0);
      ++notes[place->second].second;
    }
  }
  for (const auto& [note, runs] : notes) {
    const bool is_of_all = runs == records.size();
    section.notes.push_back(is_of_all ? note : fmt::format("{} (in {} of {} runs)", note, runs, records.size()));
  }
  if (notes.empty()) section.text.push_back("The runs noted nothing.");
  return section;
}

}  // namespace

Report study_report(const std::filesystem::path& folder) {
  const StudiedRuns study = read_runs(folder);
  Report report;
  report.kind = "study";
  report.title = study.question.empty() ? study.name : study.question;
  report.subtitle =
      fmt::format("{}: {}, {}", study.name, counted(study.points.size(), "point", "points"), counted(study.runs, "run", "runs"));
  if (!study.failures.empty())
    report.warnings.push_back(
        fmt::format("{} of {} failed and count in no mean.", study.failures.size(), counted(study.runs, "run", "runs")));
  const std::vector<std::size_t>& axes = study.axes;
  for (std::size_t i = 0; i < study.metrics.size(); ++i) {
    const StudiedMetric& metric = study.metrics[i];
    std::vector<std::pair<double, const StudiedPoint*>> means;
    for (const StudiedPoint& point : study.points) {
      if (const std::optional<MeanInterval> interval = mean_interval(point.values[i])) means.emplace_back(interval->mean, &point);
    }
    if (means.empty()) continue;
    const auto [least, most] = std::ranges::minmax(means, {}, &std::pair<double, const StudiedPoint*>::first);
    report.figures.push_back(
        {"Least " + metric.name, least.first, metric.unit,
         fmt::format("{}; most {}", settings_text(study, *least.second, axes), metric_text(most.first, metric))});
  }
  ReportSection& results = report.sections.emplace_back(ReportSection{"results", "Results"});
  for (std::size_t i = 0; i < study.metrics.size() && !axes.empty(); ++i) {
    if (study.is_scattered) {
      add_scatters(study, axes, i, results);
      continue;
    }
    // Numbers that stand for something have no means over other axes.
    if (study.metrics[i].numbering.empty() || axes.size() < 3) {
      add_lines(study, axes, i, results);
      add_heat_map(study, axes, i, results);
    }
    add_whole_map(study, axes, i, results);
  }
  add_pareto(study, results);
  add_points_table(study, results);
  if (!study.failures.empty()) {
    ReportSection& failures = report.sections.emplace_back(ReportSection{"failures", "Runs that failed"});
    ReportTable table{"failures-table", "Runs that failed", {{"run", "text"}, {"error", "text"}}};
    for (const auto& [run, error] : study.failures) table.rows.push_back(ReportJson::array({run, error}));
    failures.tables.push_back(std::move(table));
  }
  report.sections.push_back(notes_of_points(folder, study));
  report.sections.emplace_back(ReportSection{"inputs", "What went in"}).tables.push_back(study.facts);
  return report;
}

}  // namespace weft
