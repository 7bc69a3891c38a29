// SPDX-License-Identifier: Apache-2.0
// Scripted events: what a scenario has happen at given times, and the record of what somebody
// outside the policy did.
//
// Where it sits: tools make the list of a scenario; JobLifecycle carries it out and tells its
// observer, which writes events.csv.
//
// Model
//   - Events of an instant come before all else that the scheduler does in it - arrivals, ends,
//     failures, passes of the policy -, in order of the list; only what hosts have reported by then
//     comes earlier. So a job that is cancelled when it would arrive never does. A job of job mode
//     whose end is due at that instant has ended as far as a cancellation is concerned.
//   - Drains, failures and jobs to submit are no different from those of plans, logs and traces,
//     and are to stand in these lists; here they are only named, for the record.
//   - What would happen after the last job has ended does not.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/values/units.hpp"

namespace weft {

struct ScriptedEvent {
  enum class Kind : std::uint8_t {
    drain,   ///< of a host; one of the maintenance plan
    fail,    ///< of a part; one of the failure log
    submit,  ///< of a job; one of the run's
    /// of the job named by `subject`: it gives back its GPUs, leaves the queue, or never arrives
    cancel,
    set,   ///< of settings, by the next of JobLifecycleSettings::changes
    call,  ///< of the handler named by `subject`
  };
  Time at;
  Kind kind = Kind::drain;
  std::string subject;  ///< as events.csv names it
};

/// As in events.csv.
constexpr std::string_view to_text(ScriptedEvent::Kind kind) {
  switch (kind) {
    case ScriptedEvent::Kind::drain:
      return "drain";
    case ScriptedEvent::Kind::fail:
      return "fail";
    case ScriptedEvent::Kind::submit:
      return "submit";
    case ScriptedEvent::Kind::cancel:
      return "cancel";
    case ScriptedEvent::Kind::set:
      return "set";
    case ScriptedEvent::Kind::call:
      return "call";
  }
  return "";
}

/// A row of events.csv.
struct EventRecord {
  Time at;
  std::string_view event;
  std::string_view subject;
  /// "scenario", or the handler (scheduler/handlers/event_handler) that did it
  std::string_view by;
};

}  // namespace weft
