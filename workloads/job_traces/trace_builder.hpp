// SPDX-License-Identifier: Apache-2.0
// Trace builder: what all job-trace readers share - faults of rows, submissions on one clock,
// unique names, order.
//
// Where it sits: a reader makes one for its source, reads its rows through it, and ends with
// finish().
//
// Clocks: either dates, brought to UTC, or numbers on a clock of the trace's own, of which only
// differences count: they may be epoch numbers. A reader of dates names the zone of those that name
// none; finish() says so among the assumptions unless the user named it, and counts what falls into
// hours that clocks show twice or never, of the rows that became jobs.
//
// Dirty rows: a fault of a row is told to dirty(); the row is then left out and counted, or with
// JobTraceOptions::strict an error. Weft's own CSV is always read strictly. A job submitted more
// than a year from the median job is such a fault too [out-of-range]: a clock that was not set must
// not cost all others. Errors whatever the option: a wrong header, a file without jobs or with none
// that can be used [no-usable-rows], submissions of the remaining jobs more than a year apart
// [out-of-range].
// Thread safety: belongs to one thread; the source outlives it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/csv_reader.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/dirty_rows.hpp"
#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"
#include "workloads/job_traces/timestamp.hpp"

namespace weft {

class TraceBuilder {
 public:
  /// Of a clock of the trace's own.
  TraceBuilder(const SourceText& source, bool strict) : source_(source), dirty_(strict, diagnostics_) {}
  /// Of dates; those that name no zone are of the user's, or else of the format's. Throws
  /// InputError [unknown-time-zone].
  TraceBuilder(const SourceText& source, const JobTraceOptions& options, std::string_view format_zone);
  TraceBuilder(const TraceBuilder&) = delete;
  TraceBuilder& operator=(const TraceBuilder&) = delete;

  Diagnostics& diagnostics() { return diagnostics_; }
  DirtyRows& dirty() { return dirty_; }
  /// Of dates that name none. Requires: a builder of dates.
  const TimeZone& zone() const { return zone_.value(); }

  /// A date of the current row. Anything wrong is reported, and none returned. Where an hour passes
  /// twice, `not_before` decides for the second pass (see parse_timestamp). Requires: a builder of
  /// dates.
  std::optional<Timestamp> timestamp(CsvReader& rows, std::size_t column, const std::optional<Timestamp>& not_before = {});

  /// The same on the trace's own clock: a number of `unit`, "s" or "ms", not negative.
  static std::optional<Timestamp> instant(CsvReader& rows, std::size_t column, std::string_view unit);

  /// What lies between the submission and the end of a job, which `column` tells: at most a year
  /// [out-of-range].
  static std::optional<Duration> within_a_year(CsvReader& rows, std::size_t column, const Timestamp& submitted,
                                               const Timestamp& end);

  /// A number of GPUs, at least 1: a row with none is [no-gpus].
  static std::optional<std::uint32_t> gpus(CsvReader& rows, std::size_t column);

  /// `job.submit` is set by finish().
  void add(TraceJob job, Timestamp submitted) { add(std::move(job), submitted, row_use_); }
  /// The same where the caller has read the dates itself.
  void add(TraceJob job, Timestamp submitted, const ZoneUse& zone_use);
  void assume(std::string text) { trace_.assumptions.push_back(std::move(text)); }
  JobTrace& trace() { return trace_; }

  /// Throws InputError with everything that is wrong.
  JobTrace finish();

 private:
  void leave_out_duplicates();
  void leave_out_outliers();
  void sort_jobs();
  /// Adds one error for all jobs that are too far from another: how many, and the first and the
  /// last of them in the file.
  void report_far_jobs(const std::vector<bool>& far, const std::string& distance, const std::string& help_for_one,
                       const std::string& help_for_many);
  SourcePlace place_of(std::size_t job) const;
  void leave_out(const std::vector<bool>& which);
  void require_jobs();
  void note_zone();

  const SourceText& source_;
  std::optional<TimeZone> zone_;  ///< of dates; none: a clock of the trace's own
  bool zone_is_assumed_ = false;
  ZoneUse row_use_;  ///< of the dates of row_line_ so far
  int row_line_ = 0;
  Diagnostics diagnostics_;
  DirtyRows dirty_;
  JobTrace trace_;
  std::vector<Timestamp> submitted_;  ///< per job of trace_
  std::vector<ZoneUse> zone_uses_;    ///< per job of trace_
};

}  // namespace weft
