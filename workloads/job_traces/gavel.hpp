// SPDX-License-Identifier: Apache-2.0
// Gavel: job lists of the Gavel scheduler (Narayanan et al., OSDI 2020; *.trace).
//
// No header; per line, separated by tabs:
//   job type, command, [working directory,] name of the steps flag, needs data directory (0 or 1),
//   total steps, scale factor, priority weight, SLO, arrival in seconds
// The working directory is in the traces of the physical cluster and absent in others: lines have
// 10 or 9 fields.
//
// Model: the scale factor is the number of GPUs, total steps the iterations; arrivals are shifted
// so that the first is 0. Such a trace has no durations. With a table of measured throughputs
// (gavel_throughputs.hpp) and a GPU type, a job runs for steps / throughput (job type, scale
// factor, GPU type), by where a run places it: on one host as that type, on several as
// "..._unconsolidated" where the table has it (TraceJob::iteration_times). TraceJob::run is that on
// one host. Without a table, JobTrace::has_run_times is false: only rules that give each job a
// workload or measured iterations can run it. The job type is the job's model. Command, directory
// and flags are not used, nor are priority weight and SLO: no policy here knows shares or
// deadlines.
// Left out: lines with faults (see trace_builder.hpp), and jobs whose throughput is 0
// [does-not-run] or that the table lacks [unknown-job-type]. An error always: [unknown-gpu-type].
// Thread safety: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_gavel(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
