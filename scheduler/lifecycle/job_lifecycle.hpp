// Job lifecycle: the scheduler as an entity - jobs arrive, wait, run and finish.
//
// Where it sits: built from the jobs of a run, a policy and a placer; meets the hosts only through messages (host/ranks/job.hpp). Tools
// watch it through a JobObserver and read records and counters afterwards.
//
// Sources: job_lifecycle.cpp for jobs that arrive, start and end; _failures.cpp for what fails and is drained; _by_hand.cpp for scripted events and
// handlers; _fast_forward.cpp for fast forward; _snapshot.cpp. What the scheduler tells itself is in job_lifecycle_events.hpp.
//
// Model
//   - Arrivals are self events, one at a time: each schedules the next.
//   - All arrivals and endings of an instant are followed by one pass of the policy at that instant (event class `settle`), or with rounds
//     at the next multiple of their length if somebody waits. A job that ends at the instant it started (zero duration) leads to another pass.
//   - Job mode: a started job takes `start_overhead`, a draw from its duration model, or its iterations at the measured time of its placement, and
//     the time of its checkpoints (scheduler/lifecycle/progress_model); if it was preempted or failed, what was left of that. It then falls back to its last
//     checkpoint. It computes at the speed that the slowest of its hosts has when it starts.
//   - In the other modes this attempt of the job is published in the JobTable after `start_overhead`, `start_job` reaches every host that holds one of its
//     GPUs after `control_delay`, and the job ends when the last rank's report of the last iteration has arrived. Where it is preempted, fails
//     or moves, `stop_job` goes to these hosts at once, whose ranks then get on no more; what the scheduler does not know of by then does not count.
//   - A part that fails (scheduler/failures) stops the jobs that hold GPUs which need it, at once; after `detection` the scheduler knows, takes these
//     jobs' GPUs away and puts the jobs back into the queue, where they stand by their submission. Idle GPUs that a failure hits are not given to
//     jobs from the failure on. Switches and links that fail cut off GPUs, which counts as a failure of these (scheduler/failures/network_service), and
//     the network is told what its cables carry, a control delay later. Hosts are drained by scheduler/failures/maintenance_plan. Spares come and repaired parts go back to work by
//     scheduler/failures/fleet. A job whose end is due at the instant of a failure or a drain ends.
//   - A job that has run before may restart on fewer GPUs (scheduler/lifecycle/elastic_restart); what it has done is kept as work on all of them.
//   - What a scenario has happen by hand is carried out as scheduler/handlers/scripted_events says. Handlers of the user's (scheduler/handlers) are told of what
//     happened after each event.
//   - GPUs come free, and count as idle, at the instant the job ends.
//   - Fast forward (scheduler/fast_forward/fast_forward): while nobody's data is on its way, once all jobs of a set that run workloads and can slow each other down (host/symmetry/coupled_jobs) are known, their
//     ranks are stopped and the jobs are fast-forwarded as jobs of job mode do, at their measured periods. When one starts, ends or is stopped, each of the others resumes:
//     it goes on as a new attempt from its next iteration on. Ranks are folded by set; where one is simulated when its set gets another folding, it is fast-forwarded at what
//     is known of it up to its next iteration, or begins its first one anew.
//
// Invariants
//   1. No GPU is held by two jobs (ClusterState). 2. Every job ends, is cancelled, or require_all_finished() names it. 3. records()[i] is job i.
// Threads: belongs to its logical process; everything may be read once the engine has stopped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/engine/entity.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/ranks/job.hpp"
#include "host/symmetry/coupled_jobs.hpp"
#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/fleet.hpp"
#include "scheduler/failures/maintenance_plan.hpp"
#include "scheduler/failures/network_service.hpp"
#include "scheduler/fast_forward/fast_forward.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/handlers/scripted_events.hpp"
#include "scheduler/lifecycle/cluster_snapshot.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/cluster_usage.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "scheduler/lifecycle/job_list.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "scheduler/lifecycle/job_spec.hpp"
#include "scheduler/lifecycle/progress_model.hpp"
#include "scheduler/lifecycle/progress_watch.hpp"
#include "scheduler/lifecycle/settings_change.hpp"
#include "scheduler/lifecycle/storage.hpp"
#include "scheduler/lifecycle/workload_progress.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

/// Parameter table "scheduler".
ParamTable scheduler_params();

