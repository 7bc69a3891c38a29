// SPDX-License-Identifier: Apache-2.0
// Standard Workload Format (SWF): logs of the Parallel Workloads Archive.
//
// Where it sits: format "swf" of job_trace_reader.
// Source: Chapin et al., Benchmarks and Standards for the Evaluation of Parallel Job Schedulers,
// JSSPP 1999; version 2.2 at the archive.
//
// Model: a line per job of 18 numbers between blanks, -1 where one is unknown; lines that begin
// with ";" are comments, of which UnixStartTime dates the trace. A job's processors (field 5, or 8
// where that is unknown) are its GPUs, as the format knows nothing else. It runs for field 4; where
// that is unknown, for the time that was requested (9). Times are whole seconds.
//   status (11) 0 failed, 1 completed, 5 cancelled: the job held what it held
//   2, 3, 4: parts of a checkpointed job, of which the whole is listed beside; left out
//            [partial-execution]
// Left out, too: [never-started] jobs that ran for 0 s or for -1 and were cancelled, [no-gpus],
// [no-duration], [bad-value], [wrong-field-count], [duplicate-job]. Which job another follows (17,
// 18) is not kept.
// Threads: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_swf(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
