// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/swf.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/text/counted.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

enum SwfField : std::size_t {
  swf_job,
  swf_submit,
  swf_wait,
  swf_run,
  swf_allocated,
  swf_cpu_time,
  swf_memory,
  swf_requested,
  swf_requested_time,
  swf_requested_memory,
  swf_status,
  swf_user,
  swf_group,
  swf_application,
  swf_queue,
  swf_partition,
  swf_preceding,
  swf_think_time,
  swf_field_count
};

class SwfReader {
 public:
  SwfReader(const SourceText& source, const JobTraceOptions& options) : source_(source), options_(options) {}

  JobTrace read() {
    source_.require_utf8_text("Standard Workload Format");
    const std::int64_t start_s = start_of_log();
    std::optional<TraceBuilder> builder;
    if (start_s > 0) {
      builder.emplace(source_, options_, "UTC");
    } else {
      builder.emplace(source_, options_.strict);
    }
    for (std::size_t number = 1; number <= source_.line_count(); ++number) {
      const std::string_view line = trimmed(source_.line(number), " \t\r");
      if (line.empty() || line.front() == ';') continue;
      read_line(static_cast<int>(number), start_s, *builder);
    }
    builder->assume("processors are taken as GPUs: the format knows no other");
    if (requested_ > 0) {
      builder->assume(
          fmt::format("{} no run time: the time that was requested is taken", counted(requested_, "job has", "jobs have")));
    }
    if (following_ > 0) {
      builder->assume(
          fmt::format("{} after another one; that is not kept", counted(following_, "job was submitted", "jobs were submitted")));
    }
    return builder->finish();
  }

 private:
  /// Of "; UnixStartTime: 747349120"; 0 where the log has none.
  std::int64_t start_of_log() const {
    constexpr std::string_view key = "UnixStartTime:";
    for (std::size_t number = 1; number <= source_.line_count(); ++number) {
      const std::string_view line = trimmed(source_.line(number), "; \t\r");
      if (!line.starts_with(key)) continue;
      constexpr std::uint64_t seconds_max = 1'000'000'000'000;
      const auto seconds = plain_number<std::uint64_t>(trimmed(line.substr(key.size()), " \t"));
      return seconds && *seconds < seconds_max ? static_cast<std::int64_t>(*seconds) : 0;
    }
    return 0;
  }

  void read_line(int number, std::int64_t start_s, TraceBuilder& builder) {
    const std::string_view line = source_.line(static_cast<std::size_t>(number));
    std::array<double, swf_field_count> values{};
    std::array<SourcePlace, swf_field_count> places;
    const auto report = [&](const char* code, std::string message, SourcePlace place, std::string help) {
      builder.dirty().report("", {Severity::error, code, std::move(message), std::move(place), std::move(help)});
    };
    std::size_t count = 0;
    for (std::size_t at = line.find_first_not_of(" \t\r"); at < line.size(); ++count) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      const std::string_view text = line.substr(at, end - at);
      const SourcePlace place = source_.at(number, static_cast<int>(at) + 1, static_cast<int>(text.size()));
      if (count < swf_field_count) {
        const auto value = plain_number<double>(text);
        if (!value || !std::isfinite(*value) || std::abs(*value) > 1e15) {
          report("bad-value", fmt::format("field {} is no number: {}", count + 1, in_quotes(text)), place,
                 "-1 where it is not known");
          return;
        }
        values[count] = *value;
        places[count] = place;
      }
      at = std::min(line.find_first_not_of(" \t\r", end), line.size());
    }
    if (count != swf_field_count) {
      report("wrong-field-count", fmt::format("this line has {} fields", count), source_.at(number),
             fmt::format("a job has {}, -1 where one is not known", static_cast<std::size_t>(swf_field_count)));
      return;
    }
    const double status = values[swf_status];
    if (status == 2 || status == 3 || status == 4) {
      report("partial-execution", "this line is a part of a job that was checkpointed", places[swf_status],
             "the whole job has a line of its own; leave this one out");
      return;
    }
    if (values[swf_submit] < 0) {
      report("bad-value", "the job has no time of submission", places[swf_submit], "field 2 is 0 or more seconds");
      return;
    }
    const bool has_allocation = values[swf_allocated] > 0;
    const double processors = values[has_allocation ? swf_allocated : swf_requested];
    if (processors < 1) {
      report("no-gpus", "this job has no processor", places[swf_allocated], "leave the line out");
      return;
    }
    if (processors > workload_rank_count_max || std::floor(processors) != processors) {
      report("bad-value", fmt::format("{:g} is no number of processors", processors),
             places[has_allocation ? swf_allocated : swf_requested], fmt::format("at most {}", workload_rank_count_max));
      return;
    }
    constexpr double cancelled = 5;
    if (values[swf_run] <= 0 && (status == cancelled || values[swf_run] == 0)) {
      report("never-started", "this job did not run", places[swf_run], "leave the line out");
      return;
    }
    const bool has_run = values[swf_run] > 0;
    const double run_s = values[has_run ? swf_run : swf_requested_time];
    if (run_s <= 0) {
      report("no-duration", "this job has no run time", places[swf_run], "give field 4 or 9, or leave the line out");
      return;
    }
    const double wait_s = values[swf_wait];
    if (run_s + std::max(wait_s, 0.0) > op_duration_max.in_s()) {
      report("out-of-range", "this job ends more than a year after its submission", places[swf_run],
             fmt::format("at most {}", to_text(op_duration_max)));
      return;
    }
    requested_ += has_run ? 0 : 1;
    following_ += values[swf_preceding] > 0 ? 1 : 0;
    TraceJob job;
    job.name = fmt::format("{:.0f}", values[swf_job]);
    if (values[swf_user] >= 0) job.user = fmt::format("u{:.0f}", values[swf_user]);
    if (values[swf_group] >= 0) job.group = fmt::format("g{:.0f}", values[swf_group]);
    if (values[swf_application] > 0) job.model = fmt::format("app{:.0f}", values[swf_application]);
    job.gpus = static_cast<std::uint32_t>(processors);
    job.run = seconds(run_s);
    if (wait_s >= 0 && has_run) job.real = RecordedRun{seconds(wait_s), seconds(wait_s + run_s)};
    job.line = number;
    const double whole = std::floor(values[swf_submit]);
    builder.add(std::move(job), Timestamp{start_s + static_cast<std::int64_t>(whole), seconds(values[swf_submit] - whole)});
  }

  static Duration seconds(double value) {
    return Duration::ticks(std::llround(value * static_cast<double>(Duration::ticks_per_s)));
  }

  const SourceText& source_;
  const JobTraceOptions& options_;
  std::uint64_t requested_ = 0;
  std::uint64_t following_ = 0;
};

}  // namespace

JobTrace read_swf(const SourceText& source, const JobTraceOptions& options) { return SwfReader(source, options).read(); }

}  // namespace weft
