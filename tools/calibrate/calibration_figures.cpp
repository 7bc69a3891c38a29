// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/calibration_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/calibrate/markup.hpp"
#include "tools/calibrate/night_date.hpp"
#include "tools/calibrate/svg_chart.hpp"

namespace weft {

namespace {

using Scale = SvgAxis::Scale;
using Quantity = SvgAxis::Quantity;

constexpr double wide_px = 900;
constexpr double half_px = 445;

/// An entry of a legend: the look of its shapes and their name.
struct LegendEntry {
  const char* look;
  std::string name;
};

std::string legend(std::span<const LegendEntry> entries) {
  std::string html = "<p class=\"legend\" aria-hidden=\"true\">";
  for (const LegendEntry& entry : entries)
    html += fmt::format("<span><i class=\"key {}\"></i>{}</span>", entry.look, escaped(entry.name));
  return html + "</p>\n";
}

std::vector<LegendEntry> lines_before_and_after() { return {{"stroke before", "before"}, {"stroke after", "after"}}; }
std::vector<LegendEntry> before_and_after() { return {{"before", "before"}, {"after", "after"}}; }

/// What a section is made of; all but the pictures are text.
struct FigureParts {
  std::string id;
  std::string heading;
  std::string says;
  std::string legend_html;
  std::vector<std::string> pictures;  ///< side by side
  std::string notes;
  std::string table_html;
};

std::string section(const FigureParts& parts) {
  std::string html = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", parts.id, escaped(parts.heading));
  if (!parts.says.empty()) html += fmt::format("<p>{}</p>\n", escaped(parts.says));
  html += parts.legend_html;
  html += parts.pictures.size() > 1 ? "<div class=\"pictures pair\">\n" : "<div class=\"pictures\">\n";
  for (const std::string& picture : parts.pictures) html += fmt::format("<div class=\"picture\">\n{}</div>\n", picture);
  html += "</div>\n";
  if (!parts.notes.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", escaped(parts.notes));
  if (!parts.table_html.empty()) {
    html += fmt::format("<details>\n<summary>Figures as a table</summary>\n{}</details>\n", parts.table_html);
  }
  return html + "</section>\n";
}

std::string times_figure_text(std::uint64_t count) {
  return fmt::format("{} {}", count_figure(count), count == 1 ? "time" : "times");
}

double after_error(const TimedError& row) { return std::abs(relative_time_error(row.after_s, row.measured_s)); }
double before_error(const TimedError& row) { return std::abs(relative_time_error(row.before_s, row.measured_s)); }

/// From the least error to the largest of a picture.
struct ErrorRange {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  void add(double error) {
    if (!std::isfinite(error)) return;
    high = std::max(high, error);
    if (error > 0) low = std::min(low, error);
  }
  /// Errors that lie so far apart are told from each other by a logarithmic axis only.
  bool is_far_apart() const {
    constexpr double far_apart = 12;
    return low * far_apart < high;
  }
};

SvgAxis error_axis(const ErrorRange& range) {
  if (!range.is_far_apart()) return SvgAxis::over("mean absolute error", Scale::linear, Quantity::share, 0, 1.05 * range.high);
  // Errors of almost nothing do not spread the rest.
  constexpr double spread_max = 1e4;
  return SvgAxis::over("mean absolute error (logarithmic)", Scale::logarithmic, Quantity::share,
                       0.8 * std::max(range.low, range.high / spread_max), 1.1 * range.high);
}

// --- Simulated against measured times ---

/// The rows to draw: all, or those furthest off after the fit and, of the others, evenly many in
/// order of measured time.
struct DrawnTimes {
  std::vector<const TimedError*> rows;
  std::size_t furthest = 0;  ///< of them those that are drawn for their error
};

DrawnTimes drawn_of(std::vector<const TimedError*> rows) {
  constexpr std::size_t furthest_max = drawn_times_max / 20;
  DrawnTimes drawn;
  if (rows.size() <= drawn_times_max) {
    drawn.rows = std::move(rows);
    return drawn;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return after_error(*a) > after_error(*b); });
  drawn.furthest = furthest_max;
  drawn.rows.assign(rows.begin(), rows.begin() + furthest_max);
  rows.erase(rows.begin(), rows.begin() + furthest_max);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->measured_s < b->measured_s; });
  constexpr std::size_t even = drawn_times_max - furthest_max;
  for (std::size_t i = 0; i < even; ++i) drawn.rows.push_back(rows[i * rows.size() / even]);
  return drawn;
}

