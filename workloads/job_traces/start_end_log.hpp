// SPDX-License-Identifier: Apache-2.0
// Start-end log: job logs with submission, start and end of each job, as Slurm's accounting writes
// them; what Helios and Acme share.
//
// Where it sits: under helios.hpp and acme.hpp, which name the format's zone and columns and
// describe them.
//
// Model: a job held its GPUs from start_time to end_time. Where one of the two is missing, the
// duration column says how long. Where both are there and the duration is not their difference (in
// Acme's Kalos trace it counts the queueing too), the times win and the trace's assumptions count
// such jobs. What was real, TraceJob::real, comes from the times. On how many nodes a job was
// (node_num) is ignored: the scenario's placement decides. Jobs that were on more nodes than their
// GPUs need are counted in the assumptions. Left out, by reason: [no-gpus] jobs of the CPUs;
// [still-running], [never-started] by state, or by a missing start and a duration of 0, as jobs
// that were cancelled in the queue have; [end-before-start], [start-before-submit]; [no-duration];
// [bad-value], [negative-duration], [out-of-range], [wrong-field-count], [duplicate-job]. Final
// states are all the same here: a job that failed held its GPUs as long as it did.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

struct StartEndLog {
  std::string_view zone;          ///< of dates without one
  std::string_view group_column;  ///< kept as the job's group; optional in the file
  /// Kept as the job's user; optional in the file; may be the group's.
  std::string_view user_column;
  std::string_view model_column;  ///< kept as the job's model; optional in the file; empty: none
  std::uint32_t gpus_per_node = 8;
};

/// Needs the columns job_id, gpu_num, submit_time and duration; state, start_time, end_time and
/// node_num are optional, others are ignored. Throws InputError.
JobTrace read_start_end_log(const SourceText& source, const JobTraceOptions& options, const StartEndLog& format);

}  // namespace weft
