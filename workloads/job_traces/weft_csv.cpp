#include "workloads/job_traces/weft_csv.hpp"

#include <array>
#include <utility>

#include "workloads/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"
#include "workloads/limits.hpp"

namespace weft {

namespace {

enum Column : std::size_t { name, submit_s, gpus, run_s, iterations, group, priority, model };
constexpr std::array kColumns = {CsvColumn{"job"},
                                 CsvColumn{"submit_s"},
                                 CsvColumn{"gpus"},
                                 CsvColumn{"run_s"},
                                 CsvColumn{"iterations", false},
                                 CsvColumn{"group", false},
                                 CsvColumn{"priority", false},
                                 CsvColumn{"model", false}};

}  // namespace

JobTrace read_weft_csv(const SourceText& source, const JobTraceOptions&) {
  TraceBuilder builder(source, true);
  CsvReader rows(source, kColumns, OtherColumns::refused, builder.diagnostics(), &builder.dirty());
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
    if (!submit || !count || !run || !rounds || !level) continue;
    TraceJob job;
    job.name = std::string(rows.field(name));
    if (rows.has(group)) job.group = std::string(rows.field(group));
    if (rows.has(model)) job.model = std::string(rows.field(model));
    job.run = *run;
    job.gpus = static_cast<std::uint32_t>(*count);
    job.iterations = *rounds;
    job.priority = *level;
    job.line = rows.line();
    builder.add(std::move(job), *submit);
  }
  return builder.finish();
}

}  // namespace weft
