// SPDX-License-Identifier: Apache-2.0
// Job attempt: a job's hold on its GPUs, from its start until it leaves them, as a state machine.
//
// Where it sits: JobStates keeps one for every job that holds GPUs. JobLifecycle and its parts take
// the attempt from phase to phase, and ask it what the job has come to.
//
// Phases: each is a type that holds what is known in this phase only.
//   Starting       the overhead of the start lasts, or the ranks wait for their launch
//   Fetching       data is on its way to the ranks
//   ByModel        the job is in job mode and ends when its progress model says so
//   Simulated      ranks run on hosts and report iterations
//   FastForwarded  the job goes on at its measured pace, and its ranks are not simulated
//   Moving         the job writes a last checkpoint, to leave a host that is drained
//   Failed         a part that the job needs has failed, which the scheduler does not know yet
// Transitions: Starting -> Fetching -> Starting -> Simulated <-> FastForwarded; Starting ->
// ByModel; from each of these to Moving and Failed; from Moving to Failed.
//
// Invariants
//   1. An attempt awaits at most one timer, known by its kind and generation. All others are stale.
//   2. From the moment at which a job moves or fails its account stands still.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.hpp"
#include "host/ranks/job.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/progress_model.hpp"
#include "scheduler/lifecycle/scheduler_events.hpp"
#include "scheduler/lifecycle/workload_progress.hpp"

namespace weft {

class JobAttempt {
 public:
  /// What a job is held to, as settings were when it started.
  struct Terms {
    JobId job;
    std::uint32_t gpus_wanted = 1;
    std::uint32_t restarts = 0;  ///< starts of the job before this one
    double speed = 1;            ///< of what the job's duration is declared for
    Duration start_overhead = {};
    CheckpointPlan checkpoints = {};
  };

  /// What the job's progress is known by. None before its ranks begin.
  using Basis = std::variant<std::monostate, ProgressModel, WorkloadProgress>;

  struct Starting {};
  struct Fetching {
    std::uint32_t parts_left = 0;
    std::vector<HostId> stores;  ///< hosts that send the data, ascending
  };
  struct ByModel {
    ProgressModel model;
  };
  struct Simulated {
    WorkloadProgress ranks;
  };
  struct FastForwarded {
    ProgressModel model;
    /// Iterations of the job that were simulated or kept before.
    std::uint64_t simulated_up_to = 0;
    Time since;
    /// The iteration from which it is simulated again.
    std::optional<std::uint64_t> resumes_at = {};
  };
  struct Moving {
    Time since;
    Basis basis;
    std::uint32_t parts_left = 0;  ///< of the last checkpoint, on their way to the store
  };
  struct Failed {
    Time at;
    Time got_on_until;  ///< `at`, or when it began to move
    Basis basis;
  };

  /// `kept`: as work on all of the GPUs that the job wants, at speed 1.
  JobAttempt(const Terms& terms, Placement placement, Time since, const KeptWork& kept);

  JobId job() const { return terms_.job; }
  const Placement& placement() const { return placement_; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(placement_.gpus.size()); }
  Time since() const { return since_; }
  /// Of this start, as of the next one; with what fetching data took, once that is known.
  Duration start_overhead() const { return terms_.start_overhead; }
  const CheckpointPlan& checkpoints() const { return terms_.checkpoints; }
  /// When the present part began: since(), or when the job was last fast-forwarded or resumed.
  Time part_since() const { return part_since_; }
  /// What the job had come to by part_since().
  const AttemptAccount& past() const { return past_; }
  /// What hosts were last told of this attempt; none() in job mode.
  AttemptId published() const { return published_; }

  template <class Phase>
  bool is() const {
    return std::holds_alternative<Phase>(phase_);
  }
  /// Requires: is<Phase>().
  template <class Phase>
  const Phase& as() const {
    WEFT_CHECK(is<Phase>(), "an attempt is asked about the phase that it is in");
    return *std::get_if<Phase>(&phase_);
  }
  /// Whether the job neither moves nor has failed.
  bool gets_on() const { return !is<Moving>() && !is<Failed>(); }
  /// `now`, or when the job began to move or failed.
  Time got_on_until(Time now) const;
  /// How many parts of the job's data or last checkpoint are on their way.
  std::uint32_t parts_left() const;
  /// Null unless the job goes on by a model, or did when it began to move or failed.
  const ProgressModel* model() const;
  /// Null unless the job's ranks are simulated, or were when it began to move or failed.
  const WorkloadProgress* ranks() const;
  /// How long the present part has lasted. A part may begin a message after `now`.
  Duration elapsed(Time now) const;
  AttemptAccount account(Time now) const;
  /// Whether the job's end is due. What happens at the same instant is too late for it.
  bool has_done_all(Time now) const;
  bool awaits(std::uint16_t kind, const Generation& generation) const { return awaited_ == Awaited{kind, generation}; }
  /// Whether the report of an iteration is from ranks of the present part.
  bool hears_ranks_of(AttemptId attempt) const { return is<Simulated>() && published_ == attempt; }
  /// Whether a part of the attempt's data or last checkpoint is still expected.
  bool hears_data_of(AttemptId attempt) const { return parts_left() > 0 && published_ == attempt; }

