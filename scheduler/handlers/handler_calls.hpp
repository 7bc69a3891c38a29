// SPDX-License-Identifier: Apache-2.0
// Handler calls: what handlers of a run are told, when, and what they do.
//
// Where it sits: JobLifecycle notes what happens and has handlers told after each event. What
// handlers do goes to the ClusterActions that the lifecycle provides.
//
// Model: everything noted is told to every handler, in order, unless it is for one of them. What
// handlers do is noted and told in the same round. Of a handler's wishes to be woken the last
// counts.
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/entity.hpp"
#include "scheduler/handlers/event_handler.hpp"

namespace weft {

/// What handlers may see and do, apart from being woken. Functions as in ClusterControl.
class ClusterActions {
 public:
  virtual ~ClusterActions() = default;
  /// All jobs have ended or were cancelled: nothing is told any more.
  virtual bool is_over() const = 0;
  virtual const ClusterState& cluster() const = 0;
  virtual const JobList& queue() const = 0;
  virtual const JobList& running() const = 0;
  virtual JobView job(JobId job, Time now) const = 0;
  virtual const JobRecord& record(JobId job) const = 0;
  virtual const std::string& name_of(JobId job) const = 0;
  virtual bool drain(HostId host, Duration duration, EventContext& context) = 0;
  virtual bool cancel(JobId job, EventContext& context) = 0;
  virtual bool set_priority(JobId job, std::int32_t priority, EventContext& context) = 0;
  /// A row of events.csv.
  virtual void note(const EventRecord& row) = 0;
};

class HandlerCalls {
 public:
  /// Keeps a reference.
  HandlerCalls(std::vector<NamedHandler> handlers, ClusterActions& actions);

  bool empty() const { return handlers_.empty(); }
  /// Handlers are to be told, after the event that is under way.
  void note(const ClusterEvent& cluster_event);
  /// A scripted event calls the handler. Requires: there is one of that name.
  void note_call(std::string_view handler);
  /// At the timer of a handler.
  void note_wake(std::uint32_t handler);
  bool has_news() const { return !news_.empty(); }
  /// Tells handlers all that was noted, and what they do meanwhile.
  void tell(EventContext& context);
  /// Whether the handler still wants to be woken at that time.
  bool wants_wake(std::uint32_t handler, Time at) const { return wakes_[handler] == at; }

 private:
  class Control;

  std::vector<NamedHandler> handlers_;
  ClusterActions& actions_;
  std::vector<ClusterEvent> news_;
  std::vector<Time> wakes_;  ///< by handler; in the past if it wants none
};

}  // namespace weft
