#include "workloads/job_traces/muri.hpp"

#include <array>
#include <utility>

#include "workloads/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

enum Column : std::size_t { job_id, num_gpu, submit_time, iterations, duration, model_name, priority };
constexpr std::array kColumns = {CsvColumn{"job_id"},         CsvColumn{"num_gpu"},  CsvColumn{"submit_time"},
                                 CsvColumn{"iterations"},     CsvColumn{"duration"}, CsvColumn{"model_name", false},
                                 CsvColumn{"priority", false}};

}  // namespace

JobTrace read_muri(const SourceText& source, const JobTraceOptions& options) {
  TraceBuilder builder(source, options.strict);
  CsvReader rows(source, kColumns, OtherColumns::allowed, builder.diagnostics(), &builder.dirty());
  while (rows.next()) {
    const auto gpus = TraceBuilder::gpus(rows, num_gpu);
    const auto submit = TraceBuilder::instant(rows, submit_time, "ms");
    const auto rounds = rows.whole_number(iterations, 0, UINT64_MAX);
    const auto run = rows.duration(duration, "ms");
    const auto level = rows.is_given(priority) ? rows.integer(priority) : std::optional<std::int32_t>(0);
    if (!gpus || !submit || !rounds || !run || !level) continue;
    TraceJob job;
    job.name = std::string(rows.field(job_id));
    if (rows.has(model_name)) job.model = std::string(rows.field(model_name));
    job.run = *run;
    job.gpus = *gpus;
    job.iterations = *rounds;
    job.priority = *level;
    job.line = rows.line();
    builder.add(std::move(job), *submit);
  }
  return builder.finish();
}

}  // namespace weft
