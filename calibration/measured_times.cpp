// SPDX-License-Identifier: Apache-2.0
#include "calibration/measured_times.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/csv_reader.hpp"

namespace weft {

namespace {

constexpr std::array<std::string_view, 5> time_names = {"fct", "duration", "time", "latency", "completion"};
constexpr std::array<std::string_view, 4> time_units = {"ns", "us", "ms", "s"};

/// Columns that say of what a time is, in the order of the constants below.
constexpr std::array<std::string_view, 13> entity_columns = {"input_row", "flow_id", "src",         "dst",          "size_bytes",
                                                             "job",       "op",      "kind",        "communicator", "iteration",
                                                             "group",     "ranks",   "multiplicity"};
enum EntityColumn : std::size_t {
  column_input_row,
  column_flow_id,
  column_src,
  column_dst,
  column_size,
  column_job,
  column_op,
  column_kind,
  column_communicator,
  column_iteration,
  column_group,
  column_ranks,
  column_multiplicity,
};

/// A column of times: its name and unit.
struct TimeColumn {
  std::string name;
  std::string_view unit;
};

std::vector<TimeColumn> time_columns() {
  std::vector<TimeColumn> columns;
  for (const std::string_view name : time_names) {
    for (const std::string_view unit : time_units) columns.push_back({fmt::format("{}_{}", name, unit), unit});
  }
  return columns;
}

std::vector<TimeColumn> start_columns() {
  std::vector<TimeColumn> columns;
  for (const std::string_view unit : time_units) columns.push_back({fmt::format("start_{}", unit), unit});
  return columns;
}

class MeasuredReader {
 public:
  MeasuredReader(const SourceText& source, Diagnostics& diagnostics)
      : diagnostics_(diagnostics),
        dirty_(false, diagnostics),
        times_(time_columns()),
        starts_(start_columns()),
        reader_(source, columns(), OtherColumns::allowed, diagnostics, &dirty_) {
    measured_.file = source.name();
  }

  MeasuredTimes read() {
    if (!find_time_column() || !find_kind()) return {};
    while (reader_.next()) {
      TimedEntity entity = row();
      if (!reader_.is_dirty()) measured_.times.push_back(std::move(entity));
    }
    measured_.rows_left_out = dirty_.rows();
    measured_.left_out.assign(dirty_.reasons().begin(), dirty_.reasons().end());
    if (measured_.times.empty() && !diagnostics_.has_errors()) {
      diagnostics_.error("no-measurements", "the table has no row with a time", SourcePlace::named(measured_.file),
                         measured_.left_out.empty() ? "a row for each flow, collective or iteration that was measured"
                                                    : measured_.left_out.front().to_text());
    }
    return std::move(measured_);
  }

 private:
  std::vector<CsvColumn> columns() const {
    std::vector<CsvColumn> all;
    for (const std::string_view name : entity_columns) all.push_back({name, false});
    for (const TimeColumn& column : starts_) all.push_back({column.name, false});
    for (const TimeColumn& column : times_) all.push_back({column.name, false});
    return all;
  }

  bool find_time_column() {
    const std::size_t first = entity_columns.size() + starts_.size();
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      if (reader_.has(entity_columns.size() + i)) start_ = i;
    }
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (!reader_.has(first + i)) continue;
      if (time_) {
        diagnostics_.error(
            "ambiguous-column",
            fmt::format("{} and {} both say how long something took", in_quotes(times_[*time_].name), in_quotes(times_[i].name)),
            header_place(), "leave one of them in");
        return false;
      }
      time_ = i;
    }
    if (!time_ && !diagnostics_.has_errors()) {
      diagnostics_.error(
          "missing-column", "no column says how long something took", header_place(),
          "name it fct, duration, time, latency or completion, with its unit: fct_ns, time_us, latency_ms, duration_s");
    }
    return time_.has_value() && !diagnostics_.has_errors();
  }

  bool find_kind() {
    const bool is_flow = reader_.has(column_src) || reader_.has(column_input_row) || reader_.has(column_flow_id);
    const bool is_collective = reader_.has(column_kind) || reader_.has(column_op) || reader_.has(column_ranks);
    if (!is_flow && !is_collective && !reader_.has(column_iteration)) {
      diagnostics_.error("missing-column", "no column says what took so long", header_place(),
                         "flows have src and dst or input_row, collectives kind and size_bytes, iterations iteration");
      return false;
    }
    if (is_flow && reader_.has(column_src) != reader_.has(column_dst)) {
      diagnostics_.error("missing-column", "flows have two ends: src and dst stand together", header_place());
      return false;
    }
    measured_.kind = is_flow ? TimedKind::flow : is_collective ? TimedKind::collective : TimedKind::iteration;
    return true;
  }

