// SPDX-License-Identifier: Apache-2.0
// Larger jobs: what becomes of the jobs of a trace that want more GPUs than the cluster has.
//
// Where it sits: check_jobs() refuses a run with such a job, since none of them could ever start.
// Where the user says so (--skip-larger-jobs, `jobs { skip_larger_jobs: true }`), apply_rules()
// leaves them out before jobs get what rules say, and a note tells what is missing.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// What was left out of one trace.
struct LargerJobs {
  std::vector<std::string> names;  ///< of all, in order of the trace
  /// of the smallest of them; 0 if there are none, as all that follows
  std::uint32_t gpus_min = 0;
  std::uint32_t gpus_max = 0;
  double gpu_hours = 0;       ///< by the run times that they ask for
  double gpu_time_share = 0;  ///< of that of the whole trace; 0 if the trace has no run times
  std::string largest;        ///< name of the first one of `gpus_max` GPUs
  int largest_line = 0;       ///< of the file

  std::uint64_t jobs() const { return names.size(); }
  /// "3 jobs of 1024 to 4096 GPUs are left out, ..."; `gpus` is the size of the cluster. Requires:
  /// some were left out.
  std::string to_text(std::uint32_t gpus) const;
};

/// Takes the jobs of more than `gpus` GPUs out of the trace. Submissions of all others stay, so
/// that they do not depend on the cluster.
LargerJobs leave_out_larger_jobs(JobTrace& trace, std::uint32_t gpus);

}  // namespace weft