/// What the scheduler reaches hosts by; not needed if every job is in job mode.
struct SchedulerWiring {
  std::vector<EntityId> entity_of_host;
  std::vector<NodeId> endpoint_of_gpu;  ///< per slot: Topology::endpoints()
  EntityId network = EntityId::none();  ///< told of attempts that are stopped; none() if it need not be
  JobTable* jobs = nullptr;             ///< outlives the run
  /// Completes a placed job with what its placement decides, before hosts see it; may be empty.
  std::function<void(RunningJob&)> prepare = nullptr;
  /// Called when jobs were prepared, before any of them has started; false: the run is of no use any more, and nothing else happens in it. May be
  /// empty.
  std::function<bool()> after_launch = nullptr;
  CoupledJobs* coupled = nullptr;  ///< with fast forward, outlives the run; null: every job may slow down every other
  /// Tells the network, from the scheduler's entity, that a cable carries this share of its speed; it hears of it `delay` later. May be empty.
  std::function<void(LinkId cable, double share, Duration delay, EventContext& context)> tell_of_cable = nullptr;
};

struct JobLifecycleSettings {
  std::unique_ptr<SchedulingPolicy> policy;
  std::unique_ptr<Placer> placer;
  Duration control_delay;                ///< of messages to hosts
  Duration start_overhead = {};          ///< from the start of a job until it gets on, each time
  Duration round = {};                   ///< between passes of the policy; zero: whenever something has happened
  std::uint64_t setbacks_max = 0;        ///< without anything kept of any job, after which the run ends; 0: it goes on
  std::uint64_t fast_forward = 0;        ///< iterations to simulate before jobs are fast-forwarded; 0: all are simulated
  std::vector<Time> speed_changes = {};  ///< of hosts, each once: what was measured before holds no more
  CheckpointPlan checkpoints = {};
  FailureSettings failures = {};
  MaintenanceSettings maintenance = {};
  StorageSettings storage = {};
  const HostSpeeds* speeds = nullptr;  ///< outlives the run; null: all hosts at speed 1
  std::vector<NamedHandler> handlers = {};
  std::vector<SettingsChange> changes = {};  ///< those of the events that set something
  std::vector<ScriptedEvent> events = {};    ///< in order of time
  std::uint64_t seed = 0;                    ///< of durations and failures
  std::optional<Time> snapshot_at = {};      ///< when on_snapshot is called, unless all jobs have ended
  std::function<void(const ClusterSnapshot&)> on_snapshot = nullptr;
  /// The run goes on from there, and nobody arrives any more; null: it begins empty.
  std::shared_ptr<const ClusterSnapshot> from = nullptr;
  SchedulerWiring wiring;
  JobObserver* observer = nullptr;  ///< outlives the run; may be null
};

/// Figures over the whole run so far. Means are over simulated time from 0 to the last event.
struct JobCounters {
  std::uint64_t arrived = 0;
  std::uint64_t started = 0;  ///< jobs; those that are preempted once more each time
  std::uint64_t preempted = 0;
  std::uint64_t finished = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t passes = 0;            ///< calls of the policy
  double busy_gpu_s = 0;               ///< GPU-seconds held by jobs
  double stranded_gpu_s = 0;           ///< GPU-seconds that nobody held while jobs waited
  double out_gpu_s = 0;                ///< GPU-seconds out of service and held by no job, spares that wait among them
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
  /// Of jobs that have ended, by GPU time: what counts of the time from first start to end. 0 if none has.
  double effective_time_ratio = 0;
  double gpus_busy_mean = 0;
  std::uint32_t gpus_busy_max = 0;
  double queue_length_mean = 0;
  std::uint64_t queue_length_max = 0;  ///< after a pass: jobs that really wait
  Time first_submit;
  Time last_end;  ///< or cancellation of a job that had GPUs

  /// Last end since the first submission.
  Duration makespan() const { return std::max(last_end, first_submit) - first_submit; }
};

class JobLifecycle final : public Entity {
 public:
  /// Requires: jobs sorted by submission and free of errors (check_jobs), cluster empty; with workloads, wiring for every host.
  JobLifecycle(std::vector<JobSpec> jobs, ClusterState cluster, JobLifecycleSettings settings);

  /// Registers the scheduler, connects it both ways with its hosts at `control_delay`, and posts the first arrival. The hosts may be
  /// registered before or after, as long as they get the ids that the wiring names.
  /// `declared`: its id, if the builder has given it one.
  static EntityId add_to(EngineBuilder& builder, std::unique_ptr<JobLifecycle> lifecycle, EntityId declared = EntityId::none());

  void handle(const Event& event, EventContext& context) override;

