// SPDX-License-Identifier: Apache-2.0
// Job accounts: what became of jobs and of their GPUs' time - records, kept work, counters and
// usage.
//
// Where it sits: JobLifecycle and its parts tell it what happens to jobs. Tools read the records
// and the counters at the end of a run.
//
// Model
//   - What a job held GPUs for is overhead, checkpoints, work that counts, or lost. Lost time is
//     charged to what took the GPUs away: a preemption, a failure or a move.
//   - Kept work is what the next start goes on from, as work on all of the GPUs that the job wants.
//   - Usage is a sum over simulated time, of how the cluster stood
//     (scheduler/lifecycle/cluster_usage).
//
// Invariants: 1. records()[i] is job i. 2. What is kept of a job never becomes less.
// Thread safety: belongs to the scheduler's logical process; may be read once the engine has
// stopped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/cluster_usage.hpp"
#include "scheduler/lifecycle/held_queues.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/job_states.hpp"

namespace weft {

/// Figures over the whole run so far. Means are over simulated time from 0 to the last event.
struct JobCounters {
  std::uint64_t arrived = 0;
  std::uint64_t started = 0;  ///< jobs; those that are preempted once more each time
  std::uint64_t preempted = 0;
  std::uint64_t finished = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t passes = 0;   ///< calls of the policy
  double busy_gpu_s = 0;      ///< GPU-seconds held by jobs
  double stranded_gpu_s = 0;  ///< GPU-seconds that nobody held while jobs waited
  /// GPU-seconds out of service and held by no job, idle spares included.
  double out_gpu_s = 0;
  double draining_gpu_s = 0;           ///< of busy_gpu_s, GPU-seconds out of service already
  std::uint64_t failures = 0;          ///< of parts, links that degrade among them
  std::uint64_t flaps = 0;             ///< of links
  std::uint64_t moved = 0;             ///< jobs, off hosts that were drained
  std::uint64_t elastic_restarts = 0;  ///< on fewer GPUs than the job wants
  // Of busy_gpu_s: what JobRecord has under these names, of all jobs.
  double lost_to_preemptions_gpu_s = 0;
  double lost_to_failures_gpu_s = 0;
  double lost_to_moves_gpu_s = 0;
  double lost_to_cancellations_gpu_s = 0;
  double overhead_gpu_s = 0;
  double checkpointing_gpu_s = 0;
  /// Of jobs that have ended, by GPU time: what counts of the time from first start to end. 0 if
  /// none has.
  double effective_time_ratio = 0;
  double gpus_busy_mean = 0;
  std::uint32_t gpus_busy_max = 0;
  double queue_length_mean = 0;
  std::uint64_t queue_length_max = 0;  ///< after a pass: jobs that really wait
  /// If job sources kept their queues for some time.
  std::optional<SteadyState> steady = {};
  Time first_submit;
  Time last_end;  ///< or cancellation of a job that had GPUs

  /// Last end since the first submission.
  Duration makespan() const { return std::max(last_end, first_submit) - first_submit; }
};

class JobAccounts {
 public:
  /// Keeps references. Nothing before `begin` counts. `observer`: outlives it; may be null.
  JobAccounts(const std::vector<JobSpec>& jobs, const ClusterState& cluster, const JobStates& states, JobObserver* observer,
              Time begin);

  const std::vector<JobRecord>& records() const { return records_; }
  const JobRecord& record(JobId job) const { return records_[job.index()]; }
  /// What the job's last start went on from, or its next one will.
  const KeptWork& kept(JobId job) const { return progress_[job.index()].kept; }
  /// Of a job that runs a workload: time in iterations that count, of attempts that are over.
  Duration iterating(JobId job) const { return progress_[job.index()].iterating; }
  /// When the job last began to wait.
  Time queued(JobId job) const { return progress_[job.index()].queued; }
  /// All jobs have ended or were cancelled.
  bool all_finished() const { return counters_.finished + counters_.cancelled == jobs_.size(); }
  std::uint64_t finished() const { return counters_.finished + counters_.cancelled; }
  /// All but `failures` and `flaps`, which are of parts.
  JobCounters counters() const;

  // What happens to jobs, beside their transitions in JobStates.
  void arrive(JobId job, Time now);
  /// A job that was held is submitted. arrive() has to follow.
  void submit(JobId job, Time now) { records_[job.index()].submit = now; }
  /// The job gets these GPUs. Requires: they are taken, and the attempt has not begun.
  void start(JobId job, const Placement& placement, Time now);
  void complete_iteration(JobId job, std::uint64_t completed, Duration exposed_communication);
  void add_exposed(JobId job, Duration communication) { records_[job.index()].exposed_communication += communication; }
  void fail(JobId job) { ++records_[job.index()].failures; }
  void preempt(JobId job);
  void move(JobId job);
  /// The job ends now. leave() and end() have to follow.
  void note_end(JobId job, Time now) { records_[job.index()].end = now; }
  /// Charges an attempt that is over. Returns whether more is kept than before, or the job is over.
  /// Requires: `why` is not `running`.
  bool leave(const JobAttempt& attempt, Time now, AttemptEnd why);
  /// Whether more would be kept than before if the job were stopped now.
  bool would_keep_more(const JobAttempt& attempt, Time now) const;
  /// The job waits again. Requires: leave() was called.
  void wait_again(JobId job, Time now);
  /// Completes the record of a job that has ended. `counts_all`: with fast-forward, ranks have not
  /// reported all of its iterations. Requires: leave() was called.
  void end(JobId job, bool counts_all);
  /// The job is cancelled. Requires: leave() or leave_queue() was called, or it had not arrived.
  void cancel(JobId job, Time now);
  /// A job that waits is about to be cancelled.
  void leave_queue(JobId job, Time now);
  /// The job stands as in the snapshot that the run goes on from.
  void restore(JobId job, const ClusterSnapshot::Job& from);

  // What happens to the cluster.
  /// The policy has had its say.
  void count_pass();
  /// Job sources keep their queues from now on, or do so no more. Requires: advance(now); the
  /// latter after the former.
  void begin_steady(Time now);
  void end_steady(Time now);
  /// Everything up to `now` has lasted. To be called before an event changes anything.
  void advance(Time now);
  /// The observer is told how the cluster stands, as nothing more is to come.
  void tell_last_sample() { usage_.tell(sample()); }
  /// The run is cut off at `now`: charges what jobs have waited and held GPUs for.
  void close_open_attempts(Time now);

 private:
  /// Of a job, over all its attempts.
  struct Progress {
    KeptWork kept;
    Duration iterating;
    Time queued;
  };

  /// Adds an attempt up to `now` to its record, but for what is lost; returns what it has come to.
  AttemptAccount charge(const JobAttempt& attempt, Time now);
  /// How the cluster has stood since usage_.up_to().
  ClusterSample sample() const;

  const std::vector<JobSpec>& jobs_;
  const ClusterState& cluster_;
  const JobStates& states_;
  std::vector<JobRecord> records_;
  std::vector<Progress> progress_;  ///< per job
  JobCounters counters_;            ///< but for what counters() adds: from usage_ and the records
  ClusterUsage usage_;
  std::uint64_t waiting_gpus_ = 0;
  /// counters_.steady has sums in place of means, and those before it taken off.
  bool is_steady_ = false;
};

}  // namespace weft
