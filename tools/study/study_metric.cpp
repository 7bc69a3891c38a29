// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study_metric.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <variant>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/values/compensated_sum.hpp"
#include "core/values/distribution.hpp"
#include "tools/results/summary_figures.hpp"
#include "tools/results/tables.hpp"

namespace weft {

namespace {

/// What a table calls itself in a metric: "jobs" of jobs.csv.
std::string_view table_name(std::string_view file) { return file.substr(0, file.find('.')); }

/// Whether a condition holds: texts are the same, or numbers.
bool is_value(const Cell& cell, const std::string& value) {
  if (const auto* text = std::get_if<std::string_view>(&cell)) return *text == value;
  const std::optional<double> number = number_of(cell);
  return number ? plain_number<double>(value) == number : value.empty();
}

bool is_empty(const Cell& cell) {
  const auto* text = std::get_if<std::string_view>(&cell);
  return std::holds_alternative<std::monostate>(cell) || (text != nullptr && text->empty());
}

/// How many of its kind a row stands for.
template <class Row>
std::uint64_t multiplicity_of(const Row& row) {
  if constexpr (requires { row.multiplicity; }) {
    return row.multiplicity;
  } else {
    return 1;
  }
}

/// A cell's number, and how many rows alike have it.
struct Counted {
  double number = 0;
  std::uint64_t times = 1;
};

template <class Row>
struct Condition {
  Cell (*cell)(const Row& row);
  std::string value;
};

/// A metric of this table's rows.
template <class Row>
struct Follower {
  std::size_t metric = 0;
  Cell (*cell)(const Row& row) = nullptr;
  std::vector<Condition<Row>> where;
};

template <class Row>
const Column<Row>* column_of(std::string_view name) {
  for (const Column<Row>& column : TableOf<Row>::columns()) {
    if (column.info.name == name) return &column;
  }
  return nullptr;
}

template <class Row>
using Followers = std::vector<Follower<Row>>;

/// Of all tables that a run fills.
using AllFollowers =
    std::tuple<Followers<JobRow>, Followers<AttemptRow>, Followers<ClusterRow>, Followers<IterationRow>, Followers<CommunicatorRow>,
               Followers<CollectiveRow>, Followers<FlowRow>, Followers<LinkRow>, Followers<PauseStormRow>, Followers<EventRow>,
               Followers<CongestionRow>, Followers<CongestedJobRow>>;

/// Calls `call` with the followers of each table, as a type's value.
template <class Call>
void for_each_table(AllFollowers& all, const Call& call) {
  std::apply([&](auto&... followers) { (call(followers), ...); }, all);
}

/// The follower of a metric in the table that its column names. Throws InputError.
void follow(const StudyMetric& metric, std::size_t number, const SourcePlace& place, AllFollowers& all) {
  const std::size_t dot = metric.column.find('.');
  const std::string table = metric.column.substr(0, dot);
  const std::string name = dot == std::string::npos ? "" : metric.column.substr(dot + 1);
  std::vector<std::string> tables;
  bool is_found = false;
  for_each_table(all, [&]<class Row>(Followers<Row>& followers) {
    const std::string_view own = table_name(TableOf<Row>::info.file);
    tables.emplace_back(own);
    if (own != table) return;
    is_found = true;
    std::vector<std::string> columns;
    for (const Column<Row>& column : TableOf<Row>::columns()) columns.emplace_back(column.info.name);
    const auto find = [&](const std::string& wanted) {
      const Column<Row>* column = column_of<Row>(wanted);
      if (column == nullptr) {
        fail("unknown-column", fmt::format("{} has no column {}", TableOf<Row>::info.file, in_quotes(wanted)), place,
             suggestion(wanted, columns, "column"));
      }
      return column->cell;
    };
    Follower<Row> follower{number, find(name), {}};
    if (std::holds_alternative<std::string_view>(follower.cell(Row{})) && metric.statistic != Statistic::count) {
      fail("not-a-number", fmt::format("{} of {} holds texts", in_quotes(name), TableOf<Row>::info.file), place,
           "write statistic: COUNT to count its rows");
    }
    for (const auto& [column, value] : metric.where) follower.where.push_back({find(column), value});
    followers.push_back(std::move(follower));
  });
  if (is_found) return;
  fail("unknown-column", fmt::format("there is no table {}", in_quotes(table)), place,
       suggestion(table, tables, "table") + "; write column: \"jobs.wait_s\"");
}

std::optional<double> boiled_down(const std::vector<Counted>& cells, Statistic statistic) {
  Distribution distribution;
  CompensatedSum sum;
  for (const Counted& cell : cells) {
    distribution.add(cell.number, cell.times);
    sum.add(cell.number * static_cast<double>(cell.times));
  }
  const auto count = static_cast<double>(distribution.count());
  if (statistic == Statistic::count) return count;
  if (cells.empty()) return std::nullopt;
  switch (statistic) {
    case Statistic::min:
      return std::ranges::min(cells, {}, &Counted::number).number;
    case Statistic::max:
      return distribution.max();
    case Statistic::sum:
      return sum.value();
    case Statistic::p50:
      return distribution.percentile(50);
    case Statistic::p90:
      return distribution.percentile(90);
    case Statistic::p99:
      return distribution.percentile(99);
    case Statistic::mean:
    case Statistic::count:
      break;
  }
  return sum.value() / count;
}

constexpr std::array<std::pair<std::string_view, double MachineFigures::*>, 5> machine_figures = {{
    {"machine.load_wall_time_s", &MachineFigures::load_wall_time_s},
    {"machine.run_wall_time_s", &MachineFigures::run_wall_time_s},
    {"machine.cpu_time_s", &MachineFigures::cpu_time_s},
    {"machine.events_per_s", &MachineFigures::events_per_s},
    {"machine.peak_memory_bytes", &MachineFigures::peak_memory_bytes},
}};

struct PriceFigure {
  std::string_view name;
  Price PricedTopology::*part;
  double Price::*figure;
};
constexpr std::array<PriceFigure, 6> price_figures = {{
    {"prices.cost", &PricedTopology::all, &Price::cost},
    {"prices.watts", &PricedTopology::all, &Price::watts},
    {"prices.fabric_cost", &PricedTopology::fabric, &Price::cost},
    {"prices.fabric_watts", &PricedTopology::fabric, &Price::watts},
    {"prices.nic_cost", &PricedTopology::nics, &Price::cost},
    {"prices.nic_watts", &PricedTopology::nics, &Price::watts},
}};

}  // namespace

struct MetricSink::Followed {
  std::vector<StudyMetric> metrics;
  AllFollowers followers;
  std::vector<std::vector<Counted>> cells;  ///< by metric