std::string times_picture(const DrawnTimes& drawn, const SvgAxis& axis, bool is_after, const std::string& description) {
  SvgAxis x = axis;
  SvgAxis y = axis;
  x.title = "measured";
  y.title = is_after ? "simulated, after" : "simulated, before";
  constexpr double height = 400;
  SvgChart chart({is_after ? "times-after" : "times-before",
                  is_after ? "Simulated against measured times after the fit" : "Simulated against measured times before the fit",
                  description},
                 x, y, half_px, height);
  const double low = axis.minimum;
  const double high = axis.maximum;
  constexpr double near = 0.05;
  const std::array<SvgPoint, 4> band = {
      {{low, low * (1 - near)}, {high, high * (1 - near)}, {high, high * (1 + near)}, {low, low * (1 + near)}}};
  chart.add_area(band, "near");
  const std::array<SvgPoint, 2> diagonal = {{{low, low}, {high, high}}};
  chart.add_line(diagonal, "diagonal");
  std::vector<SvgPoint> seen;
  std::vector<SvgPoint> held_out;
  for (const TimedError* row : drawn.rows) {
    auto& to = is_after && row->is_held_out ? held_out : seen;
    to.push_back({row->measured_s, is_after ? row->after_s : row->before_s});
  }
  chart.add_dots(seen, is_after ? "after" : "before");
  chart.add_dots(held_out, "held-out");
  return chart.to_svg();
}

/// By tenfold of measured time: how many, their errors, and how many are near.
std::string times_table(std::span<const TimedError* const> rows) {
  constexpr double near = 0.05;
  struct Decade {
    std::uint64_t count = 0, near_before = 0, near_after = 0;
    double before = 0, after = 0;
  };
  std::map<int, Decade> decades;
  for (const TimedError* row : rows) {
    Decade& decade = decades[static_cast<int>(std::floor(std::log10(row->measured_s) + 1e-9))];
    ++decade.count;
    decade.before += before_error(*row);
    decade.after += after_error(*row);
    decade.near_before += before_error(*row) <= near ? 1U : 0U;
    decade.near_after += after_error(*row) <= near ? 1U : 0U;
  }
  HtmlTable table("Errors by measured time: each row up to ten times as long", "wfffff",
                  {"measured from", "times", "mean error before", "after", "within 5 % before", "after"});
  for (const auto& [power, decade] : decades) {
    const auto count = static_cast<double>(decade.count);
    table.add_row({readable(std::pow(10.0, power)), count_figure(decade.count), percent_figure(decade.before / count),
                   percent_figure(decade.after / count), percent_figure(static_cast<double>(decade.near_before) / count),
                   percent_figure(static_cast<double>(decade.near_after) / count)});
  }
  return table.to_html();
}

// --- By class ---

/// Ticks in the middle of the classes, the i-th of which is from i to i + 1.
std::vector<SvgTick> class_ticks(std::span<const ErrorClass> classes, bool with_unit) {
  std::vector<SvgTick> ticks;
  for (std::size_t i = 0; i < classes.size(); ++i)
    ticks.push_back({static_cast<double>(i) + 0.5, with_unit ? classes[i].label : fmt::format("{}", classes[i].minimum)});
  return ticks;
}

SvgAxis class_axis(std::string title, std::vector<SvgTick> ticks) {
  const auto count = static_cast<double>(ticks.size());
  return {std::move(title), Scale::linear, Quantity::number, 0, count, std::move(ticks)};
}