  const std::vector<JobSpec>& jobs() const { return jobs_; }
  const std::vector<JobRecord>& records() const { return records_; }
  const ClusterState& cluster() const { return cluster_; }
  JobCounters counters() const;
  FastForwardReport fast_forward() const { return fast_forward_.report(); }
  /// After all events up to `now`.
  ClusterSnapshot snapshot(Time now) const;
  /// For the end of a run that was interrupted: records get what jobs have waited and held GPUs for by `now`, and the observer the last sample.
  void close_open_attempts(Time now);
  /// When and why the run got nowhere any more, and nothing was simulated after it.
  struct Standstill {
    Time at;
    Diagnostic why;
  };
  const std::optional<Standstill>& standstill() const { return standstill_; }
  /// Whether nothing happens before ranks that are simulated report: no job arrives or ends by itself, and nothing changes.
  bool all_wait_for_ranks(Time now) const;
  /// All have ended or were cancelled.
  bool all_finished() const { return counters_.finished + counters_.cancelled == jobs_.size(); }
  /// What a job does or waits for, as a sentence without its stop: "job "a" waits for 8 GPUs".
  std::string state_text(JobId job) const;
  /// At the end of a run: [never-repaired] with jobs that wait for GPUs out of service, if there are any and nobody runs.
  std::optional<Diagnostic> never_repaired() const;
  /// Stops with a WEFT_CHECK failure that names jobs which never ended and what they wait for. For the end of a run.
  void require_all_finished() const;
  /// Whether the ranks of an attempt hold their GPUs still. Requires: a job's attempt in `wiring.jobs`.
  bool is_under_way(AttemptId attempt) const;

 private:
  class Pass;
  class Control;
  struct Running {
    Running(Placement on, Time from, double at_speed, const JobLifecycleSettings& settings)
        : placement(std::move(on)),
          since(from),
          speed(at_speed),
          start_overhead(settings.start_overhead),
          checkpoints(settings.checkpoints),
          part_since(from) {}
    Placement placement;
    Time since;
    double speed;             ///< of what its duration is declared for
    Duration start_overhead;  ///< as it was when it started, like the next; with what fetching data took, once that is known
    CheckpointPlan checkpoints;
    Time part_since;      ///< when what follows began: `since`, or when the job last began to be fast-forwarded or resumed
    AttemptAccount past;  ///< up to then
    std::optional<ProgressModel> progress;      ///< job mode, and while the job is fast-forwarded
    std::unique_ptr<WorkloadProgress> ranks;    ///< otherwise
    AttemptId attempt = AttemptId::none();      ///< of jobs that run workloads
    std::uint32_t under_way = 0;                ///< parts of its data, or of its last checkpoint, by `attempt`
    std::uint32_t parts = 0;                    ///< times that it began to be fast-forwarded, was told to resume or resumed
    bool is_among_others = false;               ///< fast forward: it uses the network now, or would if it were not fast-forwarded
    std::optional<std::uint64_t> lands_at;      ///< the iteration from which it goes on
    Duration exposed;                           ///< communication of the epoch, in `iterations`
    bool exposed_is_old = false;                ///< of an earlier epoch, as none has been simulated in this one
    std::uint64_t iterations = 0;               ///< simulated in the epoch
    std::uint64_t simulated_up_to = 0;          ///< iterations of the job, when it began to be fast-forwarded
    std::shared_ptr<const JobFolding> folding;  ///< of its next attempt
    Time fast_forwards_since;                   ///< when it last began to
    bool is_folding_known = false;              ///< it was looked for
    std::optional<Time> failed_at;              ///< it gets on no more, which the scheduler does not know yet
    std::optional<Time> moves_since;            ///< it writes a checkpoint, to start elsewhere; its ranks are over
  };
  /// Of a job, over all its stays.
  struct Progress {
    KeptWork kept;       ///< from before the last start, as work on all of its GPUs at speed 1
    Duration iterating;  ///< of jobs that run workloads: in iterations that count, of attempts that are over
    Time queued;         ///< when it last began to wait
  };
  /// A part that failed and does not work again yet.
  struct Outage {
    Failure failure;
    std::vector<GpuSlot> gpus = {};  ///< that went out with it
  };
  /// Why a job leaves its GPUs.
  enum class Leaving : std::uint8_t { ends, is_preempted, has_failed, moves, is_cancelled };

