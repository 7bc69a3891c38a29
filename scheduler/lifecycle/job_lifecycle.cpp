// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_lifecycle.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "scheduler/lifecycle/job_view.hpp"
#include "scheduler/lifecycle/scheduler_events.hpp"
#include "scheduler/lifecycle/snapshot_capture.hpp"

namespace weft {

/// What the policy sees and does during one pass.
class JobLifecycle::Pass final : public SchedulingPass {
 public:
  Pass(JobLifecycle& lifecycle, EventContext& context) : lifecycle_(lifecycle), context_(context) {}

  Time now() const override { return context_.now(); }
  const ClusterState& cluster() const override { return lifecycle_.cluster_; }
  const JobList& queue() const override { return lifecycle_.states_.queue(); }
  std::span<const JobId> arrived() const override { return lifecycle_.arrived_; }
  std::span<const JobId> left() const override { return lifecycle_.left_; }
  const JobList& running() const override { return lifecycle_.states_.running(); }
  JobView job(JobId job) const override { return lifecycle_.view(job, context_.now()); }
  std::int32_t priority(JobId job) const override { return lifecycle_.jobs_[job.index()].priority; }
  const Placement& placement(JobId job) const override { return lifecycle_.states_.running(job).placement(); }
  std::optional<Placement> place(const ClusterState& cluster, JobId job) const override {
    return lifecycle_.settings_.placer->place(cluster, lifecycle_.jobs_[job.index()].gpus);
  }
  std::optional<Placement> place_smaller(const ClusterState& cluster, JobId job) const override {
    if (!lifecycle_.accounts_.record(job).start) return std::nullopt;
    return weft::place_smaller(lifecycle_.jobs_[job.index()], cluster, *lifecycle_.settings_.placer);
  }
  void start(JobId job, Placement placement) override { lifecycle_.start(job, std::move(placement), context_); }
  void preempt(JobId job) override { lifecycle_.preempt(job, context_); }
  void wake_at(Time when) override { lifecycle_.wake_at(when, context_); }

 private:
  JobLifecycle& lifecycle_;
  EventContext& context_;
};

/// What failures and drains mean for jobs.
class JobLifecycle::Service final : public ServiceListener {
 public:
  explicit Service(JobLifecycle& lifecycle) : lifecycle_(lifecycle) {}

  void gpu_failed(GpuSlot gpu, EventContext& context) override {
    const JobId holder = lifecycle_.cluster_.holder(gpu);
    if (holder.is_none()) return;
    JobAttempt& attempt = lifecycle_.states_.running(holder);
    if (attempt.is<JobAttempt::Failed>() || attempt.has_done_all(context.now())) return;
    lifecycle_.halt(holder, context);
    attempt.fail(context.now());
    lifecycle_.accounts_.fail(holder);
  }
  void failure_known(GpuSlot gpu, Time failed_at, EventContext& context) override {
    const JobId holder = lifecycle_.cluster_.holder(gpu);
    if (holder.is_none()) return;
    const JobAttempt& attempt = lifecycle_.states_.running(holder);
    // A job that got the GPU since the failure, and has failed, has done so for another.
    if (!attempt.is<JobAttempt::Failed>() || attempt.as<JobAttempt::Failed>().at > failed_at) return;
    lifecycle_.send_back(holder, AttemptEnd::failed, context.now());
  }
  void gpu_is_wanted(GpuSlot gpu, EventContext& context) override {
    const JobId holder = lifecycle_.cluster_.holder(gpu);
    if (!holder.is_none()) lifecycle_.start_moving(holder, context);
  }
  void cables_changed(std::span<const CableShare> cables, EventContext& context) override {
    const JobLifecycleSettings& settings = lifecycle_.settings_;
    if (!settings.wiring.tell_of_cable) return;
    for (const CableShare& change : cables)
      settings.wiring.tell_of_cable(change.cable, change.share, settings.control_delay, context);
    if (!lifecycle_.fast_forward_.is_on()) return;
    // What ended before the change is reported by then. What is under way counts for neither epoch.
    const Duration reported = settings.control_delay * 2;
    context.schedule(reported, EventClass::timer, speeds_change);
    // Routes may change once more. In packet mode nodes hear of them as late as of cables.
    if (settings.failures.reroute > Duration::zero())
      context.schedule(reported + settings.control_delay + settings.failures.reroute, EventClass::timer, speeds_change);
  }
  void service_changed(EventContext& context) override { lifecycle_.request_pass(context); }
  void happened(const ClusterEvent& cluster_event) override { lifecycle_.handlers_.note(cluster_event); }