const ErrorClass& worst_after(std::span<const ErrorClass> classes) {
  return *std::max_element(classes.begin(), classes.end(),
                           [](const ErrorClass& a, const ErrorClass& b) { return a.after_mape < b.after_mape; });
}

/// A pair of bars for each class.
void add_class_bars(std::span<const ErrorClass> classes, SvgChart& chart) {
  // So many pairs are wide enough for figures over both, and over the second.
  constexpr std::size_t labelled_max = 10;
  constexpr std::size_t half_labelled_max = 18;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const ErrorClass& c = classes[i];
    const double middle = static_cast<double>(i) + 0.5;
    const auto add = [&](double from, double to, double mape, const char* look, std::size_t with_label_max) {
      const std::string tip = fmt::format("from {}, {}: {} ({})", c.label, look, percent_figure(mape), times_figure_text(c.count));
      chart.add_bar(from, to, mape, look, tip,
                    classes.size() <= with_label_max ? fmt::format("{:.2f}", 100 * mape) : std::string());
    };
    constexpr double bar = 0.34;
    constexpr double gap = 0.01;
    add(middle - bar, middle - gap, c.before_mape, "before", labelled_max);
    add(middle + gap, middle + bar, c.after_mape, "after", half_labelled_max);
  }
}

void add_class_lines(std::span<const ErrorClass> classes, SvgChart& chart) {
  std::vector<SvgPoint> before;
  std::vector<SvgPoint> after;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const double middle = static_cast<double>(i) + 0.5;
    before.push_back({middle, classes[i].before_mape});
    after.push_back({middle, classes[i].after_mape});
  }
  chart.add_line(before, "before");
  chart.add_dots(before, "before");
  chart.add_line(after, "after");
  chart.add_dots(after, "after");
}

/// Means before and after of each class.
struct ClassPicture {
  const char* id;
  const char* heading;
  const char* axis_title;
  const char* table_title;
  const char* class_title;
  bool with_unit;
};

std::string class_figure(std::span<const ErrorClass> classes, const ClassPicture& what) {
  if (classes.empty()) return {};
  ErrorRange range;
  for (const ErrorClass& c : classes) {
    range.add(c.before_mape);
    range.add(c.after_mape);
  }
  constexpr double height = 300;
  const ErrorClass& worst = worst_after(classes);
  const std::string says = fmt::format("Largest after the fit: {} from {} ({}), {} before.", percent_figure(worst.after_mape),
                                       worst.label, times_figure_text(worst.count), percent_figure(worst.before_mape));
  SvgChart chart({what.id + std::string("-picture"), what.heading, says},
                 class_axis(what.axis_title, class_ticks(classes, what.with_unit)), error_axis(range), wide_px, height);
  const bool has_bars = !range.is_far_apart();
  if (has_bars) {
    add_class_bars(classes, chart);
  } else {
    add_class_lines(classes, chart);
  }
  HtmlTable table(what.table_title, "wfff", {what.class_title, "times", "mean error before", "after"});
  for (const ErrorClass& c : classes)
    table.add_row({c.label, count_figure(c.count), percent_figure(c.before_mape), percent_figure(c.after_mape)});
  return section({what.id,
                  what.heading,
                  says,
                  legend(has_bars ? before_and_after() : lines_before_and_after()),
                  {chart.to_svg()},
                  has_bars ? "" : "The axis of errors is logarithmic, as those before and after are far apart.",
                  table.to_html()});
}

// --- Residuals ---

/// From the lowest whisker to the highest, with 0 between.
struct SpreadRange {
  double low = 0;
  double high = 0;
  void add(const ErrorSpread& spread) {
    low = std::min(low, spread.percentile_5);
    high = std::max(high, spread.percentile_95);
  }
  double size() const { return high - low; }
};

