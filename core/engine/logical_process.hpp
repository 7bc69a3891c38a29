// SPDX-License-Identifier: Apache-2.0
// Logical process: a part of the simulated world whose state nobody else touches.
//
// Where it sits: the engine asks a logical process (LP) one thing, run_window(); how the LP orders
// its own work inside is its business. EventProcess is the general one, with an event queue;
// BatchProcess holds switches, which sort the arrivals of a window.
//
// Invariants an LP keeps
//   1. It handles exactly its events with time in [window.begin, window.end), each entity's in key
//      order.
//   2. Everything it does is a function of its state and of the set of messages received, not of
//      their order.
//   3. What it sends to other LPs arrives at or after window.end.
// Threads: one worker at a time; which one may change between windows.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/engine/event.hpp"
#include "core/engine/outbox.hpp"
#include "core/engine/port_message.hpp"

namespace weft {

/// The half-open span of simulated time to handle now.
struct Window {
  Time begin;
  Time end;
  /// An LP that is alone in its run, or has all events, may return early once it has handled this
  /// many.
  std::uint64_t events_max = std::numeric_limits<std::uint64_t>::max();
};

/// `span` after `begin`, or never where that is beyond the clock.
inline Time later(Time begin, Duration span) { return Time::max() - begin > span ? begin + span : Time::max(); }

class LogicalProcess {
 public:
  virtual ~LogicalProcess() = default;

  /// Puts an event there before the run, as if its target, an entity of this process, had scheduled
  /// it for itself.
  virtual void post_initial(Event event) = 0;

  /// A message arrived, between windows, for the next or a later one.
  virtual void receive(const Event& event) = 0;
  virtual void receive(std::span<const PortMessageTo> port_messages) = 0;

  /// Handles what falls into the window. Returns the number of events handled.
  /// The engine does not call it for windows in which there is nothing to do.
  virtual std::uint64_t run_window(const Window& window, Outbox& outbox) = 0;

  /// Time of the earliest event or port message held; Time::max() if there is none.
  virtual Time next_event_time() const = 0;

  /// Key of the event handled last. When run_window() throws, it tells which of several failures
  /// came first.
  virtual EventKey last_event_key() const = 0;

  /// Takes what members do besides handling events into chain_of_entity[id.index()], which has
  /// their events.
  virtual void add_to_fingerprints(std::span<std::uint64_t> chain_of_entity) const = 0;
};

}  // namespace weft
