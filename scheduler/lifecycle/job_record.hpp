// SPDX-License-Identifier: Apache-2.0
// Job record: what became of a job, and who is told.
//
// Where it sits: JobAccounts fills one per job. JobLifecycle passes it to a JobObserver as things
// happen, so that rows of jobs.csv and iterations.csv can be written while the run goes on.
//
// Model
//   - start, end and all that follows from them (completion = end - submit = wait + run) are on the
//     scheduler's clock: a job that runs a workload holds its GPUs from the decision to start it
//     until the report of its last rank has arrived, one control-plane delay after the rank was
//     done and one before it began. A job that was preempted or failed starts several times:
//     `start` is the first, wait all the time that it stood in the queue, run all the time that it
//     held GPUs.
//   - Iterations are on the ranks' clock: an iteration starts when its first rank starts it (the
//     previous one done) and ends when its last rank ends it. Staggered ranks make iterations
//     overlap.
//   - Exposed communication of an iteration is the mean over the ranks.
// Threads: observers are called from the scheduler's logical process, in the order of simulated
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "scheduler/handlers/scripted_events.hpp"
#include "scheduler/lifecycle/job_spec.hpp"

namespace weft {

struct JobRecord {
  JobId id;
  std::uint32_t gpus = 0;
  Time submit;
  std::optional<Time> start;
  std::optional<Time> last_start;
  std::optional<Time> end;
  std::optional<Time> cancelled;  ///< instead of `end`
  Duration wait;                  ///< in the queue, up to the last start
  Duration run;                   ///< with GPUs, up to the last preemption or the end
  /// `run`, as time of all its GPUs: time with fewer of them (scheduler/lifecycle/elastic_restart)
  /// counts by their share. The durations that follow are parts of it.
  Duration run_whole;
  /// For work that did not count, as it came after the last checkpoint.
  Duration lost_to_preemptions;
  Duration lost_to_failures;      ///< for such work, and from failures to their detection
  Duration lost_to_moves;         ///< for iterations that were cut off when a host was drained
  Duration lost_to_cancellation;  ///< all that was of use until then
  Duration overhead;              ///< from starts until the job got on
  Duration checkpointing;         ///< writing checkpoints
  /// Finished so far, those that do not count any more left out; in job mode as declared.
  std::uint64_t iterations = 0;
  /// First rank's start of the first iteration to last rank's end of the last, over their number,
  /// of attempts and iterations that count and without checkpoints; in job mode all that was run
  /// for iterations that count, over their number. None before the end or without iterations.
  std::optional<Duration> mean_iteration;
  /// Summed over iterations, those that were done again included; zero in job mode.
  Duration exposed_communication;
  std::uint32_t restarts = 0;          ///< starts after the first
  std::uint32_t elastic_restarts = 0;  ///< of these, on fewer GPUs than it wants
  std::uint32_t preemptions = 0;
  std::uint32_t moves = 0;     ///< off hosts that were drained
  std::uint32_t failures = 0;  ///< times that a part failed which it needed
  std::string placement;       ///< the last, ClusterState::to_text(); empty before the start
  /// Requires: the job has ended.
  Duration completion() const { return end.value() - submit; }
  Duration lost() const { return lost_to_preemptions + lost_to_failures + lost_to_moves + lost_to_cancellation; }
  /// Of `run_whole`, what counts.
  Duration useful() const { return run_whole - lost() - overhead - checkpointing; }
};

/// Why an attempt of a job is over.
enum class AttemptEnd : std::uint8_t { ended, preempted, failed, moved, cancelled, running };
/// As results call it. `running`: it was not over when the run stopped.
constexpr const char* to_text(AttemptEnd why) {
  constexpr const char* names[] = {"ended", "preempted", "failed", "moved", "cancelled", "running"};
  return names[static_cast<std::uint8_t>(why)];
}

/// An attempt of a job that has left its GPUs, or holds them when the run stops.
struct AttemptRecord {
  Time start;
  Time end;
  std::uint32_t gpus = 0;
  AttemptEnd why = AttemptEnd::ended;
};

struct IterationRecord {
  JobId job;
  std::uint32_t iteration = 0;  ///< from 0
  Time start;
  Time end;
  Duration exposed_communication;
};

/// How the cluster stood from `since` on, until the next of these. busy_gpus + free_gpus + gpus_out
/// is the whole cluster.
struct ClusterSample {
  Time since;
  std::uint64_t running_jobs = 0;
  std::uint64_t waiting_jobs = 0;
  std::uint64_t waiting_gpus = 0;  ///< that waiting jobs want
  std::uint32_t busy_gpus = 0;
  std::uint32_t free_gpus = 0;
  /// Of the free ones, those on hosts that are partly held or out of service.
  std::uint32_t fragmented_gpus = 0;
  /// Of service, and held by no job: failed ones, drained ones and spares.
  std::uint32_t gpus_out = 0;
  /// Of the busy ones, those out of service: until jobs have left a drained host, or until a
  /// failure is known.
  std::uint32_t draining_gpus = 0;

  /// Free while jobs wait.
  std::uint32_t stranded_gpus() const { return waiting_jobs > 0 ? free_gpus : 0; }
  /// Whether all but the instant is the same.
  bool is_like(const ClusterSample& other) const {
    return std::tie(running_jobs, waiting_jobs, waiting_gpus, busy_gpus, free_gpus, fragmented_gpus, gpus_out, draining_gpus) ==
           std::tie(other.running_jobs, other.waiting_jobs, other.waiting_gpus, other.busy_gpus, other.free_gpus,
                    other.fragmented_gpus, other.gpus_out, other.draining_gpus);
  }
};

class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void job_started(const JobSpec&, const JobRecord&) {}
  /// It leaves its GPUs now, or the run does not go on. Its number is JobRecord::restarts, its
  /// hosts are in JobRecord::placement.
  virtual void attempt_ended(const JobSpec&, const JobRecord&, const AttemptRecord&) {}
  /// Preempted, moved, or a part failed; it waits again.
  virtual void job_stopped(const JobSpec&, const JobRecord&) {}
  virtual void job_finished(const JobSpec&, const JobRecord&) {}
  /// It has no GPUs and stands in no queue any more, or never did.
  virtual void job_cancelled(const JobSpec&, const JobRecord&) {}
  /// It was not simulated from `begin` to `end`, but went on at its measured pace
  /// (scheduler/fast_forward/fast_forward).
  virtual void job_fast_forwarded(const JobSpec&, const JobRecord&, Time /*begin*/, Time /*end*/) {}
  virtual void iteration_finished(const JobSpec&, const IterationRecord&) {}
  /// In order of time, one for each instant at which the cluster changed; those that last no time
  /// are left out, but for the last of a run.
  virtual void cluster_changed(const ClusterSample&) {}
  /// Somebody outside the policy did something (scheduler/handlers/scripted_events).
  virtual void event_happened(const EventRecord&) {}
};

}  // namespace weft