std::string residuals_picture(std::span<const ErrorClass> classes, bool is_after, const SpreadRange& range) {
  constexpr double height = 320;
  const char* when = is_after ? "after" : "before";
  SvgChart chart({fmt::format("residuals-{}", when), fmt::format("Relative errors by message size {} the fit", when),
                  "A box from the lower to the upper quartile for each class of sizes, with its median; whiskers hold nine times "
                  "of ten."},
                 class_axis("message size, from", class_ticks(classes, true)),
                 SvgAxis::over(fmt::format("relative error {}", when), Scale::linear, Quantity::share, range.low, range.high),
                 half_px, height);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const ErrorClass& c = classes[i];
    const ErrorSpread& spread = is_after ? c.after : c.before;
    constexpr double half_box = 0.28;
    const double middle = static_cast<double>(i) + 0.5;
    chart.add_box(middle - half_box, middle + half_box,
                  {spread.percentile_5, spread.lower_quartile, spread.median, spread.upper_quartile, spread.percentile_95}, when,
                  fmt::format("from {}: median {}, quartiles {} and {}", c.label, signed_percent_figure(spread.median),
                              signed_percent_figure(spread.lower_quartile), signed_percent_figure(spread.upper_quartile)));
  }
  return chart.to_svg();
}

// --- Hosts ---

/// A curve of steps, of few enough points for a picture, from one end of the axis to the other.
std::vector<SvgPoint> steps_of(std::span<const CdfPoint> cdf, const SvgAxis& axis) {
  constexpr std::size_t steps_max = 400;
  std::vector<SvgPoint> points = {{axis.minimum, 0}};
  const std::size_t steps = std::min(steps_max, cdf.size());
  for (std::size_t i = 1; i <= steps; ++i) {
    const CdfPoint& point = cdf[i * cdf.size() / steps - 1];
    const double error = std::max(point.error, axis.minimum);
    points.push_back({error, points.back().y});
    points.push_back({error, point.hosts});
  }
  points.push_back({std::max(axis.maximum, points.back().x), 1});
  return points;
}

/// The least error that at least a share of the hosts keeps to.
double error_of_share(std::span<const CdfPoint> cdf, double share) {
  for (const CdfPoint& point : cdf) {
    if (point.hosts >= share * (1 - 1e-12)) return point.error;
  }
  return cdf.back().error;
}

// --- Nights ---

/// Without a time behind it.
std::string short_date(const std::string& date) {
  std::string day = date.substr(0, 10);
  return day_of(day) ? day : date;
}

/// Where nights stand: at their days if these are dates that rise, else one beside the other.
std::vector<double> places_of_nights(std::span<const NightPoint> nights) {
  std::vector<double> places;
  bool are_days = true;
  for (const NightPoint& night : nights) {
    const std::optional<std::chrono::sys_days> day = day_of(short_date(night.date));
    const double place = day ? static_cast<double>(day->time_since_epoch().count()) : 0;
    if (!day || (!places.empty() && place <= places.back())) are_days = false;
    if (!are_days) break;
    places.push_back(place);
  }
  if (are_days) return places;
  places.clear();
  for (std::size_t i = 0; i < nights.size(); ++i) places.push_back(static_cast<double>(i));
  return places;
}

bool is_known(const NightPoint& night) {
  return std::isfinite(night.uncalibrated_mape) || std::isfinite(night.drift) || std::isfinite(night.published_mape);
}

std::string nights_table(std::span<const NightPoint> nights) {
  HtmlTable table("Mean absolute errors by night, the latest first", "wwffffw",
                  {"night", "status", "uncalibrated", "drift", "median drift", "published", "alarm"});
  for (std::size_t i = nights.size(); i-- > 0;) {
    const NightPoint& night = nights[i];
    table.add_row({night.date, night.status, percent_figure(night.uncalibrated_mape), percent_figure(night.drift),
                   percent_figure(night.drift_median), percent_figure(night.published_mape), night.alarm ? "yes" : ""});
  }
  return table.to_html();
}

}  // namespace

