// What the scheduler tells itself: kinds of its own events and their payloads.
//
// Where it sits: among the sources of JobLifecycle, which nobody else includes it for.
#pragma once

#include <cstdint>

#include "core/values/ids.hpp"

namespace weft {

enum SchedulerEvent : std::uint16_t {
  job_arrives = 210,       ///< payload SchedulerTimer
  job_ends = 211,          ///< payload SchedulerTimer; job mode, and jobs that are fast-forwarded
  scheduling_pass = 212,   ///< class settle, no payload
  policy_wakes = 213,      ///< no payload
  parts_fail = 214,        ///< no payload
  failure_detected = 215,  ///< payload OutageTimer, like the next
  part_works = 216,
  spare_joins = 217,   ///< payload SpareTimer
  drain_notice = 218,  ///< payload DrainTimer, like the next two
  drain_begins = 219,
  drain_ends = 220,
  job_moves = 221,  ///< payload SchedulerTimer
  job_lands = 222,  ///< likewise, as the next
  ranks_begin = 223,
  speeds_change = 224,  ///< no payload, as the next
  launch_ranks = 225,   ///< class settle
  take_snapshot = 226,
  resume = 227,
  scripted_event = 228,  ///< payload ScriptTimer
  handler_wakes = 229,   ///< payload HandlerTimer
};

/// Of parts and hosts, which nobody looks after once all jobs have ended.
constexpr bool is_of_service(std::uint16_t kind) { return kind >= parts_fail && kind <= drain_ends; }

struct SchedulerTimer {
  JobId job;
  std::uint32_t restarts = 0;  ///< of the job by then; if it has more by now, it was stopped since
  std::uint32_t parts = 0;     ///< of its attempt, likewise
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