  void take(const Event& event, EventContext& context);
  void arrive(JobId job, EventContext& context);
  void take_scripted(const ScriptedEvent& event, EventContext& context);
  /// Returns whether it has done anything: not to a job that has ended.
  bool cancel(JobId job, EventContext& context);
  void change_settings(SettingsChange& change, EventContext& context);
  void announce_drain(std::uint32_t drain);
  bool drain_now(HostId host, Duration duration, EventContext& context);
  bool set_priority(JobId job, std::int32_t priority, EventContext& context);
  /// To handlers, after the event.
  void tell(const ClusterEvent& cluster_event);
  void tell_handlers(EventContext& context);
  void tell_event(std::string_view event, std::string_view subject, std::string_view by, Time now) const;
  void go_on_from_snapshot(EventContext& context);
  void go_on_running(JobId job, EventContext& context);
  void take_report(const IterationDone& report, EventContext& context);
  void finish(JobId job, EventContext& context);
  bool is_stale(const Event& event) const;
  void request_pass(EventContext& context);
  void run_pass(EventContext& context);
  void start(JobId job, Placement placement, EventContext& context);
  void preempt(JobId job, EventContext& context);
  /// A job gets on no more, nor does a checkpoint that it leaves with, which the hosts of one that runs a workload are told if they were not yet.
  void halt(JobId job, EventContext& context);
  /// `is_over`: the job gets on no more, and so do its transfers.
  void stop_attempt(JobId job, bool is_over, EventContext& context);
  /// Hosts that run a rank of the attempt: folded ones run representatives.
  std::vector<HostId> hosts_of(const RunningJob& attempt, const Placement& placement) const;
  /// Goes on with an attempt of the job that begins at `begin`, after a message to its hosts.
  void publish(JobId job, RunningJob attempt, Time begin, EventContext& context);
  // Fast forward.
  void consider_fast_forward(JobId job, EventContext& context);
  void begin_fast_forward(JobId job, Duration period, EventContext& context);
  /// Jobs that use the network and may slow this one down or be slowed down by it, but for itself.
  std::vector<JobId> others_of(JobId job) const;
  void join_others(JobId job, EventContext& context);
  /// It uses the network no more.
  void leave_others(JobId job, EventContext& context);
  /// Something has changed for these jobs.
  void begin_epoch(std::span<const JobId> jobs, EventContext& context);
  void begin_epoch_of_all(EventContext& context);
  /// Folds those together that are coupled with one of these.
  void fold(std::span<const JobId> jobs, EventContext& context);
  /// The ranks of a job are simulated that is folded in another way by now.
  void change_folding(JobId job, EventContext& context);
  void plan_resume(JobId job, EventContext& context);
  void resume_simulation(JobId job, EventContext& context);
  /// A job that is fast-forwarded is fast-forwarded no more, having done so many iterations.
  void note_skipped(JobId job, std::uint64_t iterations, Time now);
  bool is_fast_forwarded(JobId job) const {
    return running_state_[job.index()]->progress && jobs_[job.index()].workload != nullptr;
  }
  /// What a running job has come to.
  static AttemptAccount account(const Running& running, Time until);
  /// How long the part has lasted. A part may begin a message after it is known, and its end may be known a message after it is.
  static Duration elapsed(const Running& running, Time until);
  /// A job gets on until it fails or begins to move.
  static Time got_on_until(const Running& running, Time now);
  /// Adds an attempt up to `now` to the record, but for what is lost; returns what it has come to.
  static AttemptAccount charge(JobRecord& record, const Running& running, Time now);
  /// Of the slowest host.
  double speed_on(const Placement& placement, Time since) const;
  /// `kept`: as in Progress.
  Running& begin_attempt(JobId job, Placement placement, Time since, const KeptWork& kept);
  /// How long a running job takes for what all of its GPUs do at speed 1 in that time.
  Duration time_for(JobId job, Duration work) const;
  /// What was kept before a running job's attempt, on the scale of that attempt.
  KeptWork kept_for(JobId job, const KeptWork& kept) const;
  /// And what is kept after it.
  KeptWork kept_of(JobId job, const KeptWork& kept) const;
  void leave_gpus(JobId job, Time now, Leaving why);
  void go_back_to_queue(JobId job, Time now, ClusterEvent::Kind because);
  /// Both, of a job that others than the policy stop.
  void send_back(JobId job, Leaving why, Time now);
  void wake_at(Time when, EventContext& context);
  void start_by_duration(JobId job, EventContext& context);
  [[noreturn]] static void fail_beyond_clock(const JobSpec& spec, Time start);
  /// Of a start: scheduler.start_overhead, and what data takes where no network is simulated.
  Duration overhead_of_start(JobId job) const;
  /// Returns false if the ranks have all that they need.
  bool fetch_data(JobId job, EventContext& context);
  void take_arrival(AttemptId attempt, EventContext& context);
  /// Fast forward: what is on its way to jobs or from them slows others down, which is simulated.
  void note_data_under_way(std::int32_t more, EventContext& context);
  std::vector<RankData> data_to_fetch(JobId job) const;
  std::set<HostId> stores_of(std::span<const RankData> data) const;
  void schedule_next_failure(EventContext& context);
  void fail_parts(EventContext& context);
  /// Its end is due at this instant, and what happens at the same one is too late for it.
  bool has_done_all(JobId job, Time now) const;
  void fail_part(const Failure& failure, EventContext& context);
  /// None with a part of the network.
  HostId host_with(const Part& part) const;
  void detect_failure(std::uint32_t outage, EventContext& context);
  void end_outage(std::uint32_t outage, EventContext& context);
  /// By host, as the fleet takes them.
  std::map<HostId, std::vector<GpuSlot>> by_host(std::span<const GpuSlot> gpus) const;
  /// Tells the network, and those whose iterations it may slow down or speed up.
  void change_cables(std::span<const CableShare> cables, EventContext& context);
  std::vector<GpuSlot> gpus_of(const Drain& drain) const;
  void bring_back(std::span<const GpuSlot> gpus, EventContext& context);
  void call_spares(EventContext& context);
  void begin_drain(std::uint32_t drain, EventContext& context);
  void start_moving(JobId job, EventContext& context);
  /// An attempt in which its ranks send that they have done so many iterations to where checkpoints lie, if they lie anywhere.
  void send_last_checkpoint(JobId job, std::uint64_t iterations, EventContext& context);
  /// Requires: its checkpoint is written.
  void move(JobId job, EventContext& context);
  void begin_work_on_idle_hosts(EventContext& context);
  JobView view(JobId job, Time now) const;
  Duration duration_of(JobId job) const;
  /// The watch is due: may anybody get on still?
  void look_for_progress(EventContext& context);
  bool may_get_on(JobId job, Time now) const;
  Diagnostic no_progress(Time now) const;
  /// What jobs that have not ended do or wait for; some of them.
  std::string unfinished_text() const;
  void request_launch(EventContext& context);
  /// Starts the ranks of those that wait for it.
  void launch(EventContext& context);
  /// What hosts are told of an attempt of the job from an iteration on, complete but for the folding and its number.
  RunningJob attempt_of(JobId job, std::uint64_t first_iteration) const;
  /// How the cluster has stood since usage_.up_to().
  ClusterSample sample() const;

