// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/weft_csv.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/csv_reader.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

enum Column : std::size_t { name, submit_s, gpus, run_s, iterations, group, priority, model, data_region, min_gpus, user };
constexpr std::array columns = {CsvColumn{"job"},
                                CsvColumn{"submit_s"},
                                CsvColumn{"gpus"},
                                CsvColumn{"run_s"},
                                CsvColumn{"iterations", false},
                                CsvColumn{"group", false},
                                CsvColumn{"priority", false},
                                CsvColumn{"model", false},
                                CsvColumn{"data_region", false},
                                CsvColumn{"min_gpus", false},
                                CsvColumn{"user", false}};

/// Seconds, exact to the tick, without zeros at the end.
std::string seconds(Duration duration) {
  const std::int64_t ticks = duration.in_ticks();
  const std::int64_t whole = ticks / Duration::ticks_per_s;
  std::string digits = fmt::format("{}", Duration::ticks_per_s + ticks % Duration::ticks_per_s);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits.size() > 1 ? fmt::format("{}.{}", whole, digits.substr(1)) : fmt::format("{}", whole);
}

/// As RFC 4180 has it: in quotes where it has to be.
std::string field_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

JobTrace read_weft_csv(const SourceText& source, const JobTraceOptions&) {
  TraceBuilder builder(source, true);
  CsvReader rows(source, columns, OtherColumns::refused, builder.diagnostics(), &builder.dirty());
  while (rows.next()) {
    if (rows.field(name).empty()) {
      rows.fault(name, "bad-value", "this job has no name", "give it a unique one");
      continue;
    }
    const auto submit = TraceBuilder::instant(rows, submit_s, "s");
    const auto count = rows.whole_number(gpus, 1, workload_rank_count_max);
    const auto run = rows.duration(run_s, "s");
    const auto rounds = rows.is_given(iterations) ? rows.whole_number(iterations, 0, UINT64_MAX) : std::optional<std::uint64_t>(0);
    const auto level = rows.is_given(priority) ? rows.integer(priority) : std::optional<std::int32_t>(0);
    const auto region =
        rows.is_given(data_region) ? rows.whole_number(data_region, 0, UINT32_MAX) : std::optional<std::uint64_t>(0);
    if (!submit || !count || !run || !rounds || !level || !region) continue;
    // An elastic job restarts on fewer GPUs than it wants.
    const auto least = rows.is_given(min_gpus) ? rows.whole_number(min_gpus, 0, *count - 1) : std::optional<std::uint64_t>(0);
    if (!least) continue;
    TraceJob job;
    job.name = std::string(rows.field(name));
    if (rows.has(group)) job.group = std::string(rows.field(group));
    if (rows.has(user)) job.user = std::string(rows.field(user));
    if (rows.has(model)) job.model = std::string(rows.field(model));
    job.run = *run;
    job.gpus = static_cast<std::uint32_t>(*count);
    job.min_gpus = static_cast<std::uint32_t>(*least);
    job.iterations = *rounds;
    job.priority = *level;
    if (rows.is_given(data_region)) job.data_region = static_cast<std::uint32_t>(*region);
    job.line = rows.line();
    builder.add(std::move(job), *submit);
  }
  return builder.finish();
}

void write_weft_csv(const JobTrace& trace, const std::function<void(std::string_view)>& write) {
  const auto some = [&](const auto& has) { return std::any_of(trace.jobs.begin(), trace.jobs.end(), has); };
  const bool with_iterations = some([](const TraceJob& job) { return job.iterations != 0; });
  const bool with_group = some([](const TraceJob& job) { return !job.group.empty(); });
  const bool with_priority = some([](const TraceJob& job) { return job.priority != 0; });
  const bool with_region = some([](const TraceJob& job) { return job.data_region.has_value(); });
  const bool with_min_gpus = some([](const TraceJob& job) { return job.min_gpus != 0; });
  const bool with_model = some([](const TraceJob& job) { return !job.model.empty(); });
  const bool with_user = some([](const TraceJob& job) { return !job.user.empty() && job.user != job.group; });
  std::string row = "job,submit_s,gpus,run_s";
  if (with_iterations) row += ",iterations";
  if (with_group) row += ",group";
  if (with_priority) row += ",priority";
  if (with_model) row += ",model";
  if (with_region) row += ",data_region";
  if (with_min_gpus) row += ",min_gpus";
  if (with_user) row += ",user";
  row += '\n';
  write(row);
  for (const TraceJob& job : trace.jobs) {
    WEFT_CHECK(!job.iteration_times, "a run time that depends on the placement stands in no CSV");
    row.clear();
    const auto end = std::back_inserter(row);
    fmt::format_to(end, "{},{},{},{}", field_text(job.name), seconds(job.submit), job.gpus, seconds(job.run));
    if (with_iterations) fmt::format_to(end, ",{}", job.iterations);
    if (with_group) fmt::format_to(end, ",{}", field_text(job.group));
    if (with_priority) fmt::format_to(end, ",{}", job.priority);
    if (with_model) fmt::format_to(end, ",{}", field_text(job.model));
    if (with_region) fmt::format_to(end, ",{}", job.data_region ? fmt::format("{}", *job.data_region) : "");
    if (with_min_gpus) fmt::format_to(end, ",{}", job.min_gpus);
    if (with_user) fmt::format_to(end, ",{}", field_text(job.user));
    row += '\n';
    write(row);
  }
}

}  // namespace weft
