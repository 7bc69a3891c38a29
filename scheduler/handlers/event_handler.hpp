// SPDX-License-Identifier: Apache-2.0
// Event handler: a module of the user's that watches the cluster and acts beside the policy -
// drains hosts, cancels jobs, ranks them anew, notes things.
//
// Where it sits: HandlerCalls tells every handler of a run, in the order of the scenario, of each
// ClusterEvent, after the event that brought it and before the next one. Handlers are chosen by
// name from event_handlers(), and a scenario names those of its run.
//
// Contract
//   1. A handler sees the cluster and the jobs, and acts, through a ClusterControl; what it does
//      holds at once, and its own doings are told like others'.
//   2. What happens within one event (a pass of the policy starts and stops many jobs) is told when
//      that is over, in order: a job that is told to have started may have been stopped by then,
//      which is told next.
//   3. What it does is a function of what it saw, so that runs repeat.
//   4. Of failures it learns as the scheduler does, at their detection. Nothing is told once the
//      last job has ended, its end included.
// Threads: called from the scheduler's logical process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "scheduler/failures/part.hpp"
#include "scheduler/lifecycle/cluster_state.hpp"
#include "scheduler/lifecycle/job_list.hpp"
#include "scheduler/lifecycle/job_record.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

struct ClusterEvent {
  enum class Kind : std::uint8_t {
    job_arrived,
    job_started,
    job_preempted,  ///< it waits again, as after the next two
    job_failed,     ///< a part that it needs
    job_moved,      ///< off a host that is drained
    job_ended,
    job_cancelled,
    part_failed,
    part_repaired,
    drain_announced,  ///< the host gets no new jobs
    drain_began,
    drain_ended,
    spare_joined,
    called,  ///< a scripted event calls this handler
    timer,   ///< this handler had asked for it
  };
  Kind kind = Kind::timer;
  JobId job = JobId::none();
  /// Of the last kinds but two; not of a part of the network.
  HostId host = HostId::none();
  std::optional<Part> part = {};         ///< that failed or was repaired
  std::optional<std::uint32_t> to = {};  ///< the only handler that is told; none: all are
};

/// One look at the cluster, and the power to act on it.
class ClusterControl {
 public:
  virtual ~ClusterControl() = default;
  virtual Time now() const = 0;
  virtual const ClusterState& cluster() const = 0;
  virtual const JobList& queue() const = 0;
  virtual const JobList& running() const = 0;
  virtual JobView job(JobId job) const = 0;
  virtual const JobRecord& record(JobId job) const = 0;
  virtual const std::string& name_of(JobId job) const = 0;

  // Each of these is a row of events.csv.
  /// Drains a host from now on, without notice, as scheduler/failures/maintenance_plan says.
  /// Returns false, having done nothing, if it is drained or about to be. Requires: duration > 0.
  virtual bool drain(HostId host, Duration duration) = 0;
  /// Returns false if the job has ended or was cancelled.
  virtual bool cancel(JobId job) = 0;
  /// For policies that go by priorities. Returns false if it has that one, has ended or was
  /// cancelled.
  virtual bool set_priority(JobId job, std::int32_t priority) = 0;
  /// Only the row.
  virtual void note(std::string_view event, std::string_view subject) = 0;

  /// Asks for ClusterEvent::Kind::timer at `when` > now(). Only the last such wish counts.
  virtual void wake_at(Time when) = 0;
};

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void happened(const ClusterEvent& cluster_event, ClusterControl& control) = 0;
};

using EventHandlerFactory = std::unique_ptr<EventHandler> (*)(const ParamSet& params);

/// Every handler there is.
std::span<const Module<EventHandlerFactory>> event_handlers();

/// A handler of a run.
struct NamedHandler {
  std::string name;
  std::unique_ptr<EventHandler> handler;
};

}  // namespace weft
