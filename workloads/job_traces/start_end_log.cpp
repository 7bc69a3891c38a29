// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/start_end_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/csv_reader.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

/// A name that no column has.
constexpr std::string_view no_column = "\n";

enum Column : std::size_t { job_id, gpu_num, submit_time, duration, state, start_time, end_time, node_num, group, user, model };

class StartEndReader {
 public:
  StartEndReader(const SourceText& source, const JobTraceOptions& options, const StartEndLog& format)
      : builder_(source, options, format.zone),
        gpus_per_node_(format.gpus_per_node),
        has_own_user_(format.user_column != format.group_column),
        has_model_(!format.model_column.empty()),
        columns_{CsvColumn{"job_id"},
                 CsvColumn{"gpu_num"},
                 CsvColumn{"submit_time"},
                 CsvColumn{"duration"},
                 CsvColumn{"state", false},
                 CsvColumn{"start_time", false},
                 CsvColumn{"end_time", false},
                 CsvColumn{"node_num", false},
                 CsvColumn{format.group_column, false},
                 CsvColumn{has_own_user_ ? format.user_column : no_column, false},
                 CsvColumn{format.model_column, false}},
        rows_(source, std::span(columns_).first(has_model_ ? columns_.size() : columns_.size() - 1), OtherColumns::allowed,
              builder_.diagnostics(), &builder_.dirty()) {}

  JobTrace read() {
    while (rows_.next()) read_row();
    if (other_durations_ > 0) {
      builder_.assume(fmt::format("{} a duration that is not end_time - start_time: the times are taken",
                                  counted(other_durations_, "job has", "jobs have")));
    }
    if (spread_ > 0) {
      builder_.assume(fmt::format("{} on more nodes (node_num) than {} GPUs need at {} a node; the placement of the run decides",
                                  counted(spread_, "job was", "jobs were"), spread_ == 1 ? "its" : "their", gpus_per_node_));
    }
    return builder_.finish();
  }

 private:
  bool is_state(std::string_view name) const {
    if (!rows_.has(state)) return false;
    const std::string_view text = rows_.field(state);
    return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                      [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
  }

  void read_row() {
    const auto gpus = TraceBuilder::gpus(rows_, gpu_num);
    if (!gpus) return;
    if (rows_.field(job_id).empty()) rows_.fault(job_id, "bad-value", "this job has no id", "give it a unique one");
    if (is_state("PENDING")) {
      rows_.fault(state, "never-started", "this job had not started when the log was taken", "leave the row out");
    } else if (is_state("RUNNING")) {
      rows_.fault(state, "still-running", "this job had not ended when the log was taken", "leave the row out");
    }
    if (rows_.is_dirty()) return;

    const auto submitted = builder_.timestamp(rows_, submit_time);
    const auto start = optional_time(start_time, submitted);
    const auto end = optional_time(end_time, start ? start : submitted);
    if (rows_.is_dirty() || !submitted) return;
    TraceJob job;
    if (start && *start < *submitted) {
      rows_.fault(start_time, "start-before-submit", "this job starts before it is submitted",
                  "the start is at or after the submission");
    } else if (start && end && *end < *start) {
      rows_.fault(end_time, "end-before-start", "this job ends before it starts", "the end is at or after the start");
    } else if (start && end) {
      take_times(job, *submitted, *start, *end);
    } else if (!rows_.is_given(duration)) {
      rows_.fault(duration, "no-duration", "this job has no duration, and not both start and end",
                  "give it one, or leave the row out");
    } else if (const auto run = rows_.duration(duration, "s")) {
      job.run = *run;
      if (rows_.has(start_time) && !start && job.run == Duration::zero()) {
        rows_.fault(start_time, "never-started", "this job has no start, and a duration of 0", "leave the row out");
      }
    }
    if (rows_.is_dirty()) return;
    job.name = std::string(rows_.field(job_id));
    if (rows_.is_given(group)) job.group = std::string(rows_.field(group));
    job.user = has_own_user_ ? std::string(rows_.is_given(user) ? rows_.field(user) : "") : job.group;
    if (has_model_ && rows_.is_given(model)) job.model = std::string(rows_.field(model));
    job.gpus = *gpus;
    job.line = rows_.line();
    count_nodes(job);
    builder_.add(std::move(job), *submitted);
  }

  std::optional<Timestamp> optional_time(Column column, const std::optional<Timestamp>& not_before) {
    return rows_.is_given(column) ? builder_.timestamp(rows_, column, not_before) : std::nullopt;
  }

  void count_nodes(const TraceJob& job) {
    if (!rows_.is_given(node_num)) return;
    const auto nodes = plain_number<std::uint32_t>(without_zero_fraction(rows_.field(node_num)));
    if (nodes && *nodes > (job.gpus + gpus_per_node_ - 1) / gpus_per_node_) ++spread_;
  }

  void take_times(TraceJob& job, const Timestamp& submitted, const Timestamp& start, const Timestamp& end) {
    const std::optional<Duration> completion = TraceBuilder::within_a_year(rows_, end_time, submitted, end);
    if (!completion) return;
    job.run = *between(start, end);
    job.real = RecordedRun{*between(submitted, start), *completion};
    const ParsedQuantity<Duration> said = parse_duration(std::string(rows_.field(duration)) + "s");
    const Duration tolerance = Duration::s(1);  // times are whole seconds
    if (said.value && (*said.value < job.run - tolerance || *said.value > job.run + tolerance)) ++other_durations_;
  }

  TraceBuilder builder_;
  std::uint32_t gpus_per_node_;
  const bool has_own_user_;  ///< beside the group
  bool has_model_;
  std::array<CsvColumn, 11> columns_;
  CsvReader rows_;
  std::uint64_t other_durations_ = 0;
  std::uint64_t spread_ = 0;  ///< jobs on more nodes than they need
};

}  // namespace

JobTrace read_start_end_log(const SourceText& source, const JobTraceOptions& options, const StartEndLog& format) {
  return StartEndReader(source, options, format).read();
}

}  // namespace weft