  TimedEntity row() {
    TimedEntity entity;
    entity.of = measured_.kind;
    entity.line = reader_.line();
    const std::size_t time = entity_columns.size() + starts_.size() + *time_;
    if (!reader_.is_given(time)) {
      reader_.fault(time, "no-time", "there is no time", "");
    } else if (const std::optional<Duration> taken = reader_.duration(time, times_[*time_].unit)) {
      entity.time_s = taken->in_s();
      if (*taken == Duration::zero()) reader_.fault(time, "no-time", "nothing takes no time", "");
    }
    if (start_ && reader_.is_given(entity_columns.size() + *start_)) {
      const auto start = reader_.duration(entity_columns.size() + *start_, starts_[*start_].unit);
      if (start) entity.start_s = start->in_s();
    }
    entity.input_row = number(column_input_row);
    entity.flow_id = number(column_flow_id);
    entity.source = text(column_src);
    entity.destination = text(column_dst);
    entity.size_bytes = number(column_size);
    entity.job = text(column_job);
    entity.op = text(column_op);
    entity.kind = text(column_kind);
    entity.communicator = text(column_communicator);
    entity.iteration = number(column_iteration);
    entity.group = number(column_group);
    entity.ranks = number(column_ranks);
    if (measured_.kind == TimedKind::flow && number(column_multiplicity).value_or(1) > 1) {
      reader_.fault(column_multiplicity, "several-flows", "the row stands for several flows", "");
      return entity;
    }
    // Without one of these a row would go for others than it was measured of.
    for (const EntityColumn column : {column_src, column_dst, column_size, column_kind, column_ranks}) {
      if (reader_.has(column) && !reader_.is_given(column))
        reader_.fault(column, "no-value", fmt::format("the row has no {}", entity_columns[column]), "");
    }
    return entity;
  }

  std::optional<std::uint64_t> number(std::size_t column) {
    if (!reader_.has(column) || !reader_.is_given(column)) return std::nullopt;
    return reader_.whole_number(column, 0, std::numeric_limits<std::int64_t>::max());
  }
  std::string text(std::size_t column) const { return reader_.has(column) ? std::string(reader_.field(column)) : std::string(); }
  SourcePlace header_place() const {
    SourcePlace place = SourcePlace::named(measured_.file);
    place.line = 1;
    return place;
  }

  Diagnostics& diagnostics_;
  DirtyRows dirty_;
  std::vector<TimeColumn> times_;
  std::vector<TimeColumn> starts_;
  CsvReader reader_;
  std::optional<std::size_t> time_;   ///< of times_
  std::optional<std::size_t> start_;  ///< of starts_
  MeasuredTimes measured_;
};

}  // namespace

std::string_view to_text(TimedKind kind) {
  switch (kind) {
    case TimedKind::flow:
      return "flow";
    case TimedKind::collective:
      return "collective";
    case TimedKind::iteration:
      return "iteration";
  }
  return "";
}

std::string TimedEntity::to_text() const {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (!source.empty()) add(fmt::format("{} to {}", source, destination));
  add(kind);
  if (!op.empty()) add("op " + op);
  if (!job.empty()) add("job " + job);
  if (!communicator.empty()) add("communicator " + communicator);
  if (iteration) add(fmt::format("iteration {}", *iteration));
  if (group) add(fmt::format("group {}", *group));
  if (ranks) add(fmt::format("{} ranks", *ranks));
  if (size_bytes) add(fmt::format("{} B", *size_bytes));
  if (input_row) add(fmt::format("input row {}", *input_row));
  if (text.empty() && flow_id) add(fmt::format("flow {}", *flow_id));
  return text;
}

MeasuredTimes read_measured_times(const SourceText& source) {
  Diagnostics diagnostics;
  MeasuredTimes measured = MeasuredReader(source, diagnostics).read();
  diagnostics.throw_if_errors();
  return measured;
}

MeasuredTables::MeasuredTables(std::vector<MeasuredTimes> tables) : tables_(std::move(tables)), begins_{0} {
  WEFT_CHECK(!tables_.empty(), "there is a table of measured times");
  for (const MeasuredTimes& table : tables_) begins_.push_back(begins_.back() + table.times.size());
}

std::size_t MeasuredTables::number_of(std::size_t i) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(begins_, i) - begins_.begin()) - 1;
}

}  // namespace weft
