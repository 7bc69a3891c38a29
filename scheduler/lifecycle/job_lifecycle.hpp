// SPDX-License-Identifier: Apache-2.0
// Job lifecycle: the scheduler as an entity - jobs arrive, wait, run and finish.
//
// Where it sits: built from the jobs of a run, a policy and a placer. Hosts hear of jobs by
// messages only (host/ranks/job). Tools watch through a JobObserver, and read records and counters
// afterwards.
//
// Model: it takes every event, decides what it means for jobs, and has its parts carry that out.
//   - What a job is and does at present: JobStates, and JobAttempt while it holds GPUs.
//   - From the GPUs to the first iteration: AttemptStarts; messages to hosts: AttemptMessages.
//   - Iterations that need no simulation: FastForwardControl. Records and sums: JobAccounts.
//   - Failed parts and drained hosts: Outages, Drains. Users' handlers: HandlerCalls.
//   - Each arrival schedules the next; those that are held wait for others to start
//     (lifecycle/held_queues). All arrivals and ends of an instant are followed by one pass
//     of the policy at that instant, or, with rounds, at the next multiple of their length.
//   - A job that is stopped stands in the queue by its submission, and falls back to its
//     checkpoint.
//   - A job whose end is due at the instant of a failure, a drain or a cancellation ends.
//
// Invariants
//   1. No GPU is held by two jobs (ClusterState). 2. Every job ends, is cancelled, or is named by
//   require_all_finished(). 3. records()[i] is job i.
// Threads: belongs to its logical process; everything may be read once the engine has stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/engine/entity.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/ranks/job.hpp"
#include "scheduler/failures/drains.hpp"
#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/maintenance_plan.hpp"
#include "scheduler/failures/outages.hpp"
#include "scheduler/fast_forward/fast_forward_control.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/handlers/handler_calls.hpp"
#include "scheduler/handlers/scripted_events.hpp"
#include "scheduler/lifecycle/attempt_messages.hpp"
#include "scheduler/lifecycle/attempt_starts.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/held_queues.hpp"
#include "scheduler/lifecycle/job_accounts.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/job_states.hpp"
#include "scheduler/lifecycle/progress_watch.hpp"
#include "scheduler/lifecycle/scheduler_settings.hpp"
#include "scheduler/lifecycle/scheduler_wiring.hpp"
#include "scheduler/lifecycle/settings_change.hpp"
#include "scheduler/lifecycle/storage.hpp"
#include "scheduler/lifecycle/unfinished_jobs.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

struct JobLifecycleSettings : SchedulerSettings {
  std::unique_ptr<SchedulingPolicy> policy;
  std::unique_ptr<Placer> placer;
  /// When speeds of hosts change, each time once. What was measured before holds no more.
  std::vector<Time> speed_changes = {};
  CheckpointPlan checkpoints = {};
  FailureSettings failures = {};
  MaintenanceSettings maintenance = {};
  StorageSettings storage = {};
  const HostSpeeds* speeds = nullptr;  ///< outlives the run; null: all hosts at speed 1
  std::vector<NamedHandler> handlers = {};
  std::vector<SettingsChange> changes = {};  ///< one for each of the events that set something
  std::vector<ScriptedEvent> events = {};    ///< in order of time
  std::uint64_t seed = 0;                    ///< of durations and failures
  /// When on_snapshot is called, unless all jobs have ended.
  std::optional<Time> snapshot_at = {};
  std::function<void(const ClusterSnapshot&)> on_snapshot = nullptr;
  /// The run goes on from there, and nobody arrives any more; null: it begins empty.
  std::shared_ptr<const ClusterSnapshot> from = nullptr;
  SchedulerWiring wiring;
  JobObserver* observer = nullptr;  ///< outlives the run; may be null
};

class JobLifecycle final : public Entity {
 public:
  /// Requires: jobs sorted by submission and free of errors (check_jobs), cluster empty; with
  /// workloads, wiring for every host.
  JobLifecycle(std::vector<JobSpec> jobs, ClusterState cluster, JobLifecycleSettings settings);
  // Its parts refer to each other.
  JobLifecycle(const JobLifecycle&) = delete;
  JobLifecycle& operator=(const JobLifecycle&) = delete;
  ~JobLifecycle() override;

  /// Registers the scheduler, connects it both ways with its hosts at `control_delay`, and posts
  /// the first events. Hosts may be registered before or after, with the ids that the wiring names.
  /// `declared`: its id, if the builder has given it one.
  static EntityId add_to(EngineBuilder& builder, std::unique_ptr<JobLifecycle> lifecycle, EntityId declared = EntityId::none());

  void handle(const Event& event, EventContext& context) override;

