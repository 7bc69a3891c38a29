#include "scheduler/lifecycle/job_lifecycle.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/check.hpp"
#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/readable.hpp"
#include "scheduler/lifecycle/job_lifecycle_events.hpp"

namespace weft {
namespace {

constexpr std::array kJobLifecycleParams = {
    ParamSpec{"control_delay", ParamKind::duration, "10us", "1ns", "", "",
              "time that a message between scheduler and host takes: start of a job, end of an iteration",
              "round figure between kernel-bypass calls (2.3 us, eRPC, NSDI 2019) and daemons over kernel TCP (tens of us)"},
    ParamSpec{"round", ParamKind::duration, "0s", "0s", "8760h", "",
              "the policy has its say at multiples of this; 0s: whenever a job has arrived or GPUs have come free",
              "schedulers that preempt by rounds take minutes (6 min in Muri's runs and Gavel's)"},
    ParamSpec{"start_overhead", ParamKind::duration, "0s", "0s", "8760h", "",
              "what a job takes from its start until it gets on, each time that it starts: containers, libraries, its "
              "last checkpoint",
              "none; in Muri's runs 65 s to 78 s by regression"},
    ParamSpec{"fast_forward", ParamKind::integer, "0", "0", "1000000", "",
              "iterations of every job that runs a workload to simulate side by side whenever a job starts, ends or stops; after "
              "them jobs go on at the pace that these had, and nothing is simulated until the next such moment. 0: every "
              "iteration is simulated",
              "Arcadia, section 6.3; 2 or more, as one says nothing of how much they differ"},
    ParamSpec{
        "setbacks_max", ParamKind::integer, "1000", "0", "", "",
        "stops of jobs and failures of parts, one after another and at least as many as there are hosts, without anything kept "
        "of any job's work, after which the run ends and says so (status 1), if no job may get on; 0: it goes on",
        "round figure: nobody waits for a job so long that never reached its next checkpoint in so many starts"},
};

/// Time on a placement, as time of all GPUs of the job.
Duration of_all_gpus(Duration time, const JobRecord& record, const Placement& placement) {
  return time_on_all(time, record.gpus, static_cast<std::uint32_t>(placement.gpus.size()));
}

/// By more than what begins a start again on the scale of other GPUs may have moved by rounding.
bool is_more(const KeptWork& kept, const KeptWork& before) {
  return kept.iterations > before.iterations || kept.work > before.work + Duration::us(1);
}

/// 1 / speed of the time, up to the longest there is.
Duration at_speed(Duration time, double speed) {
  if (speed == 1) return time;
  const double seconds = time.in_s() / speed;
  return seconds < Duration::max().in_s() ? Duration::from_seconds(seconds) : Duration::max();
}

}  // namespace

ParamTable scheduler_params() { return kJobLifecycleParams; }

/// What the policy sees and does during one pass.
class JobLifecycle::Pass final : public SchedulingPass {
 public:
  Pass(JobLifecycle& lifecycle, EventContext& context) : lifecycle_(lifecycle), context_(context) {}

  Time now() const override { return context_.now(); }
  const ClusterState& cluster() const override { return lifecycle_.cluster_; }
  const JobList& queue() const override { return lifecycle_.queue_; }
  std::span<const JobId> arrived() const override { return lifecycle_.arrived_; }
  std::span<const JobId> left() const override { return lifecycle_.left_; }
  const JobList& running() const override { return lifecycle_.running_; }
  JobView job(JobId job) const override { return lifecycle_.view(job, context_.now()); }
  std::int32_t priority(JobId job) const override { return lifecycle_.jobs_[job.index()].priority; }
  const Placement& placement(JobId job) const override { return lifecycle_.running_state_[job.index()]->placement; }
  std::optional<Placement> place(const ClusterState& cluster, JobId job) const override {
    return lifecycle_.settings_.placer->place(cluster, lifecycle_.jobs_[job.index()].gpus);
  }
  std::optional<Placement> place_smaller(const ClusterState& cluster, JobId job) const override {
    if (!lifecycle_.records_[job.index()].start) return std::nullopt;
    return weft::place_smaller(lifecycle_.jobs_[job.index()], cluster, *lifecycle_.settings_.placer);
  }
  void start(JobId job, Placement placement) override { lifecycle_.start(job, std::move(placement), context_); }
  void preempt(JobId job) override { lifecycle_.preempt(job, context_); }
  void wake_at(Time when) override { lifecycle_.wake_at(when, context_); }

