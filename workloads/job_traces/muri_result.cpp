// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/muri_result.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

enum Column : std::size_t { job_id, num_gpu, submit_time, start_time, end_time, real_executed_time, jct };
constexpr std::array columns = {CsvColumn{"job_id"},     CsvColumn{"num_gpu"},  CsvColumn{"submit_time"},
                                CsvColumn{"start_time"}, CsvColumn{"end_time"}, CsvColumn{"real_executed_time"},
                                CsvColumn{"JCT"}};

}  // namespace

JobTrace read_muri_result(const SourceText& source, const JobTraceOptions& options) {
  TraceBuilder builder(source, options.strict);
  CsvReader rows(source, columns, OtherColumns::allowed, builder.diagnostics(), &builder.dirty());
  const Duration tolerance = Duration::ms(100);
  while (rows.next()) {
    const auto gpus = TraceBuilder::gpus(rows, num_gpu);
    const auto submit = TraceBuilder::instant(rows, submit_time, "s");
    const auto start = TraceBuilder::instant(rows, start_time, "s");
    const auto end = TraceBuilder::instant(rows, end_time, "s");
    const auto run = rows.duration(real_executed_time, "s");
    const auto completion = rows.duration(jct, "s");
    if (!gpus || !submit || !start || !end || !run || !completion) continue;
    if (*start < *submit) {
      rows.fault(start_time, "start-before-submit", "this job starts before it is submitted",
                 "the start is at or after the submission");
    } else if (*end < *start) {
      rows.fault(end_time, "end-before-start", "this job ends before it starts", "the end is at or after the start");
    }
    if (rows.is_dirty()) continue;
    const std::optional<Duration> took = TraceBuilder::within_a_year(rows, end_time, *submit, *end);
    if (!took) continue;
    if (std::max(*completion, *took) - std::min(*completion, *took) > tolerance) {
      rows.fault(jct, "contradiction", fmt::format("JCT is {} but end_time - submit_time {}", to_text(*completion), to_text(*took)),
                 "the job completion time is the end less the submission");
      continue;
    }
    TraceJob job;
    job.name = std::string(rows.field(job_id));
    job.run = *run;
    job.gpus = *gpus;
    job.line = rows.line();
    job.real = RecordedRun{*between(*submit, *start), *took};
    builder.add(std::move(job), *submit);
  }
  builder.assume("a job's run time is its real_executed_time; start, end and JCT are kept as measured");
  return builder.finish();
}

}  // namespace weft
