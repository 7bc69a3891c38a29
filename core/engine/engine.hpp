// SPDX-License-Identifier: Apache-2.0
// Engine: runs entities in simulated time, on one thread or many, with the same results.
//
// Where it sits: a simulation registers its entities, connections and first events with an
// EngineBuilder, builds an Engine, runs it, and reads its entities afterwards.
//   EngineBuilder builder;
//   const EntityId a = builder.add_entity(std::make_unique<Host>(...), "host0");
//   builder.connect_both(a, b, Duration::ns(500));
//   builder.post_initial(a, Time::zero(), EventClass::timer, start_event);
//   const RunReport report = std::move(builder).build({.threads = 2}).run({});
//
// Model: conservative windows. Entities are partitioned into logical processes
// (core/engine/partition); the least delay between two of them is the lookahead. A window begins at
// the earliest event anywhere and is at most one lookahead long: no message sent in it arrives in
// it, so all logical processes run it independently. Messages change hands at one barrier per
// window (core/engine/channel). Work is re-dealt by core/engine/load_balance; core/engine/pace
// chooses between one thread and several. A single logical process needs no windows, nor does one
// thread that has taken all events (core/engine/engine_state).
//
// Invariants
//   1. Fingerprint, final states, event count and end time depend on neither threads nor partition.
//   2. An exception from an entity stops the run at that window; the smallest event key wins.
//   3. After an interrupt or `until`, run() may be called again and continues where it stopped.
//   4. Messages sent in a window are received before the next.
// Threads: builder and engine belong to one thread; run() makes and joins its own threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.hpp"
#include "core/engine/entity.hpp"
#include "core/engine/event.hpp"
#include "core/engine/event_watcher.hpp"
#include "core/engine/partition.hpp"
#include "core/text/log.hpp"
#include "core/values/fingerprint.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

// --- How entities are dealt to logical processes ---

/// The longest lookahead that leaves `lps_per_thread_min` logical processes per thread; one logical
/// process for one thread.
struct PartitionAutomatic {
  std::uint32_t lps_per_thread_min = 2;
};
/// Entities connected with a delay below zeta share a logical process.
struct PartitionByZeta {
  Duration zeta;
};
/// Zeta from a table.
struct PartitionByTable {
  ZetaTable table = ZetaTable::standard();
  double mean_gpus_per_job = 0;
};
/// As given, one entry per entity. Requires: connections of zero delay stay inside a logical
/// process.
struct PartitionExplicit {
  std::vector<LpId> lp_of_entity;
};
using PartitionChoice = std::variant<PartitionAutomatic, PartitionByZeta, PartitionByTable, PartitionExplicit>;

// --- Options, control, report ---

struct EngineOptions {
  /// Told of every event; outlives the engine. Requires: one thread, no batch nodes.
  EventWatcher* watcher = nullptr;
  std::uint32_t threads = 1;  ///< >= 1; no more are used than there are logical processes
  PartitionChoice partition = PartitionAutomatic{};
  /// How often the balance is looked at; in the beginning up to 32 times as often.
  double redeal_interval_wall_s = 2.0;
  /// Re-deal when the busiest worker is this much above the mean.
  double redeal_imbalance = 0.05;
  /// Run windows on one thread as long as that is measured to be faster (core/engine/pace)
  bool measure_pace = true;
  // For tests, > 0: re-deal after every so many windows whatever the balance; change between one
  // thread and all after every so many.
  std::uint64_t redeal_every_windows = 0;
  std::uint64_t alternate_every_windows = 0;
  Log log;  ///< says which partition was made and when it was re-dealt
};

/// Where a run stands: everything before `sim_time` has happened.
struct RunProgress {
  Time sim_time;
  std::uint64_t events = 0;
};

struct RunControl {
  /// Events at this instant and later are left for a later run()
  Time until = Time::max();
  /// When it becomes true, the run ends after the current window.
  const std::atomic<bool>* interrupt = nullptr;
  /// When it becomes true, the run ends after the current window: an entity sets it that finds the
  /// run to be of no use.
  const std::atomic<bool>* abandon = nullptr;
  std::function<void(const RunProgress&)> progress;  ///< at most every 200 ms of wall time
};