  const std::vector<JobSpec>& jobs() const { return jobs_; }
  const std::vector<JobRecord>& records() const { return accounts_.records(); }
  const ClusterState& cluster() const { return cluster_; }
  JobCounters counters() const;
  FastForwardReport fast_forward() const { return fast_forward_.report(); }
  /// Requires: all events up to `now` were handled, and no later ones.
  ClusterSnapshot snapshot(Time now) const;
  /// For the end of a run that was interrupted: records get what jobs have waited and held GPUs for
  /// by `now`, and the observer the last sample.
  void close_open_attempts(Time now);
  /// When and why the run got nowhere any more, and nothing was simulated after it.
  struct Standstill {
    Time at;
    Diagnostic why;
  };
  const std::optional<Standstill>& standstill() const { return standstill_; }
  /// Whether nothing happens before ranks that are simulated report: no job arrives or ends by
  /// itself, and nothing changes.
  bool all_wait_for_ranks(Time now) const { return now >= changes_until_ && unfinished_.all_wait_for_ranks(); }
  /// All have ended or were cancelled.
  bool all_finished() const { return accounts_.all_finished(); }
  /// What a job does or waits for, as a sentence without its stop: "job "a" waits for 8 GPUs".
  std::string state_text(JobId job) const { return unfinished_.state_text(job); }
  /// At the end of a run: [never-repaired] with jobs that wait for GPUs out of service, if there
  /// are any and nobody runs.
  std::optional<Diagnostic> never_repaired() const { return unfinished_.never_repaired(cluster_, settings_.storage.hosts); }
  /// Stops with a WEFT_CHECK failure that names jobs which never ended and what they wait for. For
  /// the end of a run.
  void require_all_finished() const { unfinished_.require_none(); }
  /// Whether the ranks of an attempt hold their GPUs still. Requires: a job's attempt in
  /// `wiring.jobs`.
  bool is_under_way(AttemptId number) const;

 private:
  class Pass;
  class Service;
  class Actions;

  // Events.
  bool is_stale(const Event& event) const;
  void take(const Event& event, EventContext& context);
  void arrive(JobId job, EventContext& context);
  void join_queue(JobId job, EventContext& context);
  /// A job of a source in closed loop leaves the queue for the first time.
  void leave_held_queue(JobId job, Time now);
  /// Submits what is due of sources in closed loop.
  void submit_due(EventContext& context);
  void take_report(const IterationDone& report, EventContext& context);
  void take_arrival(AttemptId number, EventContext& context);
  void take_scripted(const ScriptedEvent& event, EventContext& context);
  void change_settings(SettingsChange& change, EventContext& context);

  // Passes of the policy.
  void request_pass(EventContext& context);
  void run_pass(EventContext& context);
  void wake_at(Time when, EventContext& context);
  void start(JobId job, Placement placement, EventContext& context);
  void preempt(JobId job, EventContext& context);
  void launch(EventContext& context);
  StartTerms next_start() const { return {settings_.start_overhead, settings_.checkpoints}; }
  JobView view(JobId job, Time now) const;

  // Ends and stops.
  void finish(JobId job, EventContext& context);
  /// Returns false, having done nothing, if the job is over or its end is due.
  bool cancel(JobId job, EventContext& context);
  /// Returns false, having done nothing, if the job is over or has that priority.
  bool set_priority(JobId job, std::int32_t priority, EventContext& context);
  /// The job gets on no more, and neither does a last checkpoint on its way. Hosts are told so.
  void halt(JobId job, EventContext& context);
  /// Charges the job's attempt and frees its GPUs. A transition of the job's state has to follow.
  void leave_gpus(JobId job, Time now, AttemptEnd why);
  void tell_attempt(const JobAttempt& attempt, Time now, AttemptEnd why) const;
  void go_back_to_queue(JobId job, Time now, ClusterEvent::Kind because);
  /// The job leaves its GPUs and goes back to the queue, stopped by others than the policy.
  void send_back(JobId job, AttemptEnd why, Time now);
  /// The job writes a last checkpoint, unless it moves, has failed or is due to end.
  void start_moving(JobId job, EventContext& context);
  /// The job leaves the host that is drained. Requires: its last checkpoint is written.
  void move(JobId job, EventContext& context);
  void tell_event(const EventRecord& row) const;

  void go_on_from_snapshot(EventContext& context);
  /// The watch is due: the run ends if nobody may get on.
  void look_for_progress(EventContext& context);

  std::vector<JobSpec> jobs_;
  ClusterState cluster_;
  JobLifecycleSettings settings_;
  ProgressWatch progress_watch_;
  JobStates states_;
  JobAccounts accounts_;
  AttemptMessages messages_;
  FastForwardControl fast_forward_;
  AttemptStarts starts_;
  UnfinishedJobs unfinished_;
  HeldQueues held_queues_;
  std::unique_ptr<Actions> actions_;
  HandlerCalls handlers_;
  std::unique_ptr<Service> service_;
  std::optional<Outages> outages_;  ///< if anything fails, is drained or stands by
  std::optional<Drains> drains_;    ///< with outages_
  std::optional<Standstill> standstill_;
  bool abandoned_ = false;  ///< the run is of no use any more
  /// The last time at which a job arrives, a drain begins or the scenario changes something.
  Time changes_until_;
  /// Jobs that have joined the queue since the last pass, but for those that the policy sent there.
  std::vector<JobId> arrived_;
  /// Jobs that have left the queue since the last pass, but for those that the policy started.
  std::vector<JobId> left_;
  std::map<std::string, JobId, std::less<>> job_called_;  ///< all, if scripted events name any
  bool pass_requested_ = false;
  Time next_pass_;  ///< if one is requested
  Time wake_;       ///< when the policy wants a pass; in the past if it wants none
  std::size_t changes_done_ = 0;
};

}  // namespace weft
