// Trace builder: what all job-trace readers do in the end.
// Thread safety: pure functions.
#pragma once

#include "core/diagnostics.hpp"
#include "core/source_text.hpp"
#include "workloads/job_trace.hpp"

namespace weft {

/// Names the trace after its file, shifts submissions so that the earliest is 0 (origin_of_time says what it was, unless it is set), and
/// sorts jobs by (submit, line). Throws InputError with all of `diagnostics`, and [duplicate-job], [no-jobs].
JobTrace finish_trace(JobTrace trace, const SourceText& source, Diagnostics& diagnostics);

}  // namespace weft
