// SPDX-License-Identifier: Apache-2.0
#include "scheduler/handlers/handler_calls.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "scheduler/lifecycle/scheduler_events.hpp"

namespace weft {

/// What one handler sees and does while it is told of one event.
class HandlerCalls::Control final : public ClusterControl {
 public:
  Control(HandlerCalls& calls, std::uint32_t handler, EventContext& context)
      : calls_(calls), actions_(calls.actions_), handler_(handler), context_(context) {}

  Time now() const override { return context_.now(); }
  const ClusterState& cluster() const override { return actions_.cluster(); }
  const JobList& queue() const override { return actions_.queue(); }
  const JobList& running() const override { return actions_.running(); }
  JobView job(JobId job) const override { return actions_.job(job, context_.now()); }
  const JobRecord& record(JobId job) const override { return actions_.record(job); }
  const std::string& name_of(JobId job) const override { return actions_.name_of(job); }
  bool drain(HostId host, Duration duration) override {
    return done(actions_.drain(host, duration, context_), "drain", fmt::format("host{}", host.index()));
  }
  bool cancel(JobId job) override { return done(actions_.cancel(job, context_), "cancel", name_of(job)); }
  bool set_priority(JobId job, std::int32_t priority) override {
    return done(actions_.set_priority(job, priority, context_), "priority", fmt::format("{}={}", name_of(job), priority));
  }
  void note(std::string_view event, std::string_view subject) override {
    actions_.note({context_.now(), event, subject, calls_.handlers_[handler_].name});
  }
  void wake_at(Time when) override {
    WEFT_CHECK(when > context_.now(), "a handler is called again later");
    calls_.wakes_[handler_] = when;
    context_.schedule(when - context_.now(), EventClass::timer, handler_wakes, HandlerTimer{handler_});
  }

 private:
  bool done(bool something, std::string_view event, const std::string& subject) {
    if (something) note(event, subject);
    return something;
  }

  HandlerCalls& calls_;
  ClusterActions& actions_;
  std::uint32_t handler_;
  EventContext& context_;
};

HandlerCalls::HandlerCalls(std::vector<NamedHandler> handlers, ClusterActions& actions)
    : handlers_(std::move(handlers)), actions_(actions), wakes_(handlers_.size()) {}

void HandlerCalls::note(const ClusterEvent& cluster_event) {
  if (!handlers_.empty()) news_.push_back(cluster_event);
}

void HandlerCalls::note_call(std::string_view handler) {
  ClusterEvent call{ClusterEvent::Kind::called};
  call.to = 0;
  while (handlers_.at(*call.to).name != handler) ++*call.to;
  note(call);
}

void HandlerCalls::note_wake(std::uint32_t handler) {
  ClusterEvent timer;
  timer.to = handler;
  note(timer);
}

void HandlerCalls::tell(EventContext& context) {
  // The list grows by what handlers do.
  for (std::size_t i = 0; i < news_.size() && !actions_.is_over(); ++i) {
    const ClusterEvent cluster_event = news_[i];
    for (std::uint32_t number = 0; number < handlers_.size(); ++number) {
      if (cluster_event.to && *cluster_event.to != number) continue;
      Control control(*this, number, context);
      handlers_[number].handler->happened(cluster_event, control);
    }
  }
  news_.clear();
}

}  // namespace weft