 private:
  JobLifecycle& lifecycle_;
  EventContext& context_;
};

JobLifecycle::JobLifecycle(std::vector<JobSpec> jobs, ClusterState cluster, JobLifecycleSettings settings)
    : jobs_(std::move(jobs)),
      cluster_(std::move(cluster)),
      settings_(std::move(settings)),
      records_(jobs_.size()),
      running_state_(jobs_.size()),
      progress_(jobs_.size()),
      fast_forward_(settings_.fast_forward, jobs_.size()),
      usage_(settings_.observer, settings_.from == nullptr ? Time::zero() : settings_.from->at),
      progress_watch_(settings_.setbacks_max, jobs_.size(), cluster_.host_count()),
      queue_(jobs_.size()),
      running_(jobs_.size()),
      handler_wake_(settings_.handlers.size()),
      drains_of_host_(cluster_.host_count(), 0) {
  WEFT_CHECK(settings_.policy != nullptr && settings_.placer != nullptr, "a scheduler has a policy and a placer");
  WEFT_CHECK(cluster_.free_gpus() == cluster_.gpu_count(), "a run starts on an empty cluster");
  if (settings_.failures.has_failures() || settings_.failures.spares() > 0 || !settings_.maintenance.drains.empty() ||
      settings_.from != nullptr || !settings_.handlers.empty() || !settings_.storage.hosts.empty()) {
    fleet_.emplace(cluster_, settings_.failures.hot_spares, settings_.failures.cold_spares);
    for (const HostId host : settings_.storage.hosts) fleet_->set_aside(host);
    failures_.emplace(settings_.failures, cluster_, settings_.seed);
    if (settings_.failures.has_network_failures()) {
      WEFT_CHECK(settings_.failures.network != nullptr, "switches and links belong to a topology");
      network_.emplace(settings_.failures.network, settings_.failures.scope);
    }
  }
  WEFT_CHECK(std::is_sorted(jobs_.begin(), jobs_.end(), [](const JobSpec& a, const JobSpec& b) { return a.submit < b.submit; }),
             "the scheduler gets its jobs sorted by submission");
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const JobSpec& spec = jobs_[i];
    WEFT_CHECK(spec.submit >= Time::zero() && spec.gpus > 0 && spec.gpus <= cluster_.gpu_count(),
               "the scheduler gets jobs that were checked");
    JobRecord& record = records_[i];
    record.id = JobId(static_cast<std::uint32_t>(i));
    record.gpus = spec.gpus;
    record.submit = spec.submit;
    if (spec.workload == nullptr) {
      record.iterations = spec.iterations;
      continue;
    }
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
  if (!jobs_.empty()) {
    counters_.first_submit = jobs_.front().submit;
    changes_until_ = jobs_.back().submit;
  }
  for (const ScriptedEvent& event : settings_.events) changes_until_ = std::max(changes_until_, event.at);
  for (const Drain& drain : settings_.maintenance.drains) changes_until_ = std::max(changes_until_, drain.at);
  WEFT_CHECK(settings_.from == nullptr || settings_.from->jobs.size() == jobs_.size(), "a snapshot has the jobs of its run");
}

EntityId JobLifecycle::add_to(EngineBuilder& builder, std::unique_ptr<JobLifecycle> lifecycle, EntityId declared) {
  const std::vector<EntityId> hosts = lifecycle->settings_.wiring.entity_of_host;
  const EntityId network = lifecycle->settings_.wiring.network;
  const Duration control_delay = lifecycle->settings_.control_delay;
  const std::optional<Time> snapshot_at = lifecycle->settings_.snapshot_at;
  const std::shared_ptr<const ClusterSnapshot> from = lifecycle->settings_.from;
  const std::optional<Time> first =
      lifecycle->jobs_.empty() || from != nullptr ? std::nullopt : std::optional<Time>(lifecycle->jobs_.front().submit);
  const Time first_failure = lifecycle->failures_ ? lifecycle->failures_->next() : Time::max();
  lifecycle->next_failure_ = first_failure;
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
  if (from != nullptr) builder.post_initial(id, from->at, EventClass::timer, resume);
  if (snapshot_at) builder.post_initial(id, *snapshot_at, EventClass::timer, take_snapshot);
  if (first) builder.post_initial(id, *first, EventClass::timer, job_arrives, SchedulerTimer{JobId(0)});
  if (first_failure != Time::max()) builder.post_initial(id, first_failure, EventClass::timer, parts_fail);
  for (std::uint32_t i = 0; i < maintenance.drains.size(); ++i) {
    const Duration at = maintenance.drains[i].at.since_start();
    const Time notice = Time::zero() + std::max(Duration::zero(), at - maintenance.drains[i].notice.value_or(maintenance.notice));
    builder.post_initial(id, notice, EventClass::timer, drain_notice, DrainTimer{i});
    builder.post_initial(id, maintenance.drains[i].at, EventClass::timer, drain_begins, DrainTimer{i});
  }
  return id;
}

/// What was to happen to a job that has been stopped since, what its ranks said before they knew, wishes of a policy that has had another pass
/// since, and failures after the last job.
bool JobLifecycle::is_stale(const Event& event) const {
  if (standstill_ || abandoned_) return true;
  const bool is_of_jobs = event.kind == job_arrives || event.kind == scripted_event || event.kind == handler_wakes;
  if ((is_of_service(event.kind) || is_of_jobs) && all_finished()) return true;
  if (event.kind == parts_fail) return event.key.time != next_failure_;
  if (event.kind == policy_wakes) return event.key.time != wake_;
  if (event.kind == handler_wakes) return event.key.time != handler_wake_[event.payload_as<HandlerTimer>().handler];
  if (event.kind == scheduling_pass) return !pass_requested_ || event.key.time != next_pass_;
  if (event.kind == data_arrived) {
    const AttemptId attempt = event.payload_as<DataArrived>().attempt;
    const RunningJob& published = settings_.wiring.jobs->at(attempt);
    const Running* const running = running_state_[published.job.index()].get();
    return running == nullptr || running->attempt != attempt || running->failed_at ||
           running->moves_since.has_value() != published.is_last_checkpoint;
  }
  if (event.kind == iteration_done) {
    const AttemptId attempt = event.payload_as<IterationDone>().attempt;
    const Running* const running = running_state_[settings_.wiring.jobs->at(attempt).job.index()].get();
    return running == nullptr || running->ranks == nullptr || running->attempt != attempt || running->failed_at ||
           running->moves_since;
  }
  if (event.kind == speeds_change || event.kind == take_snapshot) return all_finished();
  if (event.kind != job_ends && event.kind != job_moves && event.kind != job_lands && event.kind != ranks_begin) return false;
  const auto timer = event.payload_as<SchedulerTimer>();
  const Running* const running = running_state_[timer.job.index()].get();
  if (running == nullptr || running->failed_at || records_[timer.job.index()].restarts != timer.restarts) return true;
  return event.kind != job_moves && (running->moves_since || running->parts != timer.parts);
}

void JobLifecycle::handle(const Event& event, EventContext& context) {
  if (is_stale(event)) return;
  if (context.now() > usage_.up_to()) usage_.advance(context.now(), sample());
  take(event, context);
  if (!waiting_drains_.empty()) begin_work_on_idle_hosts(context);
  if (!events_.empty()) tell_handlers(context);
  // The pass that is to come may start somebody.
  if (!pass_requested_ && progress_watch_.is_due(context.now())) look_for_progress(context);
}

void JobLifecycle::take(const Event& event, EventContext& context) {
  switch (event.kind) {
    case job_arrives:
      arrive(event.payload_as<SchedulerTimer>().job, context);
      return;
    case scripted_event:
      take_scripted(settings_.events[event.payload_as<ScriptTimer>().event], context);
      return;
    case handler_wakes: {
      ClusterEvent timer;
      timer.to = event.payload_as<HandlerTimer>().handler;
      tell(timer);
      return;
    }
    case job_ends:
      finish(event.payload_as<SchedulerTimer>().job, context);
      return;
    case job_lands:
      resume_simulation(event.payload_as<SchedulerTimer>().job, context);
      return;
    case ranks_begin:
      if (fetch_data(event.payload_as<SchedulerTimer>().job, context)) return;
      launching_.push_back(event.payload_as<SchedulerTimer>().job);
      request_launch(context);
      return;
    case data_arrived:
      take_arrival(event.payload_as<DataArrived>().attempt, context);
      return;
    case launch_ranks:
      launch(context);
      return;
    case take_snapshot:
      settings_.on_snapshot(snapshot(context.now()));
      return;
    case resume:
      go_on_from_snapshot(context);
      return;
    case speeds_change:
      begin_epoch_of_all(context);
      return;
    case iteration_done:
      take_report(event.payload_as<IterationDone>(), context);
      return;
    case scheduling_pass:
      run_pass(context);
      return;
    case policy_wakes:
      request_pass(context);
      return;
    case parts_fail:
      fail_parts(context);
      return;
    case failure_detected:
      detect_failure(event.payload_as<OutageTimer>().outage, context);
      return;
    case part_works:
      end_outage(event.payload_as<OutageTimer>().outage, context);
      return;
    case spare_joins:
      fleet_->join(event.payload_as<SpareTimer>().host);
      tell({ClusterEvent::Kind::spare_joined, JobId::none(), event.payload_as<SpareTimer>().host});
      call_spares(context);
      request_pass(context);
      return;
    case drain_notice:
      announce_drain(event.payload_as<DrainTimer>().drain);
      return;
    case drain_begins:
      begin_drain(event.payload_as<DrainTimer>().drain, context);
      return;
    case drain_ends: {
      const Drain& drain = settings_.maintenance.drains[event.payload_as<DrainTimer>().drain];
      --drains_of_host_[drain.host.index()];
      bring_back(gpus_of(drain), context);
      tell({ClusterEvent::Kind::drain_ended, JobId::none(), drain.host});
      return;
    }
    case job_moves: {
      const JobId job = event.payload_as<SchedulerTimer>().job;
      if (running_state_[job.index()]->under_way == 0) move(job, context);
      return;
    }
    default:
      WEFT_CHECK(false, "the scheduler knows the kind of its events");
  }
}

void JobLifecycle::arrive(JobId job, EventContext& context) {
  if (!records_[job.index()].cancelled) {
    queue_.insert(job);
    arrived_.push_back(job);
    waiting_gpus_ += jobs_[job.index()].gpus;
    progress_[job.index()].queued = context.now();
    ++counters_.arrived;
    tell({ClusterEvent::Kind::job_arrived, job});
    request_pass(context);
  }
  const JobId next(job.index() + 1);
  if (next.index() < jobs_.size()) {
    context.schedule(jobs_[next.index()].submit - context.now(), EventClass::timer, job_arrives, SchedulerTimer{next});
  }
}

void JobLifecycle::take_report(const IterationDone& report, EventContext& context) {
  WEFT_CHECK(report.end <= context.now(), "a report arrives after what it reports");
  const JobId job = settings_.wiring.jobs->at(report.attempt).job;
  WorkloadProgress& ranks = *running_state_[job.index()]->ranks;
  const std::optional<IterationRecord> completed = ranks.add(report);
  if (!completed) return;

  JobRecord& record = records_[job.index()];
  record.iterations = ranks.tally().completed();
  record.exposed_communication += completed->exposed_communication;
  Running& running = *running_state_[job.index()];
  if (std::exchange(running.exposed_is_old, false)) {
    running.exposed = Duration::zero();
    running.iterations = 0;
  }
  running.exposed += completed->exposed_communication;
  ++running.iterations;
  if (settings_.observer != nullptr) settings_.observer->iteration_finished(jobs_[job.index()], *completed);
  if (fast_forward_.is_on()) fast_forward_.add(job, ranks.last_period());
  if (ranks.done()) {
    finish(job, context);
  } else {
    consider_fast_forward(job, context);
  }
}

void JobLifecycle::finish(JobId job, EventContext& context) {
  std::unique_ptr<Running>& running = running_state_[job.index()];
  WEFT_CHECK(running != nullptr, "a job that ends was running");
  JobRecord& record = records_[job.index()];
  record.end = context.now();
  if (is_fast_forwarded(job)) note_skipped(job, jobs_[job.index()].iterations, context.now());
  leave_others(job, context);
  leave_gpus(job, context.now(), Leaving::ends);
  if (fast_forward_.is_on() && jobs_[job.index()].workload != nullptr) {
    record.iterations = jobs_[job.index()].iterations;
    fast_forward_.end(job);
  }
  if (jobs_[job.index()].workload != nullptr) {
    const auto count = static_cast<std::int64_t>(record.iterations);
    record.mean_iteration = Duration::ticks((progress_[job.index()].iterating.in_ticks() + count / 2) / count);
  } else if (record.iterations > 0) {
    record.mean_iteration = Duration::from_seconds(record.useful().in_s() / static_cast<double>(record.iterations));
  }
  ++counters_.finished;
  counters_.last_end = context.now();
  if (settings_.observer != nullptr) settings_.observer->job_finished(jobs_[job.index()], record);
  tell({ClusterEvent::Kind::job_ended, job});
  if (all_finished()) usage_.tell(sample());
  request_pass(context);
}

Time JobLifecycle::got_on_until(const Running& running, Time now) {
  return std::min({now, running.failed_at.value_or(now), running.moves_since.value_or(now)});
}

AttemptAccount JobLifecycle::charge(JobRecord& record, const Running& running, Time now) {
  record.run += now - running.since;
  record.run_whole += of_all_gpus(now - running.since, record, running.placement);
  const AttemptAccount result = account(running, got_on_until(running, now));
  record.overhead += of_all_gpus(result.overhead, record, running.placement);
  record.checkpointing += of_all_gpus(result.writing, record, running.placement);
  return result;
}

double JobLifecycle::speed_on(const Placement& placement, Time since) const {
  if (settings_.speeds == nullptr) return 1;
  double slowest = std::numeric_limits<double>::infinity();
  HostId last = HostId::none();
  for (const GpuSlot gpu : placement.gpus) {
    const HostId host = cluster_.host_of(gpu);
    if (host != last) slowest = std::min(slowest, settings_.speeds->at(host, since));
    last = host;
  }
  return slowest;
}

JobLifecycle::Running& JobLifecycle::begin_attempt(JobId job, Placement placement, Time since, const KeptWork& kept) {
  const JobSpec& spec = jobs_[job.index()];
  double speed = 1;
  if (spec.workload == nullptr) {
    const double share = spec.compute_share.value_or(1);
    speed = 1 / (1 - share + share / speed_on(placement, since));
  }
  Running& running = *(running_state_[job.index()] = std::make_unique<Running>(std::move(placement), since, speed, settings_));
  running.past.kept = running.past.whole = kept_for(job, kept);
  return running;
}

Duration JobLifecycle::time_for(JobId job, Duration work) const {
  const Running& running = *running_state_[job.index()];
  const auto held = static_cast<std::uint32_t>(running.placement.gpus.size());
  return at_speed(time_on_fewer(work, jobs_[job.index()].gpus, held), running.speed);
}

KeptWork JobLifecycle::kept_for(JobId job, const KeptWork& kept) const { return {kept.iterations, time_for(job, kept.work)}; }

KeptWork JobLifecycle::kept_of(JobId job, const KeptWork& kept) const {
  const Running& running = *running_state_[job.index()];
  const Duration work = of_all_gpus(kept.work, records_[job.index()], running.placement);
  return {kept.iterations, at_speed(work, 1 / running.speed)};
}

Duration JobLifecycle::elapsed(const Running& running, Time until) {
  const Duration elapsed = std::max(Duration::zero(), until - running.part_since);
  return running.progress ? std::min(elapsed, running.progress->held().value()) : elapsed;
}

AttemptAccount JobLifecycle::account(const Running& running, Time until) {
  const Duration so_far = elapsed(running, until);
  if (running.progress) return running.past.followed_by(running.progress->account(so_far));
  if (running.ranks) return running.past.followed_by(running.ranks->account(so_far));
  // Its ranks have not begun.
  AttemptAccount result = running.past;
  result.overhead = so_far;
  return result;
}

void JobLifecycle::leave_gpus(JobId job, Time now, Leaving why) {
  std::unique_ptr<Running>& running = running_state_[job.index()];
  JobRecord& record = records_[job.index()];
  Progress& progress = progress_[job.index()];
  const AttemptAccount account = charge(record, *running, now);
  const Time until = got_on_until(*running, now);
  const KeptWork kept_before = progress.kept;
  const auto whole = [&](Duration time) { return of_all_gpus(time, record, running->placement); };
  const Duration lost = whole(std::max(Duration::zero(), now - running->since - account.overhead - account.writing - account.work));
  Duration work = account.work;
  switch (why) {
    case Leaving::ends:
      work = account.work_whole;
      break;
    case Leaving::is_preempted:
      progress.kept = kept_of(job, account.kept);
      (running->failed_at ? record.lost_to_failures : record.lost_to_preemptions) += lost;
      break;
    case Leaving::is_cancelled:
      progress.kept = kept_of(job, account.kept);
      break;
    case Leaving::has_failed:
      progress.kept = kept_of(job, account.kept);
      record.lost_to_failures += lost;
      break;
    case Leaving::moves:
      progress.kept = kept_of(job, account.whole);
      work = account.work_whole;
      record.checkpointing += whole(now - until);
      record.lost_to_moves +=
          whole(std::max(Duration::zero(), until - running->since - account.overhead - account.writing - account.work_whole));
      break;
  }
  if (is_more(progress.kept, kept_before) || why == Leaving::ends || why == Leaving::is_cancelled) {
    progress_watch_.gets_on(job, now);
  } else {
    progress_watch_.is_stopped(job, now - running->since);
  }
  if (jobs_[job.index()].workload != nullptr) {
    progress.iterating += work;
    if (why != Leaving::ends) record.iterations = progress.kept.iterations;
  }
  cluster_.release(job, running->placement);
  std::erase(launching_, job);
  running.reset();
  running_.remove(job);
}

void JobLifecycle::go_back_to_queue(JobId job, Time now, ClusterEvent::Kind because) {
  queue_.insert(job);
  waiting_gpus_ += jobs_[job.index()].gpus;
  progress_[job.index()].queued = now;
  if (settings_.observer != nullptr) settings_.observer->job_stopped(jobs_[job.index()], records_[job.index()]);
  tell({because, job});
}

void JobLifecycle::send_back(JobId job, Leaving why, Time now) {
  leave_gpus(job, now, why);
  go_back_to_queue(job, now, why == Leaving::moves ? ClusterEvent::Kind::job_moved : ClusterEvent::Kind::job_failed);
  arrived_.push_back(job);
}

void JobLifecycle::preempt(JobId job, EventContext& context) {
  WEFT_CHECK(running_.contains(job), "a policy preempts jobs that run");
  halt(job, context);
  ++records_[job.index()].preemptions;
  ++counters_.preempted;
  leave_gpus(job, context.now(), Leaving::is_preempted);
  go_back_to_queue(job, context.now(), ClusterEvent::Kind::job_preempted);
}

JobView JobLifecycle::view(JobId job, Time now) const {
  const JobSpec& spec = jobs_[job.index()];
  const Running* const running = running_state_[job.index()].get();
  JobView view;
  view.id = job;
  view.submit = spec.submit;
  view.gpus = spec.gpus;
  view.least_gpus = running == nullptr && records_[job.index()].start ? least_gpus(spec) : spec.gpus;
  view.priority = spec.priority;
  view.group = spec.group;
  view.data_region = spec.data_region;
  view.iterations = spec.iterations;
  view.start = records_[job.index()].start;
  view.queued = progress_[job.index()].queued;
  view.attained = records_[job.index()].run_whole;
  if (running != nullptr) {
    view.held_gpus = static_cast<std::uint32_t>(running->placement.gpus.size());
    view.since = running->since;
    view.attained += of_all_gpus(now - running->since, records_[job.index()], running->placement);
  }
  if (spec.workload != nullptr && spec.duration.mean() == Duration::zero()) return view;
  view.declared_run = spec.duration.mean();
  // On the scale of what is declared, whatever the job really takes.
  const Duration declared = running == nullptr ? *view.declared_run : time_for(job, *view.declared_run);
  if (running == nullptr || !running->progress) {
    // Of iterations that run only those that have ended are known.
    KeptWork kept = progress_[job.index()].kept;
    if (running != nullptr) kept = kept_for(job, kept);
    Duration overhead = running != nullptr ? running->start_overhead : settings_.start_overhead;
    if (running != nullptr) {
      if (running->ranks != nullptr) kept.iterations = running->ranks->tally().completed();
      overhead -= std::min(overhead, got_on_until(*running, now) - running->since);
    }
    const ProgressModel progress(declared, spec.iterations, kept, overhead,
                                 running != nullptr ? running->checkpoints : settings_.checkpoints);
    view.declared_left = progress.held().value_or(Duration::max());
  } else {
    const ProgressModel::Position position = running->progress->at(elapsed(*running, got_on_until(*running, now)));
    Duration done = position.done;
    const Duration total = running->progress->total();
    if (spec.iterations > 0 && total > Duration::zero())
      done = scaled(declared, static_cast<std::uint64_t>(done.in_ticks()), static_cast<std::uint64_t>(total.in_ticks()));
    const Duration work_left = std::max(Duration::zero(), declared - done);
    // What is left of the attempt beside the work.
    const Duration elapsed = position.overhead + position.work + position.writing;
    const Duration others_left = *running->progress->held() - elapsed - (total - position.done);
    view.declared_left = work_left < Duration::max() - others_left ? work_left + others_left : Duration::max();
  }
  return view;
}

void JobLifecycle::request_pass(EventContext& context) {
  const bool has_rounds = settings_.round > Duration::zero();
  // Nobody needs a round for which nobody waits, and it would be later than all else.
  if (pass_requested_ || (has_rounds && queue_.empty())) return;
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
  ++counters_.passes;
  Pass pass(*this, context);
  settings_.policy->schedule(pass);
  arrived_.clear();
  left_.clear();
  counters_.queue_length_max = std::max<std::uint64_t>(counters_.queue_length_max, queue_.size());
  counters_.gpus_busy_max = std::max(counters_.gpus_busy_max, cluster_.held_gpus());
  launch(context);
}

void JobLifecycle::start(JobId job, Placement placement, EventContext& context) {
  WEFT_CHECK(queue_.contains(job), "a policy starts jobs that wait");
  const JobSpec& spec = jobs_[job.index()];
  const auto gpus = static_cast<std::uint32_t>(placement.gpus.size());
  WEFT_CHECK(gpus == spec.gpus || (records_[job.index()].start && may_restart_on(spec, gpus)),
             "a placement is all or nothing, but for elastic jobs that have run before");
  for (const GpuSlot gpu : placement.gpus) WEFT_CHECK(cluster_.is_in_service(gpu), "jobs start on GPUs in service");
  cluster_.take(job, placement);
  queue_.remove(job);
  waiting_gpus_ -= spec.gpus;
  running_.push_back(job);
  ++counters_.started;

  JobRecord& record = records_[job.index()];
  if (record.start) {
    ++record.restarts;
    if (gpus < spec.gpus) {
      ++record.elastic_restarts;
      ++counters_.elastic_restarts;
    }
  } else {
    record.start = context.now();
  }
  record.last_start = context.now();
  record.wait += context.now() - progress_[job.index()].queued;
  record.placement = cluster_.to_text(placement);
  begin_attempt(job, std::move(placement), context.now(), progress_[job.index()].kept);
  if (spec.workload == nullptr) {
    start_by_duration(job, context);
  } else if (settings_.start_overhead == Duration::zero()) {
    if (!fetch_data(job, context)) launching_.push_back(job);
  } else if (settings_.start_overhead < Time::max() - context.now()) {
    context.schedule(settings_.start_overhead, EventClass::timer, ranks_begin, SchedulerTimer{job, record.restarts});
  }
  if (settings_.observer != nullptr) settings_.observer->job_started(spec, record);
  tell({ClusterEvent::Kind::job_started, job});
}

std::vector<RankData> JobLifecycle::data_to_fetch(JobId job) const {
  const JobSpec& spec = jobs_[job.index()];
  if (spec.data == Bytes::zero() && spec.checkpoint == Bytes::zero()) return {};
  const KeptWork& kept = progress_[job.index()].kept;
  const bool has_checkpoint = kept.iterations > 0 || kept.work > Duration::zero();
  return weft::data_to_fetch(spec, running_state_[job.index()]->placement, has_checkpoint, settings_.storage, cluster_);
}

Duration JobLifecycle::overhead_of_start(JobId job) const {
  const Duration fetching = fetching_time(data_to_fetch(job), settings_.storage);
  return fetching < Duration::max() - settings_.start_overhead ? settings_.start_overhead + fetching : Duration::max();
}

bool JobLifecycle::fetch_data(JobId job, EventContext& context) {
  const std::vector<RankData> data = data_to_fetch(job);
  if (data.empty()) return false;
  const SchedulerWiring& wiring = settings_.wiring;
  RunningJob attempt = attempt_of(job, progress_[job.index()].kept.iterations);
  attempt.attempt = wiring.jobs->next();
  auto parts = std::make_shared<std::vector<StoredData>>();
  for (const RankData& part : data) parts->push_back({part.rank, wiring.endpoint_of_gpu[part.store.index()], part.size});
  attempt.data = std::move(parts);
  Running& running = *running_state_[job.index()];
  running.attempt = attempt.attempt;
  running.under_way = static_cast<std::uint32_t>(data.size());
  wiring.jobs->publish(std::move(attempt));
  for (const HostId host : stores_of(data))
    context.send(wiring.entity_of_host[host.index()], settings_.control_delay, send_data, StartJob{running.attempt});
  note_data_under_way(1, context);
  return true;
}

void JobLifecycle::note_data_under_way(std::int32_t more, EventContext& context) {
  data_under_way_ += static_cast<std::uint32_t>(more);
  if (fast_forward_.is_on()) begin_epoch_of_all(context);
}

std::set<HostId> JobLifecycle::stores_of(std::span<const RankData> data) const {
  std::set<HostId> hosts;
  for (const RankData& part : data) hosts.insert(cluster_.host_of(part.store));
  return hosts;
}

void JobLifecycle::take_arrival(AttemptId attempt, EventContext& context) {
  const JobId job = settings_.wiring.jobs->at(attempt).job;
  Running& running = *running_state_[job.index()];
  if (--running.under_way > 0) return;
  note_data_under_way(-1, context);
  if (running.moves_since) {
    if (context.now() - *running.moves_since >= running.checkpoints.write) move(job, context);
    return;
  }
  running.start_overhead = context.now() - running.since;
  launching_.push_back(job);
  request_launch(context);
}

void JobLifecycle::fail_beyond_clock(const JobSpec& spec, Time start) {
  fail("beyond-clock",
       "job \"" + spec.name + "\" starts at " + to_text(start.since_start()) + " and would end after " +
           to_text(Time::max().since_start()) + ", where the simulated clock ends",
       spec.place, "use a larger cluster, fewer jobs or shorter ones, a smaller scheduler.start_overhead or fewer checkpoints");
}

void JobLifecycle::start_by_duration(JobId job, EventContext& context) {
  const JobSpec& spec = jobs_[job.index()];
  Running& running = *running_state_[job.index()];
  running.start_overhead = overhead_of_start(job);
  const ProgressModel& progress = running.progress.emplace(duration_of(job), records_[job.index()].iterations, running.past.kept,
                                                           running.start_overhead, settings_.checkpoints);
  const std::optional<Duration> held = progress.held();
  if (!held || *held >= Time::max() - context.now()) fail_beyond_clock(spec, context.now());
  context.schedule(*held, EventClass::timer, job_ends, SchedulerTimer{job, records_[job.index()].restarts});
}

Duration JobLifecycle::duration_of(JobId job) const {
  const JobSpec& spec = jobs_[job.index()];
  const Running& running = *running_state_[job.index()];
  // Times of placements are measured on all GPUs.
  if (spec.iteration_times == nullptr || running.placement.gpus.size() < spec.gpus)
    return time_for(job, spec.duration.sample(settings_.seed, job));
  std::map<HostId, std::uint32_t> gpus_of_host;
  for (const GpuSlot gpu : running.placement.gpus) ++gpus_of_host[cluster_.host_of(gpu)];
  std::vector<std::uint32_t> gpus;
  for (const auto& [host, count] : gpus_of_host) gpus.push_back(count);
  return time_for(job, spec.iteration_times->of(gpus) * static_cast<std::int64_t>(spec.iterations));
}

void JobLifecycle::request_launch(EventContext& context) {
  if (launching_.size() == 1) context.schedule(Duration::zero(), EventClass::settle, launch_ranks);
}

void JobLifecycle::launch(EventContext& context) {
  if (launching_.empty()) return;
  const std::vector<JobId> jobs = std::exchange(launching_, {});
  const SchedulerWiring& wiring = settings_.wiring;
  std::vector<RunningJob> attempts;
  for (const JobId job : jobs) {
    const Running& running = *running_state_[job.index()];
    RunningJob& attempt = attempts.emplace_back(attempt_of(job, running.past.whole.iterations));
    attempt.attempt = AttemptId(wiring.jobs->next().index() + static_cast<std::uint32_t>(attempts.size() - 1));
    if (wiring.prepare) wiring.prepare(attempt);
    if (wiring.coupled != nullptr) wiring.coupled->add(job, {attempt.workload, attempt.collectives, attempt.endpoint_of_rank});
  }
  if (wiring.after_launch && !wiring.after_launch()) {
    abandoned_ = true;
    return;
  }
  if (wiring.coupled != nullptr) fold(jobs, context);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobId job = jobs[i];
    const Running& running = *running_state_[job.index()];
    if (wiring.coupled != nullptr) attempts[i].folding = running.folding;
    publish(job, std::move(attempts[i]), context.now() + settings_.control_delay, context);
    if (fast_forward_.is_on()) fast_forward_.start(job, records_[job.index()].wait > Duration::zero());
  }
  if (!fast_forward_.is_on()) return;
  for (const JobId job : jobs) join_others(job, context);
}

