// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/job_trace_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "workloads/formats/format_options.hpp"

namespace weft {

void add_skip_larger_jobs_flag(CLI::App& command, bool& skips) {
  command.add_flag("--skip-larger-jobs", skips,
                   "Jobs of job traces that want more GPUs than the cluster has are left out and noted; default: they are errors");
}

void add_job_trace_flags(CLI::App& command, JobTraceOptions& options) {
  command.add_flag("--strict", options.strict,
                   "Rows of a job trace that cannot become jobs are errors; default: they are left out, counted and noted");
  command
      .add_option(
          "--time-zone", options.time_zone,
          fmt::format("Zone of a job trace's dates without one, such as Asia/Shanghai or +08:00; default: the format's; read by {}",
                      readers_of(job_trace_formats(), reads_time_zone)))
      ->type_name("ZONE");
  command
      .add_option("--throughputs", options.throughputs_path,
                  fmt::format("Measured steps per second by GPU and job type: JSON; read by {}",
                              readers_of(job_trace_formats(), reads_throughputs)))
      ->type_name("FILE");
  command.add_option("--gpu-type", options.gpu_type, "With --throughputs: which GPUs the jobs run on, such as v100")
      ->type_name("NAME");
  command
      .add_option("--limit-share", options.limit_share,
                  fmt::format("Jobs that have not ended run for this share of their time limit, 0 to 1; read by {}",
                              readers_of(job_trace_formats(), reads_limit_share)))
      ->type_name("SHARE");
}

}  // namespace weft
