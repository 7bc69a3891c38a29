// Philly: the job trace of Microsoft's GPU cluster (Jeon et al., USENIX ATC 2019) in the form timestamp,duration,num_gpus,gpu_time,cluster.
//
// timestamp    local time of submission, "YYYY-MM-DD hh:mm:ss", in any order; the earliest becomes submit 0
// duration     seconds that the job held its GPUs (the trace has no queueing column)
// cluster      virtual cluster, kept as the job's group; optional
// Other columns are ignored. Jobs are named by row: "job1", "job2", ...
// Thread safety: pure functions.
#pragma once

#include "core/source_text.hpp"
#include "workloads/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_philly(const SourceText& source);

}  // namespace weft
