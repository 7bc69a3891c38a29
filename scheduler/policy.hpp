// Scheduling policy: which waiting jobs start now.
//
// Where it sits: JobLifecycle calls schedule() once per instant at which jobs arrived or GPUs came free. Policies are chosen by name from
// scheduling_policies().
//
// Contract
//   1. A policy sees the cluster, the queue, the running jobs and what their owners declared, through a SchedulingPass; it never sees
//      hosts or events. What a job will really take is not among it, only what was declared.
//   2. It acts by try_start(), which places the job at once, so that the pass always shows the state that the next decision meets.
//   3. Its decisions are a function of what it saw, so that runs repeat.
// Threads: called from the scheduler's logical process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/params.hpp"
#include "core/units.hpp"
#include "scheduler/cluster_state.hpp"
#include "scheduler/job_list.hpp"

namespace weft {

/// What a policy may know of a job.
struct JobView {
  Time submit;
  std::uint32_t gpus = 0;
  std::int32_t priority = 0;
  std::uint64_t iterations = 0;          ///< 0 if not declared
  std::optional<Duration> declared_run;  ///< mean of the declared duration; none for jobs that run a workload
  std::optional<Time> start;             ///< none while the job waits
};

/// One look at the cluster, and the power to start jobs.
class SchedulingPass {
 public:
  virtual ~SchedulingPass() = default;
  virtual Time now() const = 0;
  virtual const ClusterState& cluster() const = 0;
  /// Waiting jobs, in order of submission.
  virtual const JobList& queue() const = 0;
  /// Jobs that hold GPUs, in order of start.
  virtual const JobList& running() const = 0;
  virtual JobView job(JobId job) const = 0;
  /// Starts a waiting job if the placer finds GPUs for it; the job then has left the queue. An iterator on the job itself is invalid
  /// afterwards, others stay valid. Requires: the job waits.
  virtual bool try_start(JobId job) = 0;
};

class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;
  virtual void schedule(SchedulingPass& pass) = 0;
};

using SchedulingPolicyFactory = std::unique_ptr<SchedulingPolicy> (*)(const ParamSet& params);

/// Every policy there is.
std::span<const Module<SchedulingPolicyFactory>> scheduling_policies();

}  // namespace weft
