// SPDX-License-Identifier: Apache-2.0
// Measured times: how long flows, collectives or iterations took on a real system, from a table.
//
// Where it sits: a matcher (calibration/time_matcher) finds the simulated ones that they belong to,
// an objective (calibration/objective) holds these against them.
//
// A table is CSV whose header names what it has. One column says how long: fct, duration, time,
// latency or completion, with its unit: fct_ns, time_us, latency_ms, duration_s. Others say of
// what, as the tables of a run do (flows.csv, collectives.csv and iterations.csv are such tables):
//   flows        input_row, flow_id, src, dst, size_bytes, start_UNIT, job, op, iteration,
//                communicator
//   collectives  kind, ranks, size_bytes, job, iteration, op, communicator, group
//   iterations   job, iteration
//
// Errors of the file as a whole: as a CSV table's, [ambiguous-column]: two columns say how long;
// [missing-column]; [no-measurements]. A row without a time above zero, with a field that is wrong,
// without one of ends, size, kind and ranks where the table has them, or of several flows is left
// out and counted (core/text/dirty_rows).
// Threads: values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/dirty_rows.hpp"
#include "core/text/source_text.hpp"
#include "core/values/units.hpp"

namespace weft {

enum class TimedKind : std::uint8_t { flow, collective, iteration };
inline constexpr std::array timed_kinds = {TimedKind::flow, TimedKind::collective, TimedKind::iteration};
std::string_view to_text(TimedKind kind);  ///< "flow"

/// Something that takes time, measured or simulated. What is empty is not known.
struct TimedEntity {
  TimedKind of = TimedKind::flow;
  double time_s = 0;
  std::optional<double> start_s;
  std::optional<std::uint64_t> input_row;
  std::optional<std::uint64_t> flow_id;
  std::string source;
  std::string destination;
  std::optional<std::uint64_t> size_bytes;
  std::string job;
  std::string op;
  std::string kind;  ///< of a collective
  std::string communicator;
  std::optional<std::uint64_t> iteration;
  std::optional<std::uint64_t> group;
  std::optional<std::uint64_t> ranks;
  int line = 0;  ///< in its file; 0: it is simulated
  /// "host1/gpu0 to host2/gpu0, 1000000 B", "all_reduce of 1048576 B, 8 ranks"
  std::string to_text() const;
};

struct MeasuredTimes {
  std::string file;
  TimedKind kind = TimedKind::flow;
  std::vector<TimedEntity> times;
  std::uint64_t rows_left_out = 0;
  std::vector<LeftOutRows> left_out;
};

/// Throws InputError.
MeasuredTimes read_measured_times(const SourceText& source);

/// Several tables, whose times are numbered one after the other.
class MeasuredTables {
 public:
  /// Requires: at least one (WEFT_CHECK).
  explicit MeasuredTables(std::vector<MeasuredTimes> tables);

  std::span<const MeasuredTimes> tables() const { return tables_; }
  std::size_t size() const { return begins_.back(); }
  const TimedEntity& operator[](std::size_t i) const { return table_of(i).times[i - begins_[number_of(i)]]; }
  const std::string& file_of(std::size_t i) const { return table_of(i).file; }
  TimedKind kind_of(std::size_t i) const { return table_of(i).kind; }
  /// Of a table's first time.
  std::size_t begin_of(std::size_t table) const { return begins_[table]; }

 private:
  std::size_t number_of(std::size_t i) const;
  const MeasuredTimes& table_of(std::size_t i) const { return tables_[number_of(i)]; }

  std::vector<MeasuredTimes> tables_;
  std::vector<std::size_t> begins_;  ///< of each table, and the end
};

}  // namespace weft
