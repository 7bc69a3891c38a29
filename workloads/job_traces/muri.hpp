// Muri: the job traces of Muri (Zhao et al., SIGCOMM 2022), derived from Philly's.
//
// job_id, num_gpu, iterations, priority (optional) are plain numbers; submit_time and duration are milliseconds; model_name (optional)
// is what the job trains. Other columns (batch_size, interval, iteration_time, resource_time_*) are ignored: iteration_time x iterations is near
// the duration only in the traces derived from Philly, and the duration is what the cluster run held its GPUs for.
// The earliest submission becomes submit 0. Rows with a fault are left out (see trace_builder.hpp).
// Thread safety: pure functions.
#pragma once

#include "core/source_text.hpp"
#include "workloads/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_muri(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
