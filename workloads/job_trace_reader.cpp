#include "workloads/job_trace_reader.hpp"

#include <array>
#include <vector>

#include "workloads/job_traces/muri.hpp"
#include "workloads/job_traces/philly.hpp"
#include "workloads/job_traces/weft_csv.hpp"

namespace weft {

namespace {

constexpr std::array kFormats = {
    JobTraceFormat{"weft", "Weft's own CSV: job,submit_s,gpus,run_s and optionally iterations,group,priority.", read_weft_csv},
    JobTraceFormat{
        "philly",
        "Microsoft's Philly cluster as CSV: timestamp,duration,num_gpus,gpu_time,cluster with local timestamps in any order "
        "and seconds.",
        read_philly},
    JobTraceFormat{"muri",
                   "Traces of the Muri scheduler as CSV: job_id,num_gpu,submit_time,iterations,...,duration,...,priority in "
                   "milliseconds.",
                   read_muri},
};

}  // namespace

std::span<const JobTraceFormat> job_trace_formats() { return kFormats; }

JobTrace load_job_trace(const std::string& path, std::string_view format) {
  if (format.empty()) return read_weft_csv(SourceText::read(path));
  std::vector<std::string> names;
  for (const JobTraceFormat& known : kFormats) {
    if (known.name == format) return known.read(SourceText::read(path));
    names.emplace_back(known.name);
  }
  SourcePlace place;
  place.file = path;
  throw InputError({Severity::error, "unknown-format", "there is no job-trace format \"" + std::string(format) + "\"", place,
                    suggestion(format, names, "format")});
}

}  // namespace weft