 private:
  JobLifecycle& lifecycle_;
};

/// What handlers see and do.
class JobLifecycle::Actions final : public ClusterActions {
 public:
  explicit Actions(JobLifecycle& lifecycle) : lifecycle_(lifecycle) {}

  bool is_over() const override { return lifecycle_.all_finished(); }
  const ClusterState& cluster() const override { return lifecycle_.cluster_; }
  const JobList& queue() const override { return lifecycle_.states_.queue(); }
  const JobList& running() const override { return lifecycle_.states_.running(); }
  JobView job(JobId job, Time now) const override { return lifecycle_.view(job, now); }
  const JobRecord& record(JobId job) const override { return lifecycle_.accounts_.record(job); }
  const std::string& name_of(JobId job) const override { return lifecycle_.jobs_[job.index()].name; }
  bool drain(HostId host, Duration duration, EventContext& context) override {
    return lifecycle_.drains_->begin_now(host, duration, context);
  }
  bool cancel(JobId job, EventContext& context) override { return lifecycle_.cancel(job, context); }
  bool set_priority(JobId job, std::int32_t priority, EventContext& context) override {
    return lifecycle_.set_priority(job, priority, context);
  }
  void note(const EventRecord& row) override { lifecycle_.tell_event(row); }

 private:
  JobLifecycle& lifecycle_;
};

JobLifecycle::JobLifecycle(std::vector<JobSpec> jobs, ClusterState cluster, JobLifecycleSettings settings)
    : jobs_(std::move(jobs)),
      cluster_(std::move(cluster)),
      settings_(std::move(settings)),
      progress_watch_(settings_.setbacks_max, jobs_.size(), cluster_.host_count()),
      states_(jobs_.size()),
      accounts_(jobs_, cluster_, states_, settings_.observer, settings_.from == nullptr ? Time::zero() : settings_.from->at),
      messages_(jobs_, cluster_, settings_.wiring, settings_.storage, settings_.control_delay),
      fast_forward_(settings_.fast_forward, jobs_, states_, accounts_, messages_, settings_.wiring.coupled, settings_.observer),
      starts_(jobs_, cluster_, states_, accounts_, messages_, fast_forward_, settings_.wiring, settings_.storage, settings_.speeds,
              settings_.seed),
      unfinished_(jobs_, states_, accounts_, settings_.wiring.jobs),
      held_queues_(jobs_),
      actions_(std::make_unique<Actions>(*this)),
      handlers_(std::move(settings_.handlers), *actions_),
      service_(std::make_unique<Service>(*this)) {
  WEFT_CHECK(settings_.policy != nullptr && settings_.placer != nullptr, "a scheduler has a policy and a placer");
  WEFT_CHECK(cluster_.free_gpus() == cluster_.gpu_count(), "a run starts on an empty cluster");
  if (settings_.failures.has_failures() || settings_.failures.spares() > 0 || !settings_.maintenance.drains.empty() ||
      settings_.from != nullptr || !handlers_.empty() || !settings_.storage.hosts.empty()) {
    outages_.emplace(cluster_, settings_.failures, settings_.storage.hosts, settings_.seed, progress_watch_, *service_);
    drains_.emplace(cluster_, settings_.maintenance, *outages_, progress_watch_, *service_);
  }
  WEFT_CHECK(std::is_sorted(jobs_.begin(), jobs_.end(), [](const JobSpec& a, const JobSpec& b) { return a.submit < b.submit; }),
             "the scheduler gets its jobs sorted by submission");
  for (const JobSpec& spec : jobs_) {
    WEFT_CHECK(spec.submit >= Time::zero() && spec.gpus > 0 && spec.gpus <= cluster_.gpu_count(),
               "the scheduler gets jobs that were checked");
    if (spec.workload == nullptr) continue;
    const SchedulerWiring& wiring = settings_.wiring;
    WEFT_CHECK(wiring.jobs != nullptr, "jobs that run workloads are published in a job table");
    WEFT_CHECK(wiring.entity_of_host.size() == cluster_.host_count() && wiring.endpoint_of_gpu.size() == cluster_.gpu_count(),
               "jobs that run workloads have hosts to run on");
    WEFT_CHECK(spec.workload->rank_count == spec.gpus && least_gpus(spec) <= spec.gpus && spec.iterations > 0 &&
                   spec.iterations <= UINT32_MAX,
               "the scheduler gets jobs that were checked");
  }
  const auto cancels = [](const ScriptedEvent& event) { return event.kind == ScriptedEvent::Kind::cancel; };
  if (std::any_of(settings_.events.begin(), settings_.events.end(), cancels)) {
    for (std::uint32_t job = 0; job < jobs_.size(); ++job) job_called_.try_emplace(jobs_[job].name, JobId(job));
  }
  for (const ScriptedEvent& event : settings_.events)
    WEFT_CHECK(!cancels(event) || job_called_.contains(event.subject), "scripted events name jobs of the run");
  if (!jobs_.empty()) changes_until_ = jobs_.back().submit;
  for (const ScriptedEvent& event : settings_.events) changes_until_ = std::max(changes_until_, event.at);
  for (const Drain& drain : settings_.maintenance.drains) changes_until_ = std::max(changes_until_, drain.at);
  WEFT_CHECK(settings_.from == nullptr || settings_.from->jobs.size() == jobs_.size(), "a snapshot has the jobs of its run");
}

JobLifecycle::~JobLifecycle() = default;

EntityId JobLifecycle::add_to(EngineBuilder& builder, std::unique_ptr<JobLifecycle> lifecycle, EntityId declared) {
  const std::vector<EntityId> hosts = lifecycle->settings_.wiring.entity_of_host;
  const EntityId network = lifecycle->settings_.wiring.network;
  const Duration control_delay = lifecycle->settings_.control_delay;
  const std::optional<Time> snapshot_at = lifecycle->settings_.snapshot_at;
  const std::shared_ptr<const ClusterSnapshot> from = lifecycle->settings_.from;
  const std::optional<Time> first =
      lifecycle->jobs_.empty() || from != nullptr ? std::nullopt : std::optional<Time>(lifecycle->jobs_.front().submit);
  const Time first_failure = lifecycle->outages_ ? lifecycle->outages_->next() : Time::max();
  const MaintenanceSettings maintenance = lifecycle->settings_.maintenance;
  const std::vector<Time> speed_changes =
      lifecycle->fast_forward_.is_on() ? lifecycle->settings_.speed_changes : std::vector<Time>();
  std::vector<Time> scripted;
  for (const ScriptedEvent& event : lifecycle->settings_.events) scripted.push_back(event.at);
  const EntityId id = declared.is_none() ? builder.declare("scheduler") : declared;
  builder.define(id, std::move(lifecycle));
  // Before all else, so that they come first of their instant.
  for (std::uint32_t i = 0; i < scripted.size(); ++i) {
    if (from == nullptr || scripted[i] > from->at)
      builder.post_initial(id, scripted[i], EventClass::timer, scripted_event, ScriptTimer{i});
  }
  for (const Time change : speed_changes) {
    if (from == nullptr || change > from->at) builder.post_initial(id, change, EventClass::timer, speeds_change);
  }
  for (const EntityId host : hosts) builder.connect_both(id, host, control_delay);
  if (network != EntityId::none()) builder.connect(id, network, control_delay);
  if (from != nullptr) builder.post_initial(id, from->at, EventClass::timer, restore_snapshot);
  if (snapshot_at) builder.post_initial(id, *snapshot_at, EventClass::timer, take_snapshot);
  if (first) builder.post_initial(id, *first, EventClass::timer, job_arrives, JobTimer{JobId(0)});
  if (first_failure != Time::max()) builder.post_initial(id, first_failure, EventClass::timer, parts_fail);
  for (std::uint32_t i = 0; i < maintenance.drains.size(); ++i) {
    const Duration at = maintenance.drains[i].at.since_start();
    const Time notice = Time::zero() + std::max(Duration::zero(), at - maintenance.drains[i].notice.value_or(maintenance.notice));
    builder.post_initial(id, notice, EventClass::timer, drain_notice, DrainTimer{i});
    builder.post_initial(id, maintenance.drains[i].at, EventClass::timer, drain_begins, DrainTimer{i});
  }
  return id;
}

// --- Events --------------------------------------------------------------------------------------

/// Whether nothing is to be done about the event any more. A timer or a report may be about a job
/// that has been stopped since, or a policy may have had another pass since it asked for one.
/// Failures and arrivals do not matter after the last job.
bool JobLifecycle::is_stale(const Event& event) const {
  if (standstill_ || abandoned_) return true;
  const bool ends_with_jobs = event.kind == job_arrives || event.kind == scripted_event || event.kind == handler_wakes ||
                              event.kind == speeds_change || event.kind == take_snapshot || is_of_service(event.kind);
  if (ends_with_jobs && all_finished()) return true;
  switch (event.kind) {
    case parts_fail:
      return !outages_->is_next(event.key.time);
    case policy_wakes:
      return event.key.time != wake_;
    case handler_wakes:
      return !handlers_.wants_wake(event.payload_as<HandlerTimer>().handler, event.key.time);
    case scheduling_pass:
      return !pass_requested_ || event.key.time != next_pass_;
    case data_arrived: {
      const AttemptId number = event.payload_as<DataArrived>().attempt;
      const JobAttempt* const attempt = states_.attempt(settings_.wiring.jobs->at(number).job);
      return attempt == nullptr || !attempt->hears_data_of(number);
    }
    case iteration_done: {
      const AttemptId number = event.payload_as<IterationDone>().attempt;
      const JobAttempt* const attempt = states_.attempt(settings_.wiring.jobs->at(number).job);
      return attempt == nullptr || !attempt->hears_ranks_of(number);
    }
    case job_ends:
    case job_moves:
    case job_resumes:
    case ranks_begin: {
      const auto timer = event.payload_as<JobTimer>();
      const JobAttempt* const attempt = states_.attempt(timer.job);
      return attempt == nullptr || !attempt->awaits(event.kind, timer.generation);
    }
    default:
      return false;
  }
}

void JobLifecycle::handle(const Event& event, EventContext& context) {
  if (is_stale(event)) return;
  accounts_.advance(context.now());
  take(event, context);
  if (drains_) drains_->begin_work_on_idle_hosts(context);
  if (handlers_.has_news()) {
    handlers_.tell(context);
    drains_->begin_work_on_idle_hosts(context);
  }
  // The pass that is to come may start somebody.
  if (!pass_requested_ && progress_watch_.is_due(context.now())) look_for_progress(context);
}

void JobLifecycle::take(const Event& event, EventContext& context) {
  switch (event.kind) {
    case job_arrives:
      return arrive(event.payload_as<JobTimer>().job, context);
    case scripted_event:
      return take_scripted(settings_.events[event.payload_as<ScriptTimer>().event], context);
    case handler_wakes:
      return handlers_.note_wake(event.payload_as<HandlerTimer>().handler);
    case job_ends:
      return finish(event.payload_as<JobTimer>().job, context);
    case job_resumes:
      return fast_forward_.resume(event.payload_as<JobTimer>().job, context);
    case ranks_begin:
      return starts_.begin_ranks(event.payload_as<JobTimer>().job, context);
    case data_arrived:
      return take_arrival(event.payload_as<DataArrived>().attempt, context);
    case launch_ranks:
      return launch(context);
    case take_snapshot:
      return settings_.on_snapshot(snapshot(context.now()));
    case restore_snapshot:
      return go_on_from_snapshot(context);
    case speeds_change:
      return fast_forward_.begin_epoch_of_all(context);
    case iteration_done:
      return take_report(event.payload_as<IterationDone>(), context);
    case scheduling_pass:
      return run_pass(context);
    case policy_wakes:
      return request_pass(context);
    case parts_fail:
      return outages_->fail_due(context);
    case failure_detected:
      return outages_->detect(event.payload_as<OutageTimer>().outage, context);
    case part_works:
      return outages_->end(event.payload_as<OutageTimer>().outage, context);
    case spare_joins:
      return outages_->join(event.payload_as<SpareTimer>().host, context);
    case drain_notice:
      return drains_->announce(event.payload_as<DrainTimer>().drain);
    case drain_begins:
      return drains_->begin(event.payload_as<DrainTimer>().drain, context);
    case drain_ends:
      return drains_->end(event.payload_as<DrainTimer>().drain, context);
    case job_moves: {
      const JobId job = event.payload_as<JobTimer>().job;
      if (states_.running(job).parts_left() == 0) move(job, context);
      return;
    }
    default:
      WEFT_CHECK(false, "the scheduler knows the kind of its events");
  }
}

void JobLifecycle::arrive(JobId job, EventContext& context) {
  if (!states_.is<JobStates::Cancelled>(job)) join_queue(job, context);
  JobId next(job.index() + 1);
  while (next.index() < jobs_.size() && jobs_[next.index()].is_held) next = JobId(next.index() + 1);
  if (next.index() < jobs_.size())
    context.schedule(jobs_[next.index()].submit - context.now(), EventClass::timer, job_arrives, JobTimer{next});
}

void JobLifecycle::join_queue(JobId job, EventContext& context) {
  states_.arrive(job);
  arrived_.push_back(job);
  accounts_.arrive(job, context.now());
  handlers_.note({ClusterEvent::Kind::job_arrived, job});
  request_pass(context);
}

void JobLifecycle::leave_held_queue(JobId job, Time now) {
  const bool was_before = held_queues_.phase() == HeldQueues::Phase::before;
  held_queues_.leave(job);
  if (was_before && held_queues_.phase() == HeldQueues::Phase::steady) accounts_.begin_steady(now);
}

void JobLifecycle::submit_due(EventContext& context) {
  const bool was_steady = held_queues_.phase() == HeldQueues::Phase::steady;
  while (const std::optional<JobId> job = held_queues_.take_due()) {
    if (states_.is<JobStates::Cancelled>(*job)) {
      held_queues_.pass_over(*job);
      continue;
    }
    jobs_[job->index()].submit = context.now();
    accounts_.submit(*job, context.now());
    join_queue(*job, context);
  }
  if (was_steady && held_queues_.phase() == HeldQueues::Phase::after) accounts_.end_steady(context.now());
}

void JobLifecycle::take_report(const IterationDone& report, EventContext& context) {
  WEFT_CHECK(report.end <= context.now(), "a report arrives after what it reports");
  const JobId job = settings_.wiring.jobs->at(report.attempt).job;
  JobAttempt& attempt = states_.running(job);
  const std::optional<IterationRecord> completed = attempt.take_report(report);
  if (!completed) return;
  const WorkloadProgress& ranks = *attempt.ranks();
  accounts_.complete_iteration(job, ranks.tally().completed(), completed->exposed_communication);
  if (settings_.observer != nullptr) settings_.observer->iteration_finished(jobs_[job.index()], *completed);
  fast_forward_.complete_iteration(job, ranks.last_period(), completed->exposed_communication);
  if (ranks.done()) {
    finish(job, context);
  } else {
    fast_forward_.consider(job, context);
  }
}

void JobLifecycle::take_arrival(AttemptId number, EventContext& context) {
  const JobId job = settings_.wiring.jobs->at(number).job;
  JobAttempt& attempt = states_.running(job);
  if (!attempt.take_arrival(context.now())) return;
  fast_forward_.note_data(-1, context);
  if (!attempt.is<JobAttempt::Moving>()) return starts_.launch_this_instant(job, context);
  if (context.now() - attempt.as<JobAttempt::Moving>().since >= attempt.checkpoints().write) move(job, context);
}

void JobLifecycle::take_scripted(const ScriptedEvent& event, EventContext& context) {
  if (event.kind == ScriptedEvent::Kind::set) change_settings(settings_.changes[changes_done_++], context);
  if (event.kind == ScriptedEvent::Kind::call) handlers_.note_call(event.subject);
  if (event.kind == ScriptedEvent::Kind::cancel && !cancel(job_called_.at(event.subject), context)) return;
  tell_event({context.now(), to_text(event.kind), event.subject, "scenario"});
}

void JobLifecycle::change_settings(SettingsChange& change, EventContext& context) {
  if (change.policy != nullptr) {
    settings_.policy = std::move(change.policy);
    arrived_.assign(states_.queue().begin(), states_.queue().end());
    left_.clear();
    wake_ = Time::zero();
    request_pass(context);
  }
  if (change.placer != nullptr) {
    settings_.placer = std::move(change.placer);
    request_pass(context);
  }
  if (change.round) {
    settings_.round = *change.round;
    // The pass on its way is one of the old rounds.
    pass_requested_ = false;
    request_pass(context);
  }
  settings_.start_overhead = change.start_overhead.value_or(settings_.start_overhead);
  settings_.checkpoints = change.checkpoints.value_or(settings_.checkpoints);
  settings_.failures.detection = change.detection.value_or(settings_.failures.detection);
  settings_.failures.cold_start = change.cold_start.value_or(settings_.failures.cold_start);
  settings_.maintenance.moves_jobs = change.moves_jobs.value_or(settings_.maintenance.moves_jobs);
}

// --- Passes of the policy ------------------------------------------------------------------------

void JobLifecycle::request_pass(EventContext& context) {
  const bool has_rounds = settings_.round > Duration::zero();
  // Nobody needs a round for which nobody waits, and it would be later than all else.
  if (pass_requested_ || (has_rounds && states_.queue().empty())) return;
  pass_requested_ = true;
  Duration until = Duration::zero();
  if (has_rounds) {
    const std::int64_t round = settings_.round.in_ticks();
    until = Duration::ticks((round - context.now().in_ticks() % round) % round);
  }
  next_pass_ = context.now() + until;
  context.schedule(until, EventClass::settle, scheduling_pass);
}

void JobLifecycle::wake_at(Time when, EventContext& context) {
  WEFT_CHECK(when > context.now(), "a policy is called again later");
  if (wake_ > context.now() && wake_ <= when) return;
  wake_ = when;
  progress_watch_.expects(when);
  context.schedule(when - context.now(), EventClass::timer, policy_wakes);
}

void JobLifecycle::run_pass(EventContext& context) {
  pass_requested_ = false;
  wake_ = Time::zero();
  Pass pass(*this, context);
  settings_.policy->schedule(pass);
  arrived_.clear();
  left_.clear();
  accounts_.count_pass();
  submit_due(context);
  launch(context);
}

void JobLifecycle::launch(EventContext& context) {
  if (!starts_.launch(context)) abandoned_ = true;
}

void JobLifecycle::start(JobId job, Placement placement, EventContext& context) {
  WEFT_CHECK(states_.is<JobStates::Waiting>(job), "a policy starts jobs that wait");
  const JobSpec& spec = jobs_[job.index()];
  const auto gpus = static_cast<std::uint32_t>(placement.gpus.size());
  WEFT_CHECK(gpus == spec.gpus || (accounts_.record(job).start && may_restart_on(spec, gpus)),
             "a placement is all or nothing, but for elastic jobs that have run before");
  for (const GpuSlot gpu : placement.gpus) WEFT_CHECK(cluster_.is_in_service(gpu), "jobs start on GPUs in service");
  cluster_.take(job, placement);
  if (spec.queue > 0 && !accounts_.record(job).start) leave_held_queue(job, context.now());
  accounts_.start(job, placement, context.now());
  starts_.start(job, std::move(placement), next_start(), context);
  if (settings_.observer != nullptr) settings_.observer->job_started(spec, accounts_.record(job));
  handlers_.note({ClusterEvent::Kind::job_started, job});
}

void JobLifecycle::preempt(JobId job, EventContext& context) {
  WEFT_CHECK(states_.attempt(job) != nullptr, "a policy preempts jobs that run");
  halt(job, context);
  accounts_.preempt(job);
  leave_gpus(job, context.now(), AttemptEnd::preempted);
  go_back_to_queue(job, context.now(), ClusterEvent::Kind::job_preempted);
}

JobView JobLifecycle::view(JobId job, Time now) const {
  return view_of(job, jobs_[job.index()], states_, accounts_, next_start(), now);
}

// --- Ends and stops ------------------------------------------------------------------------------

void JobLifecycle::finish(JobId job, EventContext& context) {
  const JobSpec& spec = jobs_[job.index()];
  accounts_.note_end(job, context.now());
  if (states_.running(job).is<JobAttempt::FastForwarded>()) fast_forward_.skip(job, spec.iterations, context.now());
  fast_forward_.leave(job, context);
  leave_gpus(job, context.now(), AttemptEnd::ended);
  states_.end(job);
  const bool is_measured = fast_forward_.is_on() && spec.workload != nullptr;
  accounts_.end(job, is_measured);
  if (is_measured) fast_forward_.end(job);
  if (settings_.observer != nullptr) settings_.observer->job_finished(spec, accounts_.record(job));
  handlers_.note({ClusterEvent::Kind::job_ended, job});
  if (all_finished()) accounts_.tell_last_sample();
  request_pass(context);
}

void JobLifecycle::halt(JobId job, EventContext& context) {
  JobAttempt& attempt = states_.running(job);
  if (jobs_[job.index()].workload == nullptr || attempt.is<JobAttempt::Failed>()) return;
  const bool is_forwarded = attempt.is<JobAttempt::FastForwarded>();
  const bool has_data_under_way = attempt.parts_left() > 0;
  if (is_forwarded) fast_forward_.skip(job, attempt.account(context.now()).whole.iterations, context.now());
  // Of one that is fast-forwarded, something may still be on its way.
  if (is_forwarded || attempt.is<JobAttempt::Simulated>() || has_data_under_way) messages_.stop(attempt, true, context);
  attempt.drop_data();
  if (has_data_under_way) fast_forward_.note_data(-1, context);
  fast_forward_.leave(job, context);
  starts_.drop(job);
}

void JobLifecycle::leave_gpus(JobId job, Time now, AttemptEnd why) {
  const JobAttempt& attempt = states_.running(job);
  if (accounts_.leave(attempt, now, why)) {
    progress_watch_.gets_on(job, now);
  } else {
    progress_watch_.is_stopped(job, now - attempt.since());
  }
  tell_attempt(attempt, now, why);
  cluster_.release(job, attempt.placement());
}

void JobLifecycle::tell_attempt(const JobAttempt& attempt, Time now, AttemptEnd why) const {
  if (settings_.observer == nullptr) return;
  const auto gpus = static_cast<std::uint32_t>(attempt.placement().gpus.size());
  settings_.observer->attempt_ended(jobs_[attempt.job().index()], accounts_.record(attempt.job()),
                                    {attempt.since(), now, gpus, why});
}

void JobLifecycle::go_back_to_queue(JobId job, Time now, ClusterEvent::Kind because) {
  states_.stop(job);
  accounts_.wait_again(job, now);
  if (settings_.observer != nullptr) settings_.observer->job_stopped(jobs_[job.index()], accounts_.record(job));
  handlers_.note({because, job});
}

void JobLifecycle::send_back(JobId job, AttemptEnd why, Time now) {
  leave_gpus(job, now, why);
  go_back_to_queue(job, now, why == AttemptEnd::moved ? ClusterEvent::Kind::job_moved : ClusterEvent::Kind::job_failed);
  arrived_.push_back(job);
}

void JobLifecycle::start_moving(JobId job, EventContext& context) {
  JobAttempt& attempt = states_.running(job);
  if (!attempt.gets_on() || attempt.has_done_all(context.now())) return;
  const JobSpec& spec = jobs_[job.index()];
  const AttemptAccount so_far = attempt.account(context.now());
  const bool has_more = so_far.whole.iterations > so_far.kept.iterations || so_far.whole.work > so_far.kept.work;
  Duration write = attempt.checkpoints().write;
  if (has_more && spec.workload == nullptr) write = std::max(write, storing_time(spec, settings_.storage));
  // A checkpoint that would end after the clock does moves nobody.
  if (write >= Time::max() - context.now()) return;
  halt(job, context);
  const JobTimer timer = attempt.move(context.now());
  if (has_more && spec.workload != nullptr && messages_.send_last_checkpoint(attempt, so_far.whole.iterations, context))
    fast_forward_.note_data(1, context);
  context.schedule(write, EventClass::timer, job_moves, timer);
}

void JobLifecycle::move(JobId job, EventContext& context) {
  accounts_.move(job);
  send_back(job, AttemptEnd::moved, context.now());
  request_pass(context);
}

bool JobLifecycle::cancel(JobId job, EventContext& context) {
  if (states_.is_over(job)) return false;
  if (const JobAttempt* const attempt = states_.attempt(job); attempt != nullptr) {
    if (attempt->has_done_all(context.now())) return false;
    halt(job, context);
    leave_gpus(job, context.now(), AttemptEnd::cancelled);
  } else if (states_.is<JobStates::Waiting>(job)) {
    accounts_.leave_queue(job, context.now());
    if (jobs_[job.index()].queue > 0 && !accounts_.record(job).start) leave_held_queue(job, context.now());
    // The policy knows those that it was shown.
    if (std::erase(arrived_, job) == 0) left_.push_back(job);
  }
  states_.cancel(job);
  accounts_.cancel(job, context.now());
  submit_due(context);
  if (settings_.observer != nullptr) settings_.observer->job_cancelled(jobs_[job.index()], accounts_.record(job));
  handlers_.note({ClusterEvent::Kind::job_cancelled, job});
  if (all_finished()) accounts_.tell_last_sample();
  request_pass(context);
  return true;
}

bool JobLifecycle::set_priority(JobId job, std::int32_t priority, EventContext& context) {
  if (states_.is_over(job) || jobs_[job.index()].priority == priority) return false;
  jobs_[job.index()].priority = priority;
  // A policy that knows the job ranks it anew.
  if (states_.is<JobStates::Waiting>(job) && std::find(arrived_.begin(), arrived_.end(), job) == arrived_.end()) {
    left_.push_back(job);
    arrived_.push_back(job);
  }
  request_pass(context);
  return true;
}

void JobLifecycle::tell_event(const EventRecord& row) const {
  if (settings_.observer != nullptr) settings_.observer->event_happened(row);
}

void JobLifecycle::look_for_progress(EventContext& context) {
  // A log of failures has a last row.
  const bool ends_by_itself = progress_watch_.failures() > 0 && !settings_.failures.has_random_failures();
  if (all_finished() || ends_by_itself || context.now() < changes_until_ ||
      unfinished_.any_may_get_on(progress_watch_, context.now())) {
    progress_watch_.begin_anew(context.now());
    return;
  }
  standstill_ = {context.now(), unfinished_.no_progress(progress_watch_, context.now())};
  for (const JobId job : states_.running()) halt(job, context);
}

// --- Snapshots and results -----------------------------------------------------------------------

ClusterSnapshot JobLifecycle::snapshot(Time now) const {
  ClusterSnapshot result = capture_snapshot(now, jobs_, states_, accounts_, cluster_, fast_forward_, settings_.control_delay);
  if (outages_) result.slow_cables = outages_->slow_cables();
  return result;
}

void JobLifecycle::go_on_from_snapshot(EventContext& context) {
  const ClusterSnapshot& from = *settings_.from;
  for (const ScriptedEvent& event : settings_.events) {
    if (event.at <= from.at && event.kind == ScriptedEvent::Kind::set) change_settings(settings_.changes[changes_done_++], context);
  }
  for (const auto& [host, gpus] : outages_->by_host(from.out_of_service)) outages_->take_out(gpus);
  std::vector<JobId> running;
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    const JobId id(i);
    const ClusterSnapshot::Job& job = from.jobs[i];
    if (job.state == ClusterSnapshot::State::not_arrived) continue;
    jobs_[i].priority = job.priority;
    jobs_[i].submit = job.record.submit;
    accounts_.restore(id, job);
    if (job.state == ClusterSnapshot::State::ended) {
      states_.restore_over(id, job.record.cancelled.has_value());
      continue;
    }
    states_.arrive(id);
    (job.state == ClusterSnapshot::State::waits ? arrived_ : running).push_back(id);
  }
  std::stable_sort(running.begin(), running.end(),
                   [&](JobId a, JobId b) { return from.jobs[a.index()].since < from.jobs[b.index()].since; });
  for (const JobId id : running) {
    cluster_.take(id, from.jobs[id.index()].placement);
    starts_.restore(id, from.jobs[id.index()], from.at, next_start(), context);
  }
  for (const JobId id : running) {
    if (from.jobs[id.index()].is_pace_old && states_.running(id).is<JobAttempt::FastForwarded>()) fast_forward_.doubt(id, context);
  }
  fast_forward_.restored(context);
  launch(context);
  request_pass(context);
}

void JobLifecycle::close_open_attempts(Time now) {
  for (const JobId job : states_.running()) tell_attempt(states_.running(job), now, AttemptEnd::running);
  accounts_.close_open_attempts(now);
  fast_forward_.close_open_attempts(now);
  accounts_.advance(now);
  accounts_.tell_last_sample();
}

JobCounters JobLifecycle::counters() const {
  JobCounters result = accounts_.counters();
  if (outages_) {
    result.failures = outages_->failures();
    result.flaps = outages_->flaps();
  }
  return result;
}

bool JobLifecycle::is_under_way(AttemptId number) const {
  const JobAttempt* const attempt = states_.attempt(settings_.wiring.jobs->at(number).job);
  return attempt != nullptr && attempt->published() == number;
}

}  // namespace weft
