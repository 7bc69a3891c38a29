// SPDX-License-Identifier: Apache-2.0
// Philly: the job trace of Microsoft's GPU cluster (Jeon et al., USENIX ATC 2019) in the form
// timestamp,duration,num_gpus,gpu_time,cluster.
//
// timestamp    time of submission, "YYYY-MM-DD hh:mm:ss" or another text of timestamp.hpp, in any
//              order; the earliest becomes submit 0. Dates without a zone are taken as
//              America/Los_Angeles: the trace's utilisation logs carry PST and PDT, its job log
//              nothing
// duration     seconds that the job held its GPUs (the trace has no queueing column)
// num_gpus     0: left out, as any row with a fault (see trace_builder.hpp)
// cluster      virtual cluster, kept as the job's group; optional
// gpu_time     GPU-seconds, optional: a row in which it is not duration x num_gpus, to a second per
//              GPU, is left out [contradiction]
// Other columns are ignored. Jobs are named by row: "job1", "job2", ...
// Thread safety: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_philly(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
