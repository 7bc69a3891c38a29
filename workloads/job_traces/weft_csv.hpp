// SPDX-License-Identifier: Apache-2.0
// Weft CSV: our own job trace, one job per row.
//
//   job,submit_s,gpus,run_s,iterations,group,priority
//   llm,0,64,7200,1000,research,1
//   eval,90.5,8,600,0,,0
//
// job         unique name
// submit_s    seconds after any common instant, as far away as it may be: submissions are shifted
//             so that the first is 0
// gpus        how many, all at once
// run_s       seconds for which the job holds them
// iterations  optional column; 0 or empty = unknown; a preempted job keeps whole ones
// group       optional column: virtual cluster or user; may be empty
// priority    optional column: an integer, larger is more urgent; empty = 0
// model       optional column: what the job trains; rules in a scenario can match it
// data_region optional column: number of the region where its data is, from 0, for scheduler mast;
// empty = anywhere
// min_gpus    optional column: once it has run, it may restart on fewer GPUs than it wants, but at
//             least so many; empty or 0 = on all only
// Reading is strict: every row is a job or an error, with or without --strict. Columns may stand in
// any order; an unknown one is an error. write_weft_csv() writes what read_weft_csv() reads;
// columns that no job needs are left out, and so is what happened in reality.
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <string_view>

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_weft_csv(const SourceText& source, const JobTraceOptions& options = {});

/// Hands the file to `write` piece by piece. Requires: run times that do not depend on the
/// placement (WEFT_CHECK).
void write_weft_csv(const JobTrace& trace, const std::function<void(std::string_view)>& write);

}  // namespace weft
