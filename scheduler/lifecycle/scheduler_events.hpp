// SPDX-License-Identifier: Apache-2.0
// Scheduler events: the kinds of events that the scheduler sends to itself, and their payloads.
//
// Where it sits: included by JobLifecycle and by the parts of it that set timers.
//
// Model: a timer of a job carries the generation of the attempt that set it. A job awaits at most
// one timer at a time (scheduler/lifecycle/job_attempt), and every other one is stale.
// Thread safety: values.
#pragma once

#include <cstdint>

#include "core/values/ids.hpp"

namespace weft {

enum SchedulerEvent : std::uint16_t {
  job_arrives = 210,       ///< payload JobTimer
  job_ends = 211,          ///< payload JobTimer; job mode, and jobs that are fast-forwarded
  scheduling_pass = 212,   ///< class settle, no payload
  policy_wakes = 213,      ///< no payload
  parts_fail = 214,        ///< no payload
  failure_detected = 215,  ///< payload OutageTimer
  part_works = 216,        ///< payload OutageTimer
  spare_joins = 217,       ///< payload SpareTimer
  drain_notice = 218,      ///< payload DrainTimer
  drain_begins = 219,      ///< payload DrainTimer
  drain_ends = 220,        ///< payload DrainTimer
  job_moves = 221,         ///< payload JobTimer
  job_resumes = 222,       ///< payload JobTimer; of a job that is fast-forwarded
  ranks_begin = 223,       ///< payload JobTimer
  speeds_change = 224,     ///< no payload
  launch_ranks = 225,      ///< class settle, no payload
  take_snapshot = 226,     ///< no payload
  restore_snapshot = 227,  ///< no payload
  scripted_event = 228,    ///< payload ScriptTimer
  handler_wakes = 229,     ///< payload HandlerTimer
};

/// Whether an event is about parts and hosts, which nobody looks after once all jobs have ended.
constexpr bool is_of_service(std::uint16_t kind) { return kind >= parts_fail && kind <= drain_ends; }

/// Number of a stretch of a job's life. It changes whenever a timer that was set becomes stale.
struct Generation {
  std::uint32_t restarts = 0;  ///< starts of the job before this attempt
  std::uint32_t part = 0;      ///< of the attempt

  friend bool operator==(const Generation&, const Generation&) = default;
};

struct JobTimer {
  JobId job;
  Generation generation = {};
};
struct OutageTimer {
  std::uint32_t outage = 0;
};
struct DrainTimer {
  std::uint32_t drain = 0;
};
struct ScriptTimer {
  std::uint32_t event = 0;
};
struct HandlerTimer {
  std::uint32_t handler = 0;
};
struct SpareTimer {
  HostId host;
};

}  // namespace weft
