#include "tools/weft/job_trace_flags.hpp"

namespace weft {

namespace {

/// "; read by a, b": the formats that read an option.
std::string readers_of(JobTraceOption option) {
  std::string names;
  for (const JobTraceFormat& format : job_trace_formats()) {
    if ((format.reads & option) != 0) names += (names.empty() ? "; read by " : ", ") + std::string(format.name);
  }
  return names;
}

}  // namespace

std::string job_trace_format_names() {
  std::string names;
  for (const JobTraceFormat& format : job_trace_formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

void add_job_trace_flags(CLI::App& command, JobTraceOptions& options) {
  command.add_flag("--strict", options.strict,
                   "Rows of a job trace that cannot become jobs are errors; default: they are left out, counted and noted");
  command
      .add_option("--time-zone", options.time_zone,
                  "Zone of a job trace's dates without one, such as Asia/Shanghai or +08:00; default: the format's" +
                      readers_of(reads_time_zone))
      ->type_name("ZONE");
  command
      .add_option("--throughputs", options.throughputs_path,
                  "Measured steps per second by GPU and job type: JSON" + readers_of(reads_throughputs))
      ->type_name("FILE");
  command.add_option("--gpu-type", options.gpu_type, "With --throughputs: which GPUs the jobs run on, such as v100")
      ->type_name("NAME");
}

}  // namespace weft
