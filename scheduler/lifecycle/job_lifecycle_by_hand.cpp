// JobLifecycle: what a scenario has happen by hand, and what handlers are told and do.
#include "scheduler/lifecycle/job_lifecycle.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.hpp"
#include "scheduler/lifecycle/job_lifecycle_events.hpp"

namespace weft {

/// What a handler sees and does.
class JobLifecycle::Control final : public ClusterControl {
 public:
  Control(JobLifecycle& lifecycle, EventContext& context, std::uint32_t handler)
      : lifecycle_(lifecycle), context_(context), handler_(handler) {}

  Time now() const override { return context_.now(); }
  const ClusterState& cluster() const override { return lifecycle_.cluster_; }
  const JobList& queue() const override { return lifecycle_.queue_; }
  const JobList& running() const override { return lifecycle_.running_; }
  JobView job(JobId job) const override { return lifecycle_.view(job, context_.now()); }
  const JobRecord& record(JobId job) const override { return lifecycle_.records_[job.index()]; }
  const std::string& name_of(JobId job) const override { return lifecycle_.jobs_[job.index()].name; }
  bool drain(HostId host, Duration duration) override {
    return done(lifecycle_.drain_now(host, duration, context_), "drain", "host" + std::to_string(host.index()));
  }
  bool cancel(JobId job) override { return done(lifecycle_.cancel(job, context_), "cancel", name_of(job)); }
  bool set_priority(JobId job, std::int32_t priority) override {
    return done(lifecycle_.set_priority(job, priority, context_), "priority", name_of(job) + "=" + std::to_string(priority));
  }
  void note(std::string_view event, std::string_view subject) override {
    lifecycle_.tell_event(event, subject, lifecycle_.settings_.handlers[handler_].name, context_.now());
  }
  void wake_at(Time when) override {
    WEFT_CHECK(when > context_.now(), "a handler is called again later");
    lifecycle_.handler_wake_[handler_] = when;
    context_.schedule(when - context_.now(), EventClass::timer, handler_wakes, HandlerTimer{handler_});
  }

 private:
  bool done(bool something, std::string_view event, const std::string& subject) {
    if (something) note(event, subject);
    return something;
  }

  JobLifecycle& lifecycle_;
  EventContext& context_;
  std::uint32_t handler_;
};

void JobLifecycle::take_scripted(const ScriptedEvent& event, EventContext& context) {
  if (event.kind == ScriptedEvent::Kind::set) change_settings(settings_.changes[changes_done_++], context);
  if (event.kind == ScriptedEvent::Kind::call) {
    ClusterEvent call{ClusterEvent::Kind::called};
    call.to = 0;
    while (settings_.handlers.at(*call.to).name != event.subject) ++*call.to;
    tell(call);
  }
  if (event.kind == ScriptedEvent::Kind::cancel && !cancel(job_called_.at(event.subject), context)) return;
  tell_event(to_text(event.kind), event.subject, "scenario", context.now());
}

void JobLifecycle::change_settings(SettingsChange& change, EventContext& context) {
  if (change.policy != nullptr) {
    settings_.policy = std::move(change.policy);
    arrived_.assign(queue_.begin(), queue_.end());
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

bool JobLifecycle::drain_now(HostId host, Duration duration, EventContext& context) {
  WEFT_CHECK(duration > Duration::zero(), "a drain takes time");
  if (drains_of_host_[host.index()] > 0) return false;
  const auto number = static_cast<std::uint32_t>(settings_.maintenance.drains.size());
  settings_.maintenance.drains.push_back({context.now(), host, duration});
  announce_drain(number);
  begin_drain(number, context);
  return true;
}

bool JobLifecycle::set_priority(JobId job, std::int32_t priority, EventContext& context) {
  const JobRecord& record = records_[job.index()];
  if (record.end || record.cancelled || jobs_[job.index()].priority == priority) return false;
  jobs_[job.index()].priority = priority;
  // A policy that knows the job ranks it anew.
  if (queue_.contains(job) && std::find(arrived_.begin(), arrived_.end(), job) == arrived_.end()) {
    left_.push_back(job);
    arrived_.push_back(job);
  }
  request_pass(context);
  return true;
}

void JobLifecycle::tell(const ClusterEvent& cluster_event) {
  if (!settings_.handlers.empty()) events_.push_back(cluster_event);
}

void JobLifecycle::tell_handlers(EventContext& context) {
  // What handlers do may happen in turn.
  for (std::size_t i = 0; i < events_.size() && !all_finished(); ++i) {
    const ClusterEvent cluster_event = events_[i];
    for (std::uint32_t number = 0; number < settings_.handlers.size(); ++number) {
      if (cluster_event.to && *cluster_event.to != number) continue;
      Control control(*this, context, number);
      settings_.handlers[number].handler->happened(cluster_event, control);
    }
  }
  events_.clear();
  if (!waiting_drains_.empty()) begin_work_on_idle_hosts(context);
}

bool JobLifecycle::cancel(JobId job, EventContext& context) {
  JobRecord& record = records_[job.index()];
  if (record.end || record.cancelled) return false;
  if (const Running* const running = running_state_[job.index()].get(); running != nullptr) {
    if (has_done_all(job, context.now())) return false;
    halt(job, context);
    leave_gpus(job, context.now(), Leaving::is_cancelled);
    counters_.last_end = context.now();
  } else if (queue_.contains(job)) {
    queue_.remove(job);
    waiting_gpus_ -= jobs_[job.index()].gpus;
    record.wait += context.now() - progress_[job.index()].queued;
    // The policy knows those that it was shown.
    if (std::erase(arrived_, job) == 0) left_.push_back(job);
  }
  record.lost_to_cancellation = record.useful();
  record.cancelled = context.now();
  ++counters_.cancelled;
  if (settings_.observer != nullptr) settings_.observer->job_cancelled(jobs_[job.index()], record);
  tell({ClusterEvent::Kind::job_cancelled, job});
  if (all_finished()) usage_.tell(sample());
  request_pass(context);
  return true;
}

void JobLifecycle::tell_event(std::string_view event, std::string_view subject, std::string_view by, Time now) const {
  if (settings_.observer != nullptr) settings_.observer->event_happened({now, event, subject, by});
}

}  // namespace weft