std::string times_figure(std::span<const TimedError> times) {
  std::vector<const TimedError*> rows;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  bool has_held_out = false;
  for (const TimedError& row : times) {
    if (!has_error(row)) continue;
    rows.push_back(&row);
    has_held_out = has_held_out || row.is_held_out;
    for (const double time_s : {row.measured_s, row.before_s, row.after_s}) {
      if (!(time_s > 0)) continue;
      low = std::min(low, time_s);
      high = std::max(high, time_s);
    }
  }
  if (rows.empty()) return {};
  const std::string table = times_table(rows);
  const std::size_t count = rows.size();
  const DrawnTimes drawn = drawn_of(std::move(rows));
  const SvgAxis axis = SvgAxis::over("", Scale::logarithmic, Quantity::seconds, low, high);
  std::string description = fmt::format("{} over simulated time, both logarithmic; on the diagonal both are equal.",
                                        counted(drawn.rows.size(), "measured time", "measured times"));
  std::string notes = "The line is where simulated and measured times are equal; the band around it is \u00b15 %.";
  if (drawn.rows.size() < count) {
    notes +=
        fmt::format(" {} of {} times are drawn: the {} furthest off after the fit, and evenly many of the others in order of time.",
                    count_figure(drawn.rows.size()), count_figure(count), count_figure(drawn.furthest));
  }
  std::vector<LegendEntry> entries = before_and_after();
  if (has_held_out) entries.push_back({"held-out", "after, held out from the search"});
  return section({"times",
                  "Simulated against measured times",
                  "",
                  legend(entries),
                  {times_picture(drawn, axis, false, description), times_picture(drawn, axis, true, description)},
                  notes,
                  table});
}

std::string residuals_figure(const ErrorBreakdown& breakdown) {
  const std::vector<ErrorClass>& classes = breakdown.by_message_size;
  if (classes.empty()) return {};
  SpreadRange before;
  SpreadRange after;
  HtmlTable table("Relative errors by message size: 5 %, 25 %, half, 75 % and 95 % of the times lie below", "wwfffff",
                  {"message size from", "when", "5 %", "25 %", "median", "75 %", "95 %"});
  for (const ErrorClass& c : classes) {
    before.add(c.before);
    after.add(c.after);
    for (const ErrorSpread* spread : {&c.before, &c.after}) {
      std::vector<std::string> cells = {c.label, spread == &c.before ? "before" : "after"};
      for (const double error :
           {spread->percentile_5, spread->lower_quartile, spread->median, spread->upper_quartile, spread->percentile_95})
        cells.push_back(signed_percent_figure(error));
      table.add_row(cells);
    }
  }
  // Pictures beside each other have one scale unless one of them would show nothing then.
  constexpr double alike = 4;
  std::string notes =
      "Boxes hold the middle half of the errors of a class of sizes, whiskers nine of ten; above 0 the simulation is too slow.";
  if (before.size() > alike * after.size() || after.size() > alike * before.size()) {
    notes += " The two pictures have different scales.";
  } else {
    before = after = {std::min(before.low, after.low), std::max(before.high, after.high)};
  }
  return section({"residuals",
                  "Relative error by message size",
                  "Boxes that do not lie around 0 are errors that go with the size of messages.",
                  legend(before_and_after()),
                  {residuals_picture(classes, false, before), residuals_picture(classes, true, after)},
                  notes,
                  table.to_html()});
}

std::string message_size_figure(const ErrorBreakdown& breakdown) {
  return class_figure(breakdown.by_message_size,
                      {"message-size", "Mean error by message size", "message size, from",
                       "Mean absolute errors by message size: each row up to four times as large", "message size from", true});
}

std::string job_size_figure(const ErrorBreakdown& breakdown) {
  return class_figure(breakdown.by_job_size,
                      {"job-size", "Mean error by job size", "GPUs of the job, from",
                       "Mean absolute errors by job size: each row up to twice as large", "job size from", false});
}