RunningJob JobLifecycle::attempt_of(JobId job, std::uint64_t first_iteration) const {
  const JobSpec& spec = jobs_[job.index()];
  RunningJob attempt;
  attempt.job = job;
  const Running& running = *running_state_[job.index()];
  const auto ranks = static_cast<std::uint32_t>(running.placement.gpus.size());
  attempt.workload = workload_on(spec, ranks);
  attempt.is_in_flow_mode = spec.is_in_flow_mode;
  attempt.first_iteration = first_iteration;
  attempt.iterations = spec.iterations;
  attempt.checkpoint_every = running.checkpoints.every;
  attempt.checkpoint_write = running.checkpoints.write;
  const std::vector<GpuSlot> stores =
      spec.checkpoint == Bytes::zero() ? std::vector<GpuSlot>() : stores_on(settings_.storage.hosts, cluster_);
  if (!stores.empty()) {
    auto parts = std::make_shared<std::vector<StoredData>>();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Bytes part = part_of(spec.checkpoint, ranks, rank);
      if (part > Bytes::zero())
        parts->push_back({RankId(rank), settings_.wiring.endpoint_of_gpu[stores[rank % stores.size()].index()], part});
    }
    attempt.checkpoint = std::move(parts);
  }
  auto endpoints = std::make_shared<std::vector<NodeId>>();
  for (const GpuSlot gpu : running.placement.gpus) endpoints->push_back(settings_.wiring.endpoint_of_gpu[gpu.index()]);
  attempt.endpoint_of_rank = std::move(endpoints);
  return attempt;
}

