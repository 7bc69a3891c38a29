// SPDX-License-Identifier: Apache-2.0
// The flags that say more about a job trace than its path, the same for every subcommand that reads
// one.
#pragma once

#include "workloads/job_traces/job_trace_reader.hpp"

namespace CLI {
class App;
}

namespace weft {

/// Adds --skip-larger-jobs, which is about a trace and the cluster that it is to run on. `skips`
/// outlives the command.
void add_skip_larger_jobs_flag(CLI::App& command, bool& skips);

/// Adds --strict, --time-zone, --throughputs, --gpu-type and
/// --limit-share. `options` outlives the command.
void add_job_trace_flags(CLI::App& command, JobTraceOptions& options);

}  // namespace weft