std::string host_figure(const ErrorBreakdown& breakdown) {
  if (breakdown.by_host.empty()) return {};
  const auto& before = breakdown.host_cdf_before;
  const auto& after = breakdown.host_cdf_after;
  // A few hosts far off do not squeeze the others together.
  constexpr double most = 0.98;
  constexpr double far_off = 3;
  const double highest = std::max(before.back().error, after.back().error);
  const double usual = std::max(error_of_share(before, most), error_of_share(after, most));
  if (!std::isfinite(highest)) return {};
  const bool is_cut = usual > 0 && highest > far_off * usual;
  ErrorRange medians;
  for (const auto* cdf : {&before, &after}) medians.add(error_of_share(*cdf, 0.5));
  ErrorRange range;
  for (const auto* cdf : {&before, &after}) {
    for (const CdfPoint& point : *cdf) range.add(point.error);
  }
  range.high = is_cut ? 1.2 * usual : highest;
  SvgAxis x = SvgAxis::over("", Scale::linear, Quantity::share, 0, range.high);
  if (medians.is_far_apart()) x = error_axis(range);
  x.title = medians.is_far_apart() ? "mean absolute error of a host (logarithmic)" : "mean absolute error of a host";
  // 60 % is what the paper tells of.
  constexpr double told = 0.6;
  const std::string says = fmt::format("{}: 60 % of them have an error of at most {} after the fit, {} before.",
                                       counted(breakdown.by_host.size(), "host", "hosts"),
                                       percent_figure(error_of_share(after, told)), percent_figure(error_of_share(before, told)));
  constexpr double height = 320;
  SvgChart chart({"hosts-picture", "Share of hosts by their mean error", says}, x,
                 {"share of hosts", Scale::linear, Quantity::share, 0, 1}, wide_px, height);
  chart.add_line(steps_of(before, x), "before");
  chart.add_line(steps_of(after, x), "after");
  const auto beyond =
      static_cast<std::uint64_t>(std::count_if(breakdown.by_host.begin(), breakdown.by_host.end(), [&](const HostError& host) {
        return std::max(host.before_mape, host.after_mape) > x.maximum;
      }));
  HtmlTable shares("Errors that shares of the hosts keep to", "wff",
                   {"share of hosts", "mean error before, at most", "after, at most"});
  for (const double share : {0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, 1.0})
    shares.add_row({fmt::format("{:.0f} %", 100 * share), percent_figure(error_of_share(before, share)),
                    percent_figure(error_of_share(after, share))});
  constexpr std::size_t listed_max = 20;
  const std::size_t listed = std::min(listed_max, breakdown.by_host.size());
  HtmlTable furthest(listed < breakdown.by_host.size() ? fmt::format("The {} hosts furthest off after the fit", listed)
                                                       : "All hosts, those furthest off after the fit first",
                     "wfff", {"host", "times", "mean error before", "after"});
  for (std::size_t i = 0; i < listed; ++i) {
    const HostError& host = breakdown.by_host[breakdown.by_host.size() - 1 - i];
    furthest.add_row({host.host, count_figure(host.count), percent_figure(host.before_mape), percent_figure(host.after_mape)});
  }
  return section({"hosts",
                  "Mean error by host",
                  says,
                  legend(lines_before_and_after()),
                  {chart.to_svg()},
                  beyond > 0 ? fmt::format("{} beyond the right end.", counted(beyond, "host lies", "hosts lie")) : std::string(),
                  shares.to_html() + furthest.to_html()});
}