  // Scales. A job that holds fewer GPUs than it wants, or slow ones, takes longer for its work.
  /// Time on the GPUs held, as time of all GPUs that the job wants.
  Duration of_all_gpus(Duration time) const;
  /// How long the job takes for what all of its GPUs do at speed 1 in that time.
  Duration time_for(Duration work) const;
  /// What was kept before, on the scale of this attempt.
  KeptWork on_this_scale(const KeptWork& kept) const { return {kept.iterations, time_for(kept.work)}; }
  /// What is kept after this attempt, as work on all of the GPUs at speed 1.
  KeptWork on_common_scale(const KeptWork& kept) const;

  // Transitions. Those that set a timer return its payload.
  /// The job goes on from a snapshot. `past` is empty if it starts at the snapshot's instant.
  void restore(Time part_since, const std::optional<AttemptAccount>& past);
  /// From a snapshot: the part that begins is not the first of the attempt.
  void begin_later_part(Time part_since);
  /// Starting: the overhead lasts until ranks_begin.
  JobTimer await_ranks() { return await(ranks_begin); }
  /// Starting -> Fetching.
  void fetch(AttemptId published, std::uint32_t parts, std::vector<HostId> stores);
  /// A part has arrived. Fetching -> Starting with the last one. Returns whether it was the last.
  bool take_arrival(Time now);
  /// What is on its way does not arrive any more.
  void drop_data();
  /// Starting -> ByModel, until job_ends. `total`: what the job takes for all of its iterations.
  JobTimer run_by_model(Duration total, std::uint64_t iterations, Duration start_overhead);
  /// Starting -> Simulated. `begin`: when ranks begin in a later part than the first.
  void simulate(const RunningJob& published, Time begin, Duration control_delay);
  /// Simulated: a rank has reported. Returns the iteration that is completed by that, if any.
  std::optional<IterationRecord> take_report(const IterationDone& report);
  /// Simulated -> Simulated, from a landmark on, with ranks that begin at `begin`.
  void simulate_anew(const WorkloadProgress::Landmark& landmark, const RunningJob& published, Time begin);
  /// Simulated -> FastForwarded from a landmark on, until job_ends.
  JobTimer fast_forward(const WorkloadProgress::Landmark& landmark, Duration period, std::uint64_t iterations, Time now);
  /// Starting -> FastForwarded, as it was in the snapshot.
  JobTimer restore_fast_forward(AttemptId published, Duration period, std::uint64_t iterations, Time now);
  /// FastForwarded: the job is to be simulated again from this iteration on, at job_resumes.
  JobTimer plan_resume(std::uint64_t iteration);
  /// When the ranks of a planned resume begin.
  Time resumed_part_since() const;
  /// FastForwarded -> Simulated, as planned.
  void resume(const RunningJob& published);
  /// -> Moving, until job_moves. Requires: gets_on().
  JobTimer move(Time now);
  /// Moving: parts of a last checkpoint are on their way to the store.
  void send_last_checkpoint(AttemptId published, std::uint32_t parts);
  /// -> Failed. Requires: it has not.
  void fail(Time now);

 private:
  /// The timer that the attempt awaits; kind 0 if none.
  struct Awaited {
    std::uint16_t kind = 0;
    Generation generation;

    friend bool operator==(const Awaited&, const Awaited&) = default;
  };

  JobTimer await(std::uint16_t kind);
  void simulate_from(Time begin, const RunningJob& published);
  /// Moves what the progress is known by out of the present phase.
  Basis take_basis();

  Terms terms_;
  Placement placement_;
  Time since_;
  Time part_since_;
  AttemptAccount past_;
  AttemptId published_ = AttemptId::none();
  std::uint32_t part_ = 0;  ///< how often it was fast-forwarded, told to resume or simulated anew
  Awaited awaited_;
  std::variant<Starting, Fetching, ByModel, Simulated, FastForwarded, Moving, Failed> phase_;
};

}  // namespace weft
