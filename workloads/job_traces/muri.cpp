#include "workloads/job_traces/muri.hpp"

#include <array>
#include <utility>

#include "workloads/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"
#include "workloads/limits.hpp"

namespace weft {

namespace {

enum Column : std::size_t { job_id, num_gpu, submit_time, iterations, duration, priority };
constexpr std::array kColumns = {CsvColumn{"job_id"},     CsvColumn{"num_gpu"},  CsvColumn{"submit_time"},
                                 CsvColumn{"iterations"}, CsvColumn{"duration"}, CsvColumn{"priority", false}};

}  // namespace

JobTrace read_muri(const SourceText& source) {
  Diagnostics diagnostics;
  CsvReader rows(source, kColumns, OtherColumns::allowed, diagnostics);
  JobTrace trace;
  while (rows.next()) {
    const auto gpus = rows.whole_number(num_gpu, 1, workload_rank_count_max);
    const auto submit = rows.duration(submit_time, "ms");
    const auto rounds = rows.whole_number(iterations, 0, UINT64_MAX);
    const auto run = rows.duration(duration, "ms");
    const auto level = rows.has(priority) ? rows.integer(priority) : std::optional<std::int32_t>(0);
    if (!gpus || !submit || !rounds || !run || !level) continue;
    TraceJob job;
    job.name = std::string(rows.field(job_id));
    job.submit = *submit;
    job.run = *run;
    job.gpus = static_cast<std::uint32_t>(*gpus);
    job.iterations = *rounds;
    job.priority = *level;
    job.line = rows.line();
    trace.jobs.push_back(std::move(job));
  }
  return finish_trace(std::move(trace), source, diagnostics);
}

}  // namespace weft
