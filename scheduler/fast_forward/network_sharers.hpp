// SPDX-License-Identifier: Apache-2.0
// Network sharers: which jobs use the network now, and which of them can slow each other down.
//
// Where it sits: FastForwardControl tells it of jobs that join and leave, and asks for their sets.
//
// Model: a job shares the network from the launch of its ranks until it is stopped or ends, whether
// it is simulated or fast-forwarded. With CoupledJobs a set has the jobs that can load each other's
// links (host/symmetry/coupled_jobs). Without, all jobs that share the network form one set.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <vector>

#include "core/values/ids.hpp"
#include "host/symmetry/coupled_jobs.hpp"
#include "scheduler/lifecycle/job_list.hpp"

namespace weft {

class NetworkSharers {
 public:
  /// Keeps references. `running`: jobs that hold GPUs. `coupled` may be null.
  NetworkSharers(const JobList& running, std::size_t jobs, CoupledJobs* coupled)
      : running_(running), coupled_(coupled), shares_(jobs, false) {}

  bool shares(JobId job) const { return shares_[job.index()]; }
  /// Requires: with CoupledJobs, the job was added to them.
  void join(JobId job) { shares_[job.index()] = true; }
  /// Also takes the job out of CoupledJobs. Requires: shares(job).
  void leave(JobId job);
  /// The others of the job's set; with CoupledJobs also those that were placed and have not joined
  /// yet.
  std::vector<JobId> others_of(JobId job) const;

 private:
  const JobList& running_;
  CoupledJobs* coupled_;
  std::vector<bool> shares_;  ///< by job
};

}  // namespace weft
