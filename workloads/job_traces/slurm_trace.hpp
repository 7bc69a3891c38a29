// SPDX-License-Identifier: Apache-2.0
// Slurm traces: what `squeue --json` and `sacct` (as table of -P, or --json) list, as job traces.
//
// Where it sits: formats "squeue" and "sacct" of job_trace_reader; the jobs are read by
// workloads/slurm/slurm_jobs. `weft predict --nodes` takes the same files as a cluster's state.
//
// Model: a job that has ended ran from its start to its end. One that has not runs for a share of
// its time limit (JobTraceOptions::limit_share, 1 if it is not given); one that has run for longer
// than that already runs for its whole limit, or, past that, for another minute. A queue holds
// nothing else, so format squeue always does so; of an accounting such jobs are left out
// [still-running], [never-started] unless the share is named. Jobs without a limit are left out
// then [no-duration]. Where the list is the state of a cluster (JobTraceOptions::is_state), all
// that has not ended is kept; without a limit it runs for endless_run.
// Names are Slurm's ids; `model` is what the user called the job, `group` the account. Priorities
// are ranks among the file's, from 0, as Slurm's do not fit. What jobs depend on is not kept: each
// may start once it is submitted.
// Threads: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/job_traces/job_trace.hpp"
#include "workloads/slurm/slurm_jobs.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_squeue(const SourceText& source, const JobTraceOptions& options = {});
JobTrace read_sacct(const SourceText& source, const JobTraceOptions& options = {});

/// Of a job without a limit, beyond what anybody looks ahead.
inline constexpr Duration endless_run = Duration::ticks(op_duration_max.in_ticks() / 2);

/// How long a job that has not ended holds its GPUs in all, `share` of its time limit; none without
/// a limit. `now` is the instant up to which it has run.
std::optional<Duration> assumed_run(const SlurmJob& job, double share, const std::optional<Timestamp>& now);
/// Of --limit-share: above 0, at most 1; `fallback` where it is not given. Throws InputError
/// [bad-value].
double read_limit_share(const JobTraceOptions& options, double fallback);

}  // namespace weft
