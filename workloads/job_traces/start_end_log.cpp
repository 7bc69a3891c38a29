#include "workloads/job_traces/start_end_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "core/counted.hpp"
#include "workloads/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"
#include "workloads/limits.hpp"

namespace weft {

namespace {

enum Column : std::size_t { job_id, gpu_num, submit_time, duration, state, start_time, end_time, group, model };

class StartEndReader {
 public:
  StartEndReader(const SourceText& source, const JobTraceOptions& options, const StartEndLog& format)
      : zone_(zone_of(options, format.zone)),
        builder_(source, TraceBuilder::Clock::utc, options.strict),
        has_model_(!format.model_column.empty()),
        columns_{CsvColumn{"job_id"},
                 CsvColumn{"gpu_num"},
                 CsvColumn{"submit_time"},
                 CsvColumn{"duration"},
                 CsvColumn{"state", false},
                 CsvColumn{"start_time", false},
                 CsvColumn{"end_time", false},
                 CsvColumn{format.group_column, false},
                 CsvColumn{format.model_column, false}},
        rows_(source, std::span(columns_).first(has_model_ ? columns_.size() : columns_.size() - 1), OtherColumns::allowed,
              builder_.diagnostics(), &builder_.dirty()) {}

  JobTrace read() {
    while (rows_.next()) read_row();
    if (other_durations_ > 0) {
      builder_.assume(counted(other_durations_, "job has", "jobs have") +
                      " a duration that is not end_time - start_time: the times are taken");
    }
    return builder_.finish();
  }

 private:
  bool is_given(Column column) const { return rows_.has(column) && !rows_.field(column).empty(); }

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

    const auto submitted = TraceBuilder::timestamp(rows_, submit_time, zone_);
    const auto start = optional_time(start_time);
    const auto end = optional_time(end_time);
    if (rows_.is_dirty() || !submitted) return;
    TraceJob job;
    if (start && *start < *submitted) {
      rows_.fault(start_time, "start-before-submit", "this job starts before it is submitted",
                  "the start is at or after the submission");
    } else if (start && end && *end < *start) {
      rows_.fault(end_time, "end-before-start", "this job ends before it starts", "the end is at or after the start");
    } else if (start && end) {
      take_times(job, *submitted, *start, *end);
    } else if (!is_given(duration)) {
      rows_.fault(duration, "no-duration", "this job has no duration, and not both start and end",
                  "give it one, or leave the row out");
    } else if (const auto run = rows_.duration(duration, "s")) {
      job.run = *run;
    }
    if (rows_.is_dirty()) return;
    job.name = std::string(rows_.field(job_id));
    if (rows_.has(group)) job.group = std::string(rows_.field(group));
    if (has_model_ && rows_.has(model)) job.model = std::string(rows_.field(model));
    job.gpus = *gpus;
    job.line = rows_.line();
    builder_.add(std::move(job), *submitted);
  }

  std::optional<Timestamp> optional_time(Column column) {
    return is_given(column) ? TraceBuilder::timestamp(rows_, column, zone_) : std::nullopt;
  }

  void take_times(TraceJob& job, const Timestamp& submitted, const Timestamp& start, const Timestamp& end) {
    const std::optional<Duration> completion = between(submitted, end);
    if (!completion || *completion > op_duration_max) {
      rows_.fault(end_time, "out-of-range", "this job ends more than a year after its submission",
                  "at most " + to_text(op_duration_max));
      return;
    }
    job.run = *between(start, end);
    job.real = RealCourse{*between(submitted, start), *completion};
    const ParsedQuantity<Duration> said = parse_duration(std::string(rows_.field(duration)) + "s");
    const Duration tolerance = Duration::s(1);  // times are whole seconds
    if (said.value && (*said.value < job.run - tolerance || *said.value > job.run + tolerance)) ++other_durations_;
  }

  TimeZone zone_;
  TraceBuilder builder_;
  bool has_model_;
  std::array<CsvColumn, 9> columns_;
  CsvReader rows_;
  std::uint64_t other_durations_ = 0;
};

}  // namespace

JobTrace read_start_end_log(const SourceText& source, const JobTraceOptions& options, const StartEndLog& format) {
  return StartEndReader(source, options, format).read();
}

}  // namespace weft
