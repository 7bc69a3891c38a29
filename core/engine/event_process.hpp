// SPDX-License-Identifier: Apache-2.0
// Event process: the general logical process. It owns entities' turn-taking: one event queue, one
// event at a time.
//
// Where it sits: EngineBuilder makes one per part of the partition, and one that takes all events
// while one thread works for all (core/engine/engine_state); inside a BatchProcess
// (core/engine/batch_process) where switches share it. It is the EventContext that its entities
// talk to.
//
// Model: an event for an entity of this process goes straight into the queue, any other into the
// outbox; both carry the key (time, class, source, the source's own 64-bit sequence number), so the
// order in which an entity sees its events is the same for every partition. Each entity's handled
// events are chained into its own fingerprint.
// An event for the current instant is handled before time moves on even if its class precedes that
// of the event that posted it; entities joined by a connection of zero delay always share a
// process, so this does not depend on the partition either.
//
// Failures: an exception that leaves handle() leaves run_window() too; a CheckFailure gets the
// simulated time and the entity's name first. A message to an entity never connected, or faster
// than declared, is such a failure.
// Threads: as LogicalProcess.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/check.hpp"
#include "core/engine/entity.hpp"
#include "core/engine/entity_directory.hpp"
#include "core/engine/event_queue.hpp"
#include "core/engine/event_watcher.hpp"
#include "core/engine/logical_process.hpp"
#include "core/values/fingerprint.hpp"

namespace weft {

/// What every event of an entity needs, on a cache line of its own. One process at a time
/// touches it: the one that the entity lives in, or the one that has all events.
struct alignas(64) EntityTurns {
  Entity* entity = nullptr;
  EntityId id;
  bool apart = false;  ///< its events are handled by hand_over() instead of run_window()
  std::uint64_t next_sequence = 0;
  Fingerprint chain;
};

class alignas(64) EventProcess final : public LogicalProcess, private EventContext {
 public:
  /// `turns` has one for each entity of the run; both outlive the process.
  EventProcess(LpId lp, const EntityDirectory& directory, std::span<EntityTurns> turns);
  /// The process of all entities: nothing that it posts leaves it.
  EventProcess(const EntityDirectory& directory, std::span<EntityTurns> turns);

  /// From now on; it outlives the process.
  void watch(EventWatcher& watcher) { watcher_ = &watcher; }
  void post_initial(Event event) override;
  void receive(const Event& event) override { push(event); }
  void receive(std::span<const PortMessageTo> port_messages) override;
  std::uint64_t run_window(const Window& window, Outbox& outbox) override;
  Time next_event_time() const override { return std::min(queue_.top_time(), apart_.top_time()); }
  EventKey last_event_key() const override { return current_.key; }
  /// Whose event was handled last.
  EntityId last_target() const { return current_.target; }
  void add_to_fingerprints(std::span<std::uint64_t>) const override {}

  /// Hands each event held to the process that `process_of` names for its target. Requires: no
  /// members are set apart.
  template <class ProcessOf>
  void deal_events(const ProcessOf& process_of) {
    WEFT_CHECK(!has_apart_, "events of members set apart stay in their process");
    while (!queue_.empty()) {
      const Event event = queue_.pop();
      process_of(event.target).receive(event);
    }
  }

  // For members that do something outside handle(), in BatchProcess.
  /// Its events are handled by hand_over() instead of run_window(). Before any is posted.
  void set_apart(EntityId member);
  /// Handles events of members set apart, before `end`. Returns how many.
  std::uint64_t hand_over(Time end, Outbox& outbox);
  /// What is posted goes out as the member's, as of `now`; until the next call or run_window().
  EventContext& act_as(EntityId member, Time now);
  /// Throws the exception being handled again, with the time and the entity's name.
  [[noreturn]] void rethrow_with_place();

 private:
  Time now() const override { return current_.key.time; }
  EntityId self() const override { return current_.target; }
  Event make(EntityId target, Duration delay, EventClass event_class, std::uint16_t kind) override;
  void post(const Event& event) override;
  void push(const Event& event) { (has_apart_ && turns_[event.target.index()].apart ? apart_ : queue_).push(event); }
  std::uint64_t run(EventQueue& queue, Time end, std::uint64_t events_max);

  LpId lp_;
  bool has_all_ = false;    ///< entities of the run
  bool has_apart_ = false;  ///< members set apart
  const EntityDirectory* directory_;
  std::span<EntityTurns> turns_;
  EventQueue queue_;
  EventQueue apart_;  ///< of members set apart
  Event current_;
  EntityTurns* current_turns_ = nullptr;
  Outbox* outbox_ = nullptr;
  EventWatcher* watcher_ = nullptr;
};

}  // namespace weft
