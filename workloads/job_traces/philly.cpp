#include "workloads/job_traces/philly.hpp"

#include <array>
#include <optional>
#include <utility>

#include "workloads/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"
#include "workloads/limits.hpp"

namespace weft {

namespace {

enum Column : std::size_t { timestamp, duration, num_gpus, cluster };
constexpr std::array kColumns = {CsvColumn{"timestamp"}, CsvColumn{"duration"}, CsvColumn{"num_gpus"}, CsvColumn{"cluster", false}};

}  // namespace

JobTrace read_philly(const SourceText& source, const JobTraceOptions& options) {
  const TimeZone zone = zone_of(options, "America/Los_Angeles");
  TraceBuilder builder(source, TraceBuilder::Clock::utc, options.strict);
  CsvReader rows(source, kColumns, OtherColumns::allowed, builder.diagnostics(), &builder.dirty());
  for (std::size_t number = 1; rows.next(); ++number) {
    const auto submitted = TraceBuilder::timestamp(rows, timestamp, zone);
    const auto run = rows.duration(duration, "s");
    const auto gpus = TraceBuilder::gpus(rows, num_gpus);
    if (!submitted || !run || !gpus) continue;
    TraceJob job;
    job.name = "job" + std::to_string(number);
    if (rows.has(cluster)) job.group = std::string(rows.field(cluster));
    job.run = *run;
    job.gpus = *gpus;
    job.line = rows.line();
    builder.add(std::move(job), *submitted);
  }
  return builder.finish();
}

}  // namespace weft