  template <class Row>
  void take(const Row& row) {
    for (const Follower<Row>& follower : std::get<Followers<Row>>(followers)) {
      const bool counts = std::ranges::all_of(
          follower.where, [&](const Condition<Row>& condition) { return is_value(condition.cell(row), condition.value); });
      if (!counts) continue;
      const Cell cell = follower.cell(row);
      if (!is_empty(cell)) cells[follower.metric].push_back({number_of(cell).value_or(0), multiplicity_of(row)});
    }
  }
};

std::vector<std::string> summary_figures() {
  RunSummary all;
  all.jobs_cancelled = all.flaps = all.elastic_restarts = 1;
  all.wait_s = all.jct_s = all.iteration_s = all.fct_s = all.slowdown = Percentiles{};
  all.fast_forward.emplace();
  all.steady.emplace();
  all.ranks_simulated = all.ranks_total = all.flows_simulated = all.ranks_simulated_if_sprayed = 1;
  all.congestion.emplace();
  all.congestion->longest = CongestionSummary::Longest{};
  all.packets.emplace();
  all.packets->lossless_drops = 1;
  all.busiest_link = "a";
  std::vector<std::string> names;
  for (const auto& [name, value] : figures_in(all.to_json()).numbers) names.push_back(name);
  return names;
}

std::string unit_of(const StudyMetric& metric) {
  if (metric.statistic == Statistic::count) return "";
  if (!metric.unit.empty()) return metric.unit;
  for (const TableDescription& table : all_tables()) {
    for (const ColumnInfo& column : table.columns) {
      if (metric.column == fmt::format("{}.{}", table_name(table.info.file), column.name)) return std::string(column.unit);
    }
  }
  return "";
}

void check_metric(const StudyMetric& metric, const FurtherFigures& further, const SourcePlace& place) {
  AllFollowers followers;
  if (!metric.column.empty()) return follow(metric, 0, place, followers);
  std::vector<std::string> figures = summary_figures();
  for (const auto& [name, figure] : machine_figures) {
    if (further.of_machine) figures.emplace_back(name);
    if (!further.of_machine && name == metric.name) {
      fail("unknown-metric", fmt::format("{} is of the machine and not of the run", in_quotes(metric.name)), place,
           "write measure_machine: true, and each run is a process of its own");
    }
  }
  for (const PriceFigure& price : price_figures) {
    if (further.of_prices) figures.emplace_back(price.name);
    if (!further.of_prices && price.name == metric.name) {
      fail("unknown-metric", fmt::format("{} needs a table of prices", in_quotes(metric.name)), place,
           "write prices: \"prices.textproto\" in the study");
    }
  }
  // Shares of communicators go by the names that workloads give them.
  if (std::ranges::find(figures, metric.name) != figures.end() || metric.name.starts_with("exposed_comm_share_by_communicator."))
    return;
  fail("unknown-metric", fmt::format("summary.json has no figure {}", in_quotes(metric.name)), place,
       suggestion(metric.name, figures, "figure"));
}

MetricSink::MetricSink(const std::vector<StudyMetric>& metrics) : followed_(std::make_unique<Followed>()) {
  followed_->metrics = metrics;
  followed_->cells.resize(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (!metrics[i].column.empty()) follow(metrics[i], i, SourcePlace::named(metrics[i].name), followed_->followers);
  }
}

MetricSink::~MetricSink() = default;

ResultSink::Needs MetricSink::needs() const {
  return {.origins = !std::get<Followers<FlowRow>>(followed_->followers).empty(),
          .collectives = !std::get<Followers<CollectiveRow>>(followed_->followers).empty()};
}

void MetricSink::begin() {
  for (std::vector<Counted>& cells : followed_->cells) cells.clear();
}

void MetricSink::add_job(const JobRow& row) { followed_->take(row); }
void MetricSink::add_attempt(const AttemptRow& row) { followed_->take(row); }
void MetricSink::add_cluster(const ClusterRow& row) { followed_->take(row); }
void MetricSink::add_iteration(const IterationRow& row) { followed_->take(row); }
void MetricSink::add_communicator(const CommunicatorRow& row) { followed_->take(row); }
void MetricSink::add_collective(const CollectiveRow& row) { followed_->take(row); }
void MetricSink::add_flow(const FlowRow& row) { followed_->take(row); }
void MetricSink::add_link(const LinkRow& row) { followed_->take(row); }
void MetricSink::add_pause_storm(const PauseStormRow& row) { followed_->take(row); }
void MetricSink::add_event(const EventRow& row) { followed_->take(row); }
void MetricSink::add_congestion(const CongestionRow& row) { followed_->take(row); }
void MetricSink::add_congested_job(const CongestedJobRow& row) { followed_->take(row); }

std::vector<std::optional<double>> MetricSink::values(const RunSummary& summary, const MachineFigures& machine,
                                                      const std::optional<PricedTopology>& prices) const {
  std::vector<std::pair<std::string, double>> figures = figures_in(summary.to_json()).numbers;
  for (const auto& [name, figure] : machine_figures) figures.emplace_back(name, machine.*figure);
  for (const PriceFigure& price : price_figures) {
    if (prices) figures.emplace_back(price.name, (*prices).*price.part.*price.figure);
  }
  std::vector<std::optional<double>> values;
  for (std::size_t i = 0; i < followed_->metrics.size(); ++i) {
    const StudyMetric& metric = followed_->metrics[i];
    if (!metric.column.empty()) {
      values.push_back(boiled_down(followed_->cells[i], metric.statistic));
      continue;
    }
    const auto found = std::ranges::find(figures, metric.name, &std::pair<std::string, double>::first);
    values.push_back(found == figures.end() ? std::nullopt : std::optional(found->second));
  }
  return values;
}

}  // namespace weft
