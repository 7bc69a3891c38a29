// SPDX-License-Identifier: Apache-2.0
// Muri results: what the jobs of a Muri trace really did on the 64 GPUs of its cluster (Zhao et
// al., SIGCOMM 2022; result_*_job.csv).
//
// job_id, num_gpu         as in the trace
// submit_time             seconds; the earliest submission becomes submit 0
// start_time, end_time    seconds on the same clock: first start and end
// real_executed_time      seconds that the job itself ran: the job's run time here. JCT =
//                         pending_time + real_executed_time holds in both published files;
//                         executed_time does not fit: it goes on while the job is preempted
//                         (Tiresias) or shares its GPUs
// JCT                     end_time - submit_time, checked to 0.1 s: a row that contradicts itself
//                         is left out [contradiction]
// Other columns (time, executed_time, duration, pending_time, job_counter, promote) are ignored.
// TraceJob::real holds wait and completion, for comparison with what a simulation gives.
// Thread safety: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_muri_result(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