  std::vector<JobSpec> jobs_;
  ClusterState cluster_;
  JobLifecycleSettings settings_;
  std::vector<JobRecord> records_;
  std::vector<std::unique_ptr<Running>> running_state_;  ///< per job; null unless it runs
  std::vector<Progress> progress_;                       ///< per job
  std::optional<Fleet> fleet_;                           ///< if something fails
  std::optional<FailurePlan> failures_;                  ///< likewise
  std::optional<NetworkService> network_;                ///< if something of the network fails
  Time next_failure_;                                    ///< for which an event is on its way
  std::vector<Outage> outages_;                          ///< all there were
  std::vector<std::uint32_t> waiting_drains_;            ///< that have begun, on hosts where jobs still are
  FastForward fast_forward_;
  ClusterUsage usage_;
  ProgressWatch progress_watch_;
  std::optional<Standstill> standstill_;
  bool abandoned_ = false;  ///< the run is of no use any more
  Time changes_until_;      ///< jobs arrive, drains begin, or a scenario changes something
  JobList queue_;
  JobList running_;
  std::vector<JobId> arrived_;                            ///< since the last pass
  std::vector<JobId> left_;                               ///< likewise: the queue, and not by the policy
  std::map<std::string, JobId, std::less<>> job_called_;  ///< all, if scripted events name any
  std::vector<JobId> launching_;                          ///< their ranks start at this instant
  std::uint32_t data_under_way_ = 0;                      ///< jobs whose data or last checkpoint is on its way over the network
  bool pass_requested_ = false;
  Time next_pass_;  ///< if it is
  std::size_t changes_done_ = 0;
  std::vector<ClusterEvent> events_;           ///< that handlers are to be told of
  std::vector<Time> handler_wake_;             ///< by handler, when it wants to be called; in the past if it does not
  std::vector<std::uint32_t> drains_of_host_;  ///< announced and not over
  Time wake_;                                  ///< when the policy wants a pass; in the past if it does not
  JobCounters counters_;                       ///< but for what counters() adds: from usage_ and the records
  std::uint64_t waiting_gpus_ = 0;
};

}  // namespace weft
