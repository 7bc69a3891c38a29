// Trace builder: what all job-trace readers share - faults of rows, submissions on one clock, unique names, order.
//
// Where it sits: a reader makes one for its source, reads its rows through it, and ends with finish().
//
// Dirty rows: a fault of a row is told to dirty(); the row is then left out and counted, or with JobTraceOptions::strict an error. Weft's
// own CSV is always read strictly. Errors whatever the option: a wrong header, a file without jobs or with none that can be used
// [no-usable-rows], submissions more than a year apart [out-of-range].
// Thread safety: belongs to one thread; the source outlives it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/source_text.hpp"
#include "workloads/csv_reader.hpp"
#include "workloads/dirty_rows.hpp"
#include "workloads/job_trace.hpp"
#include "workloads/job_traces/timestamp.hpp"

namespace weft {

class TraceBuilder {
 public:
  enum class Clock : std::uint8_t {
    utc,  ///< timestamps have a date
    own,  ///< they count from an instant that the trace does not name
  };

  TraceBuilder(const SourceText& source, Clock clock, bool strict) : source_(source), clock_(clock), dirty_(strict, diagnostics_) {}
  TraceBuilder(const TraceBuilder&) = delete;
  TraceBuilder& operator=(const TraceBuilder&) = delete;

  Diagnostics& diagnostics() { return diagnostics_; }
  DirtyRows& dirty() { return dirty_; }

  /// A date of the current row. Anything wrong is reported, and none returned.
  static std::optional<Timestamp> timestamp(CsvReader& rows, std::size_t column, const TimeZone& zone);

  /// A number of GPUs, at least 1: a row with none is [no-gpus].
  static std::optional<std::uint32_t> gpus(CsvReader& rows, std::size_t column);

  /// `job.submit` is set by finish().
  void add(TraceJob job, Timestamp submitted);
  void assume(std::string text) { trace_.assumptions.push_back(std::move(text)); }
  JobTrace& trace() { return trace_; }

  /// Throws InputError with everything that is wrong.
  JobTrace finish();

 private:
  void leave_out_duplicates();
  void require_jobs();

  const SourceText& source_;
  Clock clock_;
  Diagnostics diagnostics_;
  DirtyRows dirty_;
  JobTrace trace_;
  std::vector<Timestamp> submitted_;  ///< per job of trace_
};

/// The zone that the user named, or the format's own.
TimeZone zone_of(const JobTraceOptions& options, std::string_view format_zone);

}  // namespace weft