void JobLifecycle::publish(JobId job, RunningJob attempt, Time begin, EventContext& context) {
  JobTable& attempts = *settings_.wiring.jobs;
  Running& running = *running_state_[job.index()];
  attempt.attempt = attempts.next();
  running.attempt = attempt.attempt;
  attempts.publish(std::move(attempt));
  const RunningJob& published = attempts.at(running.attempt);
  const bool is_first = running.part_since == running.since && running.parts == 0;
  running.ranks =
      is_first ? std::make_unique<WorkloadProgress>(published, running.since, running.start_overhead, settings_.control_delay)
               : std::make_unique<WorkloadProgress>(published, begin, Duration::zero(), Duration::zero());
  for (const HostId host : hosts_of(published, running.placement))
    context.send(settings_.wiring.entity_of_host[host.index()], settings_.control_delay, start_job, StartJob{running.attempt});
}

std::vector<HostId> JobLifecycle::hosts_of(const RunningJob& attempt, const Placement& placement) const {
  std::vector<HostId> hosts;
  for (std::uint32_t rank = 0; rank < placement.gpus.size(); ++rank) {
    if (attempt.folding != nullptr && !attempt.folding->is_representative(RankId(rank))) continue;
    hosts.push_back(cluster_.host_of(placement.gpus[rank]));
  }
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

void JobLifecycle::halt(JobId job, EventContext& context) {
  Running& running = *running_state_[job.index()];
  if (jobs_[job.index()].workload == nullptr || running.failed_at) return;
  const bool gets_on = !running.moves_since;
  if (gets_on && is_fast_forwarded(job)) note_skipped(job, account(running, context.now()).whole.iterations, context.now());
  // Of one that is fast-forwarded, something may still be on its way.
  if ((gets_on && (is_fast_forwarded(job) || running.ranks != nullptr)) || running.under_way > 0) stop_attempt(job, true, context);
  if (std::exchange(running.under_way, 0) > 0) note_data_under_way(-1, context);
  leave_others(job, context);
}

void JobLifecycle::stop_attempt(JobId job, bool is_over, EventContext& context) {
  const Running& running = *running_state_[job.index()];
  const SchedulerWiring& wiring = settings_.wiring;
  const auto stop = [&](HostId host) {
    context.send(wiring.entity_of_host[host.index()], settings_.control_delay, stop_job,
                 StopJob{running.attempt, is_over ? 1U : 0U});
  };
  const RunningJob& attempt = wiring.jobs->at(running.attempt);
  if (attempt.data != nullptr) {
    std::ranges::for_each(stores_of(data_to_fetch(job)), stop);
  } else {
    std::ranges::for_each(hosts_of(attempt, running.placement), stop);
  }
  if (wiring.network != EntityId::none())
    context.send(wiring.network, settings_.control_delay, attempt_stopped, AttemptStopped{running.attempt});
}

ClusterSample JobLifecycle::sample() const {
  ClusterSample sample;
  sample.since = usage_.up_to();
  sample.running_jobs = running_.size();
  sample.waiting_jobs = queue_.size();
  sample.waiting_gpus = waiting_gpus_;
  sample.free_gpus = cluster_.free_gpus();
  sample.busy_gpus = cluster_.held_gpus();
  sample.fragmented_gpus = cluster_.fragmented_gpus();
  sample.gpus_out = cluster_.gpu_count() - cluster_.held_gpus() - cluster_.free_gpus();
  sample.draining_gpus = cluster_.gpu_count() - cluster_.gpus_in_service() - sample.gpus_out;
  return sample;
}

bool JobLifecycle::all_wait_for_ranks(Time now) const {
  if (now < changes_until_) return false;
  return std::all_of(running_.begin(), running_.end(), [this](JobId job) {
    const Running& running = *running_state_[job.index()];
    return running.ranks != nullptr && !running.progress && !running.failed_at && !running.moves_since;
  });
}

void JobLifecycle::look_for_progress(EventContext& context) {
  const auto may = [&](JobId job) { return may_get_on(job, context.now()); };
  // A log has a last row.
  const bool ends_by_itself = progress_watch_.failures() > 0 && !settings_.failures.has_random_failures();
  if (all_finished() || ends_by_itself || context.now() < changes_until_ || std::any_of(queue_.begin(), queue_.end(), may) ||
      std::any_of(running_.begin(), running_.end(), may)) {
    progress_watch_.begin_anew(context.now());
    return;
  }
  standstill_ = {context.now(), no_progress(context.now())};
  for (const JobId job : running_) halt(job, context);
}

/// One that has waited all the time has shown nothing; one that came or ran meanwhile, runs for the first time, or kept something in this start, may be longer
/// at it than others fail.
bool JobLifecycle::may_get_on(JobId job, Time now) const {
  const Running* const running = running_state_[job.index()].get();
  if (running == nullptr) {
    const Time began = std::max(progress_[job.index()].queued, records_[job.index()].last_start.value_or(Time::zero()));
    return began >= progress_watch_.begin() && !progress_watch_.is_hopeless(job);
  }
  if (!progress_watch_.is_hopeless(job)) return true;
  return is_more(kept_of(job, account(*running, got_on_until(*running, now)).kept), progress_[job.index()].kept);
}

Diagnostic JobLifecycle::no_progress(Time now) const {
  const std::uint64_t failures = progress_watch_.failures();
  const std::uint64_t stops = progress_watch_.stops();
  std::string text = "no job gets on: in the last " + readable((now - progress_watch_.begin()).in_s()) + " ";
  if (failures > 0) text += counted(failures, "part", "parts") + " failed" + (stops > 0 ? ", and " : "");
  if (stops > 0) text += counted(stops, "start", "starts") + " of jobs came to nothing";
  JobId most = JobId::none();
  for (const JobRecord& record : records_) {
    if (record.end || record.cancelled) continue;
    if (most.is_none() || progress_watch_.streak(record.id).stops > progress_watch_.streak(most).stops) most = record.id;
  }
  text += "; " + state_text(most);
  if (const ProgressWatch::Streak& streak = progress_watch_.streak(most); streak.stops > 0) {
    text += ", and was stopped " + counted(streak.stops, "time", "times") + " in a row before any of its work was kept, after " +
            readable(streak.lost.in_s() / static_cast<double>(streak.stops)) + " on average";
  }
  return {Severity::error, "no-progress", text, SourcePlace::named("scheduler.setbacks_max"),
          "keep work more often (checkpoint.every, checkpoint.interval), start jobs faster (scheduler.start_overhead), or let less "
          "fail and be repaired sooner (failure); scheduler.setbacks_max is how often is too often, 0 if nothing is"};
}

void JobLifecycle::close_open_attempts(Time now) {
  for (const JobId job : queue_) records_[job.index()].wait += now - progress_[job.index()].queued;
  for (const JobId job : running_) {
    const Running& running = *running_state_[job.index()];
    JobRecord& record = records_[job.index()];
    charge(record, running, now);
    // It has failed, or writes a checkpoint to move.
    const Duration stands_still = of_all_gpus(now - got_on_until(running, now), record, running.placement);
    (running.failed_at ? record.lost_to_failures : record.checkpointing) += stands_still;
    if (is_fast_forwarded(job) && running.is_among_others) {
      record.iterations = account(running, now).whole.iterations;
      note_skipped(job, record.iterations, now);
    }
  }
  if (now > usage_.up_to()) usage_.advance(now, sample());
  usage_.tell(sample());
}

JobCounters JobLifecycle::counters() const {
  JobCounters result = counters_;
  result.busy_gpu_s = usage_.busy_gpu_s();
  result.stranded_gpu_s = usage_.stranded_gpu_s();
  result.out_gpu_s = usage_.out_gpu_s();
  result.draining_gpu_s = usage_.draining_gpu_s();
  result.gpus_busy_mean = usage_.gpus_busy_mean();
  result.queue_length_mean = usage_.queue_length_mean();
  double useful_gpu_s = 0;
  double started_gpu_s = 0;
  for (const JobRecord& record : records_) {
    result.lost_to_preemptions_gpu_s += record.lost_to_preemptions.in_s() * record.gpus;
    result.lost_to_failures_gpu_s += record.lost_to_failures.in_s() * record.gpus;
    result.lost_to_moves_gpu_s += record.lost_to_moves.in_s() * record.gpus;
    result.lost_to_cancellations_gpu_s += record.lost_to_cancellation.in_s() * record.gpus;
    result.overhead_gpu_s += record.overhead.in_s() * record.gpus;
    result.checkpointing_gpu_s += record.checkpointing.in_s() * record.gpus;
    if (!record.end) continue;
    useful_gpu_s += record.useful().in_s() * record.gpus;
    started_gpu_s += (*record.end - *record.start).in_s() * record.gpus;
  }
  if (started_gpu_s > 0) result.effective_time_ratio = useful_gpu_s / started_gpu_s;
  return result;
}

std::string JobLifecycle::state_text(JobId job) const {
  const JobSpec& spec = jobs_[job.index()];
  std::string text = "job \"" + spec.name + "\" ";
  const Running* running = running_state_[job.index()].get();
  if (records_[job.index()].end) return text + "has ended";
  if (records_[job.index()].cancelled) return text + "was cancelled";
  if (queue_.contains(job)) {
    const std::uint32_t least = records_[job.index()].start ? least_gpus(spec) : spec.gpus;
    return text + "waits for " + (least < spec.gpus ? std::to_string(least) + " to " : "") + std::to_string(spec.gpus) + " GPUs";
  }
  if (running == nullptr) return text + "has not arrived";
  if (running->under_way > 0) return text + (running->moves_since ? "writes a checkpoint" : "fetches its data");
  if (running->ranks == nullptr) return text + "is running";
  const IterationTally& tally = running->ranks->tally();
  const JobFolding* folding = settings_.wiring.jobs->at(running->attempt).folding.get();
  RankId slowest(0);
  for (std::uint32_t rank = 1; rank < tally.rank_count(); ++rank) {
    if (folding != nullptr && !folding->is_representative(RankId(rank))) continue;
    if (tally.reported(RankId(rank)) < tally.reported(slowest)) slowest = RankId(rank);
  }
  return text + "waits for rank " + std::to_string(slowest.index()) + ", which has finished " +
         std::to_string(tally.reported(slowest)) + " of " + std::to_string(spec.iterations) + " iterations";
}

bool JobLifecycle::is_under_way(AttemptId attempt) const {
  const Running* const running = running_state_[settings_.wiring.jobs->at(attempt).job.index()].get();
  return running != nullptr && running->attempt == attempt;
}

std::string JobLifecycle::unfinished_text() const {
  constexpr std::size_t named_max = 5;
  std::string names;
  std::size_t named = 0;
  for (const JobRecord& record : records_) {
    if (record.end || record.cancelled || named == named_max) continue;
    names += (named++ == 0 ? "" : "; ") + state_text(record.id);
  }
  return names;
}

std::optional<Diagnostic> JobLifecycle::never_repaired() const {
  if (all_finished()) return std::nullopt;
  std::uint32_t out = cluster_.gpu_count() - cluster_.gpus_in_service();
  for (const HostId host : settings_.storage.hosts) out -= cluster_.gpu_count(host);
  const bool nobody_runs =
      std::none_of(running_.begin(), running_.end(), [this](JobId job) { return !running_state_[job.index()]->failed_at; });
  if (out == 0 || !nobody_runs) return std::nullopt;
  return Diagnostic{Severity::error, "never-repaired",
                    "the run ends with jobs that never got GPUs again: " + unfinished_text() + "; " + std::to_string(out) + " of " +
                        counted(cluster_.gpu_count(), "GPU is", "GPUs are") + " out of service",
                    SourcePlace::named("failure"), "make repairs shorter, failures rarer or the cluster larger"};
}

void JobLifecycle::require_all_finished() const {
  if (all_finished()) return;
  WEFT_CHECK(false, "every job has ended when the run is over, but " +
                        std::to_string(jobs_.size() - counters_.finished - counters_.cancelled) + " of " +
                        std::to_string(jobs_.size()) + " have not: " + unfinished_text());
}

}  // namespace weft
