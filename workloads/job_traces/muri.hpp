// SPDX-License-Identifier: Apache-2.0
// Muri: the job traces of Muri (Zhao et al., SIGCOMM 2022), derived from Philly's.
//
// job_id, num_gpu, iterations, priority (optional) are plain numbers; submit_time and duration are
// milliseconds; model_name (optional) is what the job trains. iteration_time (optional) is the
// measured time of an iteration alone on the GPUs, in milliseconds: where it is given, a job runs
// for iterations x iteration_time. That is what the cluster of the paper did: its log
// (result_tiresias_job.csv) has jobs that ran in one piece, and they took that and 11 s to 75 s for
// the start, while `duration` is off by -157 s to +149 s. In the traces derived from Philly both
// are near each other. Other columns (batch_size, interval, resource_time_*) are ignored.
// The earliest submission becomes submit 0. Rows with a fault are left out (see trace_builder.hpp).
// Thread safety: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_muri(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
