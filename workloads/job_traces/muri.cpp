// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/muri.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/text/csv_reader.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

enum Column : std::size_t { job_id, num_gpu, submit_time, iterations, duration, model_name, priority, iteration_time };
constexpr std::array columns = {
    CsvColumn{"job_id"},   CsvColumn{"num_gpu"},           CsvColumn{"submit_time"},     CsvColumn{"iterations"},
    CsvColumn{"duration"}, CsvColumn{"model_name", false}, CsvColumn{"priority", false}, CsvColumn{"iteration_time", false}};

bool tells_iterations(const CsvReader& rows, std::uint64_t rounds) { return rounds > 0 && rows.is_given(iteration_time); }

/// Its iterations, each of the measured time; where the row does not tell both, its duration. None
/// if something is wrong.
std::optional<Duration> run_time(CsvReader& rows, std::uint64_t rounds) {
  const auto run = rows.duration(duration, "ms");
  if (!run || !tells_iterations(rows, rounds)) return run;
  const auto each = rows.duration(iteration_time, "ms");
  if (!each) return std::nullopt;
  if (*each > Duration::zero() && rounds > static_cast<std::uint64_t>(op_duration_max.in_ticks() / each->in_ticks())) {
    rows.fault(iteration_time, "out-of-range", "this job runs for more than a year", "iterations of it must fit a year");
    return std::nullopt;
  }
  return *each * static_cast<std::int64_t>(rounds);
}

}  // namespace

JobTrace read_muri(const SourceText& source, const JobTraceOptions& options) {
  TraceBuilder builder(source, options.strict);
  CsvReader rows(source, columns, OtherColumns::allowed, builder.diagnostics(), &builder.dirty());
  bool from_iterations = false;
  while (rows.next()) {
    const auto gpus = TraceBuilder::gpus(rows, num_gpu);
    const auto submit = TraceBuilder::instant(rows, submit_time, "ms");
    const auto rounds = rows.whole_number(iterations, 0, UINT64_MAX);
    if (!rounds) continue;
    const auto run = run_time(rows, *rounds);
    const auto level = rows.is_given(priority) ? rows.integer(priority) : std::optional<std::int32_t>(0);
    if (!gpus || !submit || !run || !level) continue;
    TraceJob job;
    job.name = std::string(rows.field(job_id));
    if (rows.has(model_name)) job.model = std::string(rows.field(model_name));
    job.run = *run;
    job.gpus = *gpus;
    job.iterations = *rounds;
    job.priority = *level;
    job.line = rows.line();
    from_iterations |= tells_iterations(rows, *rounds);
    builder.add(std::move(job), *submit);
  }
  if (from_iterations) builder.assume("run times are iterations x iteration_time, not duration, of jobs that have both");
  return builder.finish();
}

}  // namespace weft
