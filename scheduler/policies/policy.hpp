// SPDX-License-Identifier: Apache-2.0
// Scheduling policy: which waiting jobs start now, and which running ones make room for them.
//
// Where it sits: JobLifecycle calls schedule() once per instant at which jobs arrived or GPUs came
// free, and when the policy asked to be called; with `scheduler.round`, at multiples of that only.
// Policies are chosen by name from scheduling_policies().
//
// Contract
//   1. A policy sees the cluster, the queue, the running jobs and what their owners declared,
//      through a SchedulingPass; it never sees hosts or events. What a job will really take is not
//      among it, only what was declared.
//   2. It acts by try_start(), start() and preempt(), which change the cluster at once, so that the
//      pass always shows the state that the next decision meets.
//   3. Its decisions are a function of what it saw, so that runs repeat.
// Threads: called from the scheduler's logical process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/job_list.hpp"

namespace weft {

/// What a policy may know of a job.
struct JobView {
  JobId id;
  Time submit;
  std::uint32_t gpus = 0;  ///< that it wants
  /// on which it would start now: `gpus`, or fewer of an elastic job that has run before
  std::uint32_t least_gpus = 0;
  std::uint32_t held_gpus = 0;  ///< 0 while it waits
  std::int32_t priority = 0;
  std::string_view group;                    ///< virtual cluster or user; may be empty
  std::optional<std::uint32_t> data_region;  ///< where its data is, if that is known
  std::uint64_t iterations = 0;              ///< 0 if not declared
  /// mean of the declared duration; none for jobs that run a workload and declare nothing
  std::optional<Duration> declared_run;
  /// How long it would still hold GPUs if it went on, or started now: what is not done yet of that,
  /// of the overhead of a start and of checkpoints; >= 0; none without a declaration. Of jobs that
  /// run a workload, iterations that have not ended are not done, unless they are fast-forwarded.
  std::optional<Duration> declared_left;
  std::optional<Time> start;  ///< the first; none before it
  std::optional<Time> since;  ///< when it got the GPUs that it holds; none while it waits
  Time queued;                ///< when it last began to wait
  /// how long it has held its GPUs, preempted attempts included; time with fewer counts by their
  /// share
  Duration attained;
};

/// One look at the cluster, and the power to start jobs and to take their GPUs away.
class SchedulingPass {
 public:
  virtual ~SchedulingPass() = default;
  virtual Time now() const = 0;
  virtual const ClusterState& cluster() const = 0;
  /// Waiting jobs, in order of submission, preempted ones among them.
  virtual const JobList& queue() const = 0;
  /// Those of them that have joined the queue since the last pass: new ones, and what others than
  /// the policy have sent back.
  virtual std::span<const JobId> arrived() const = 0;
  /// Those that have left it since the last pass without the policy's doing: they were cancelled,
  /// or what ranks them has changed, in which case they are among arrived(), too.
  virtual std::span<const JobId> left() const = 0;
  /// Jobs that hold GPUs, in order of their last start.
  virtual const JobList& running() const = 0;
  virtual JobView job(JobId job) const = 0;
  /// JobView::priority, for less.
  virtual std::int32_t priority(JobId job) const = 0;
  /// Requires: the job runs. Valid until it stops.
  virtual const Placement& placement(JobId job) const = 0;
  /// Where the placer would put the job, on all GPUs that it wants, if the cluster were in that
  /// state.
  virtual std::optional<Placement> place(const ClusterState& cluster, JobId job) const = 0;
  /// Likewise, on fewer (scheduler/lifecycle/elastic_restart). None for jobs that are not elastic
  /// or have not run before.
  virtual std::optional<Placement> place_smaller(const ClusterState& cluster, JobId job) const = 0;
  std::optional<Placement> place_any(const ClusterState& cluster, JobId job) const {
    std::optional<Placement> placement = place(cluster, job);
    return placement ? std::move(placement) : place_smaller(cluster, job);
  }

  /// Starts a waiting job on these GPUs; it then has left the queue. An iterator on the job itself
  /// is invalid afterwards, others stay valid.
  /// Requires: the job waits, and its GPUs are free and as many as it wants, or as place_smaller()
  /// found.
  virtual void start(JobId job, Placement placement) = 0;
  /// Starts a waiting job if the placer finds GPUs for it, all of them.
  bool try_start_whole(JobId job) { return try_start_on(job, place(cluster(), job)); }
  /// Likewise on fewer.
  bool try_start_smaller(JobId job) { return try_start_on(job, place_smaller(cluster(), job)); }
  bool try_start(JobId job) { return try_start_whole(job) || try_start_smaller(job); }
  /// Takes a running job's GPUs away at once; it goes back to the queue, and what its last
  /// checkpoint has counts (scheduler/lifecycle/progress_model). Requires: the job runs.
  virtual void preempt(JobId job) = 0;
  /// Asks for another pass at `when` > now(). Only the earliest such wish of a pass is kept, until
  /// the next pass.
  virtual void wake_at(Time when) = 0;

 private:
  bool try_start_on(JobId job, std::optional<Placement> placement) {
    if (!placement) return false;
    start(job, std::move(*placement));
    return true;
  }
};

class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;
  virtual void schedule(SchedulingPass& pass) = 0;
  /// Whether it ever calls preempt().
  virtual bool preempts() const { return false; }
};

using SchedulingPolicyFactory = std::unique_ptr<SchedulingPolicy> (*)(const ParamSet& params);

/// Every policy there is.
std::span<const Module<SchedulingPolicyFactory>> scheduling_policies();

}  // namespace weft