std::string nights_figure(std::span<const NightPoint> nights, const std::optional<double>& drift_threshold) {
  ErrorRange range;
  std::uint64_t alarms = 0;
  std::uint64_t gaps = 0;
  for (const NightPoint& night : nights) {
    for (const double error : {night.uncalibrated_mape, night.drift, night.published_mape}) range.add(error);
    alarms += night.alarm ? 1U : 0U;
    gaps += is_known(night) ? 0U : 1U;
  }
  if (nights.empty()) return {};
  const bool has_threshold = drift_threshold && std::isfinite(*drift_threshold);
  if (has_threshold) range.add(*drift_threshold);
  const std::vector<double> places = places_of_nights(nights);
  std::vector<SvgTick> ticks;
  for (std::size_t i = 0; i < nights.size(); ++i) ticks.push_back({places[i], short_date(nights[i].date)});
  constexpr double half_night = 0.5;
  const SvgAxis x{"night",         Scale::linear, Quantity::number, places.front() - half_night, places.back() + half_night,
                  std::move(ticks)};
  const SvgAxis y = error_axis(range);
  const NightPoint& latest = nights.back();
  std::string says = fmt::format("{}: ", short_date(latest.date));
  if (is_known(latest)) {
    says += fmt::format("published profile {}, drift {}, uncalibrated {}.", percent_figure(latest.published_mape),
                        percent_figure(latest.drift), percent_figure(latest.uncalibrated_mape));
  } else {
    says += "no errors.";
  }
  says += fmt::format(" In {}: {}, {} without errors.", counted(nights.size(), "night", "nights"),
                      counted(alarms, "alarm", "alarms"), gaps == 0 ? "none" : count_figure(gaps));
  constexpr double height = 340;
  SvgChart chart({"nights-picture", "Mean absolute error and drift by night", says}, x, y, wide_px, height);
  std::vector<SvgPoint> uncalibrated;
  std::vector<SvgPoint> drift;
  std::vector<SvgPoint> published;
  for (std::size_t i = 0; i < nights.size(); ++i) {
    const NightPoint& night = nights[i];
    uncalibrated.push_back({places[i], night.uncalibrated_mape});
    drift.push_back({places[i], night.drift});
    published.push_back({places[i], night.published_mape});
    if (is_known(night)) continue;
    const double left = places[i] - half_night;
    const double right = places[i] + half_night;
    const std::array<SvgPoint, 4> gap = {{{left, y.minimum}, {right, y.minimum}, {right, y.maximum}, {left, y.maximum}}};
    const std::string tip = fmt::format("{}: {}", night.date, night.status);
    chart.add_area(gap, "gap", tip);
    chart.add_mark({places[i], y.minimum}, SvgChart::Mark::cross, "gap-mark", tip);
  }
  if (has_threshold) {
    const std::array<SvgPoint, 2> line = {{{x.minimum, *drift_threshold}, {x.maximum, *drift_threshold}}};
    chart.add_line(line, "threshold");
  }
  constexpr std::size_t dotted_max = 90;
  struct Line {
    const std::vector<SvgPoint>* points;
    const char* look;
  };
  for (const Line& line : {Line{&uncalibrated, "uncalibrated"}, Line{&drift, "reference"}, Line{&published, "published"}}) {
    chart.add_line(*line.points, line.look);
    if (nights.size() <= dotted_max) chart.add_dots(*line.points, line.look);
  }
  for (std::size_t i = 0; i < nights.size(); ++i) {
    if (!nights[i].alarm) continue;
    // Where it is above the threshold.
    const double error = nights[i].drift_median;
    chart.add_mark({places[i], std::isfinite(error) ? error : y.maximum}, SvgChart::Mark::triangle, "alarm",
                   fmt::format("{}: alarm, drift {}, in the median {}", nights[i].date, percent_figure(nights[i].drift),
                               percent_figure(error)));
  }
  std::vector<LegendEntry> entries = {{"stroke uncalibrated", "uncalibrated"},
                                      {"stroke reference", "drift: predictions of the reference profile from those of the fit"},
                                      {"stroke published", "published profile"}};
  if (has_threshold)
    entries.push_back({"stroke threshold", fmt::format("threshold of the median drift {}", percent_figure(*drift_threshold))});
  if (alarms > 0) entries.push_back({"alarm", "alarm"});
  if (gaps > 0) entries.push_back({"gap", "night without errors: refused"});
  return section(
      {"nights", "Mean error and drift over the nights", says, legend(entries), {chart.to_svg()}, "", nights_table(nights)});
}

}  // namespace weft
