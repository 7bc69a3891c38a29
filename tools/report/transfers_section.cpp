// SPDX-License-Identifier: Apache-2.0
// Section of a run's report: how long transfers take.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/run_sections.hpp"

namespace weft {

namespace {

constexpr std::size_t cdf_points = 200;
constexpr std::size_t cdf_lines_max = 6;
constexpr std::size_t cloud_points_max = 2'000;

struct SlowdownsOfSize {
  WeightedValues slowdowns;
  WeightedValues completions_s;
};

struct Transfers {
  std::uint64_t rows = 0;
  WeightedValues completions_s;
  std::map<std::string, WeightedValues> by_collective;
  std::map<int, SlowdownsOfSize> by_size;  ///< by the power of two below
  bool has_classes = false;
};

struct TransferRow {
  double size = 0;
  double completion_s = 0;
};

/// A row that stands for several transfers has the percentiles of their completion times.
void add_class(const ResultsTable::Row& row, double weight, WeightedValues& completions_s) {
  static constexpr std::array<std::pair<const char*, double>, 4> parts = {
      {{"fct_p50_ns", 0.5}, {"fct_p90_ns", 0.4}, {"fct_p99_ns", 0.09}, {"fct_max_ns", 0.01}}};
  for (const auto& [column, share] : parts) completions_s.add(row.number(column).value_or(0) * ns_in_s, weight * share);
}

void take_row(const ResultsTable::Row& row, Transfers& transfers, std::vector<TransferRow>& cloud) {
  const std::optional<double> completion = row.number("fct_ns");
  const double size = row.number("size_bytes").value_or(0);
  const double weight = row.number("multiplicity").value_or(1);
  if (!completion || weight <= 0) return;
  ++transfers.rows;
  const bool is_class = row.number("fct_p50_ns").has_value();
  transfers.has_classes = transfers.has_classes || is_class;
  const std::string collective(row.text("collective"));
  const auto add = [&](WeightedValues& completions_s) {
    if (is_class) {
      add_class(row, weight, completions_s);
    } else {
      completions_s.add(*completion * ns_in_s, weight);
    }
  };
  add(transfers.completions_s);
  if (!collective.empty()) add(transfers.by_collective[collective]);
  if (size >= 1) {
    SlowdownsOfSize& of_size = transfers.by_size[std::ilogb(size)];
    of_size.slowdowns.add(row.number("slowdown").value_or(1), weight);
    add(of_size.completions_s);
  }
  cloud.push_back({size, *completion * ns_in_s});
}

void add_distribution(const Transfers& transfers, ReportSection& section) {
  std::vector<std::pair<double, std::string>> kinds;
  for (const auto& [name, completions] : transfers.by_collective) kinds.emplace_back(-completions.weight(), name);
  std::ranges::sort(kinds);
  std::vector<ReportSeries> series;
  const auto add = [&](const std::string& name, const WeightedValues& completions) {
    ReportSeries& line = series.emplace_back(ReportSeries{name});
    for (const auto& [value, share] : completions.distribution(cdf_points)) line.values.emplace_back(value, share);
  };
  add("all transfers", transfers.completions_s);
  for (std::size_t i = 0; i < std::min(kinds.size(), cdf_lines_max) && kinds.size() > 1; ++i)
    add(kinds[i].second, transfers.by_collective.at(kinds[i].second));
  const WeightedValues& all = transfers.completions_s;
  const double smallest = all.quantile(0);
  // A decade and more does not fit on a line of equal steps.
  const bool is_log = smallest > 0 && all.quantile(1) > 10 * smallest;
  ReportAxis share{"share of transfers", "share"};
  share.maximum = 1;
  ReportJson chart = xy_chart("lines", "fct", "How long transfers take",
                              fmt::format("Of {} half end within {}, 90 % within {}, 99 % within {}; the longest takes {}.",
                                          counted(static_cast<std::uint64_t>(std::llround(all.weight())), "transfer", "transfers"),
                                          readable(all.quantile(0.5)), readable(all.quantile(0.9)), readable(all.quantile(0.99)),
                                          readable(all.quantile(1))),
                              ReportAxis{"completion time", "s", is_log}, share, series);
  chart["step"] = true;
  std::string note = fmt::format("Percentiles of all {} of flows.csv.", counted(transfers.rows, "row", "rows"));
  if (transfers.has_classes)
    note += " Rows stand for classes of transfers there, whose median, 90th and 99th percentile and maximum are taken for them.";
  if (kinds.size() > cdf_lines_max)
    note += fmt::format(" The {} most frequent of {} kinds have a line.", cdf_lines_max, kinds.size());
  chart["note"] = note;
  section.charts.push_back(std::move(chart));
}

void add_slowdowns(const Transfers& transfers, ReportSection& section) {
  if (transfers.by_size.empty()) return;
  ReportAxis size{"size of the transfer, from a power of two to the next"};
  ReportSeries p50{"p50"};
  ReportSeries p99{"p99"};
  ReportTable table{"sizes-table",
                    "Transfers by size",
                    {{"from", "bytes"},
                     {"transfers", ""},
                     {"p50 slowdown", ""},
                     {"p99 slowdown", ""},
                     {"p50 completion", "s"},
                     {"p99 completion", "s"}}};
  double worst = 0;
  std::string worst_size;
  for (const auto& [power, of_size] : transfers.by_size) {
    const double from = std::ldexp(1.0, power);
    const auto at = static_cast<double>(size.categories.size());
    size.categories.push_back(readable_bytes(from));
    const double tail = of_size.slowdowns.quantile(0.99);
    p50.values.emplace_back(at, of_size.slowdowns.quantile(0.5));
    p99.values.emplace_back(at, tail);
    if (tail > worst) {
      worst = tail;
      worst_size = size.categories.back();
    }
    table.rows.push_back(ReportJson::array({from, of_size.slowdowns.weight(), of_size.slowdowns.quantile(0.5), tail,
                                            of_size.completions_s.quantile(0.5), of_size.completions_s.quantile(0.99)}));
  }
  const std::vector<ReportSeries> series = {std::move(p50), std::move(p99)};
  ReportJson chart =
      xy_chart("lines", "slowdown", "Slowdown by size",
               fmt::format("Completion time over what the transfer takes alone in the network. Slowest are those of {} and "
                           "more: 1 % of them take {:.3g} times as long, or longer.",
                           worst_size, worst),
               size, ReportAxis{"slowdown"}, series);
  chart["marked"] = true;
  if (transfers.has_classes) chart["note"] = "Of classes of transfers, the mean slowdown of each class stands for all in it.";
  section.charts.push_back(std::move(chart));
  section.tables.push_back(std::move(table));
}

void add_cloud(const std::vector<TransferRow>& cloud, ReportSection& section) {
  const std::vector<std::size_t> kept = which_to_keep(cloud.size(), cloud_points_max);
  ReportSeries points{"transfers"};
  double smallest = HUGE_VAL;
  double largest = 0;
  for (const std::size_t i : kept) {
    if (cloud[i].size <= 0 || cloud[i].completion_s <= 0) continue;
    points.values.emplace_back(cloud[i].size, cloud[i].completion_s);
    smallest = std::min(smallest, cloud[i].size);
    largest = std::max(largest, cloud[i].size);
  }
  // A cloud needs sizes.
  if (points.values.size() < 3 || largest < 2 * smallest) return;
  ReportJson chart = xy_chart(
      "scatter", "cloud", "Size and completion time",
      fmt::format("Transfers of {} to {}, each at its completion time.", readable_bytes(smallest), readable_bytes(largest)),
      ReportAxis{"size", "bytes", true}, ReportAxis{"completion time", "s", true}, std::vector{points});
  if (kept.size() < cloud.size())
    chart["note"] = fmt::format("Sampled: every {}th of {} rows of flows.csv is drawn, {} points.", kept[1], cloud.size(),
                                points.values.size());
  section.charts.push_back(std::move(chart));
}

}  // namespace

ReportSection transfers_section(const RunFolder& run) {
  ReportSection section{"transfers", "Transfers"};
  Transfers transfers;
  std::vector<TransferRow> cloud;
  run.table("flows.csv").each([&](const ResultsTable::Row& row) { take_row(row, transfers, cloud); });
  if (transfers.rows == 0) return section;
  add_distribution(transfers, section);
  add_slowdowns(transfers, section);
  add_cloud(cloud, section);
  return section;
}

}  // namespace weft