struct WorkerCounters {
  std::uint64_t events = 0;
  /// To other logical processes; none while one thread goes on with all events.
  std::uint64_t messages = 0;
  std::uint64_t lp_runs = 0;  ///< calls of run_window()
};

struct RunReport {
  Time end_time;  ///< of the last event handled
  std::uint64_t events = 0;
  /// Or slices, with a single logical process and while one thread has all events. How many windows
  /// and messages there are depends on the partition, and on what pays.
  std::uint64_t windows = 0;
  std::uint64_t messages = 0;
  std::uint64_t redeals = 0;
  std::uint32_t lp_count = 0;
  Duration lookahead;  ///< Duration::max() if no two logical processes are connected
  /// Not after the first that is left for a later run(); max() if none is.
  Time next_event = Time::max();
  bool interrupted = false;
  std::vector<WorkerCounters> workers;
  Fingerprint fingerprint;
};

// --- Engine ---

class Engine {
 public:
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  /// Runs until no event is left before control.until, or until interrupted. Counts in the report
  /// are since the engine was built. Rethrows what an entity threw; the engine cannot run any
  /// further then, but its entities stay readable.
  RunReport run(const RunControl& control);

  std::size_t entity_count() const;
  Entity& entity(EntityId id) const;
  const std::string& entity_name(EntityId id) const;
  /// The entity as what it was registered as. Requires: it is a T (WEFT_CHECK).
  template <class T>
  T& entity_as(EntityId id) const {
    T* typed = dynamic_cast<T*>(&entity(id));
    WEFT_CHECK(typed != nullptr, "entity \"" + entity_name(id) + "\" has the type asked for");
    return *typed;
  }
  LpId lp_of(EntityId id) const;

 private:
  friend class EngineBuilder;
  struct State;
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class EngineBuilder {
 public:
  EngineBuilder();
  ~EngineBuilder();
  EngineBuilder(EngineBuilder&&) noexcept;
  EngineBuilder& operator=(EngineBuilder&&) noexcept;

  /// Ids are dense, in order of registration. `name` is what messages call it ("host3").
  EntityId add_entity(std::unique_ptr<Entity> entity, std::string name);
  /// The id of an entity that others must know before it can be made. Requires: define() follows,
  /// once.
  EntityId declare(std::string name);
  void define(EntityId declared, std::unique_ptr<Entity> entity);

  /// `from` may send to `to`, with at least `min_delay` (>= 0). Of several declarations the
  /// smallest delay counts. Entities always may schedule for themselves. Zero delay makes both
  /// share a logical process.
  void connect(EntityId from, EntityId to, Duration min_delay);
  /// connect() both ways.
  void connect_both(EntityId a, EntityId b, Duration min_delay);
  /// Everyone may send to everyone with at least `min_delay`, unless declared otherwise by
  /// connect().
  void connect_all(Duration min_delay);

  /// An event for `target` at `at` >= 0, as if the target had scheduled it itself.
  template <class Payload>
  void post_initial(EntityId target, Time at, EventClass event_class, std::uint16_t kind, const Payload& payload) {
    Event event = make_initial(target, at, event_class, kind);
    event.set_payload(payload);
    initial_.push_back(event);
  }
  void post_initial(EntityId target, Time at, EventClass event_class, std::uint16_t kind) {
    initial_.push_back(make_initial(target, at, event_class, kind));
  }

  std::size_t entity_count() const;

  Engine build(EngineOptions options) &&;

 private:
  static Event make_initial(EntityId target, Time at, EventClass event_class, std::uint16_t kind);

  struct Registered {
    std::unique_ptr<Entity> entity;
    std::string name;
  };
  std::vector<Registered> registered_;
  std::vector<PartitionEdge> edges_;
  std::vector<Event> initial_;
  std::optional<Duration> min_delay_of_all_;
};

}  // namespace weft
