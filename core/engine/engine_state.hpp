// SPDX-License-Identifier: Apache-2.0
// Engine state: the workers of an engine, what they share, and the loop that each of them runs.
//
// Where it sits: behind core/engine/engine, whose builder fills it and whose run() starts the
// workers on their threads.
//
// Model: see core/engine/engine.hpp. All workers come to the same decision from the same reports,
// so that one barrier per window is enough:
//   publish report | barrier | read reports, receive messages, run the window | publish ...
// While several threads do not pay (core/engine/pace), the coordinating worker, the first, does all
// this for everyone (`solo`) and the others wait at the barrier, into which it comes again when it
// wants them back. Where all processes are event processes, one takes their events as long as that
// lasts, `joint`, as in a run of a single process: windows are numbers of events then.
// Threads: a worker belongs to its thread; what is shared changes only while the others wait at a
// barrier, by the coordinating worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/agenda.hpp"
#include "core/engine/channel.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/entity_directory.hpp"
#include "core/engine/event.hpp"
#include "core/engine/event_process.hpp"
#include "core/engine/logical_process.hpp"
#include "core/engine/outbox.hpp"
#include "core/engine/pace.hpp"
#include "core/engine/window_barrier.hpp"
#include "core/values/units.hpp"

namespace weft {

struct Engine::State {
  using WallClock = std::chrono::steady_clock;

  /// A logical process and what its worker knows about it.
  struct alignas(64) LpSlot : Agenda::Item {
    std::unique_ptr<LogicalProcess> process;
    std::uint64_t weight = 1;  ///< for the first deal
    std::uint64_t events_since_redeal = 0;
    std::uint64_t timed_ns_since_redeal = 0;
    std::uint64_t timed_events_since_redeal = 0;
    bool failed = false;
  };

  /// What a worker tells the others at the barrier. Two of them alternate, so that nobody
  /// overwrites what another still reads.
  struct alignas(64) WorkerReport {
    Time earliest = Time::max();
    Time failed_at = Time::max();
    std::uint64_t events = 0;
    std::uint64_t busy_ns = 0;  ///< in the window that is over
    // Messages, in builds that audit: sent up to the window before the one that is over, and
    // received since then and before.
    std::uint64_t sent_before = 0;
    std::uint64_t received = 0;
    // Set by the coordinating worker only.
    bool stop = false;
    bool redeal = false;
    bool solo = false;  ///< the coordinating worker runs the next window for everyone
  };

  /// What all workers conclude from the reports.
  struct WindowDecision {
    Time begin = Time::max();
    Time failed_at = Time::max();
    bool stop = false;
    bool redeal = false;
    bool solo = false;
  };

  struct Failure {
    EventKey key;
    std::exception_ptr error;
  };

  struct alignas(64) Worker {
    std::uint32_t index = 0;
    Agenda agenda;
    std::optional<Outbox> outbox;
    WorkerCounters counters;
    std::optional<Failure> failure;
    Time last_event;
    std::uint64_t busy_ns = 0;      ///< in the window that is over
    bool has_long_windows = false;  ///< its logical processes had much to do in the last window
    /// By its last report; counted in builds that audit, like the next.
    std::uint64_t sent_audited = 0;
    std::uint64_t received_audited = 0;
    WorkerReport reports[2];
  };

  /// What the coordinating worker keeps an eye on between windows.
  struct Watch {
    WallClock::time_point start;
    WallClock::time_point next_progress;
    std::uint64_t windows_since_look = 0;
    std::uint64_t events_at_look = 0;
    WallClock::time_point met;  ///< at the barrier, last
  };

  void make_workers(std::uint32_t worker_count);
  void fill_agendas();
  std::vector<std::uint64_t> loads() const;
  std::uint64_t balance_interval_ns() const { return static_cast<std::uint64_t>(options.redeal_interval_wall_s * 1e9); }
  bool wants_redeal(std::uint64_t wall_ns);
  void redeal();

  void work(Worker& me, const RunControl& control, WindowBarrier& barrier);
  void run_processes(Worker& me, const Window& window, bool timed);
  void run_joint(Worker& me, const Window& window);
  void join();
  void part();
  void receive(Worker& me);
  void publish(Worker& worker, std::size_t parity);
  void coordinate(Worker& me, const RunControl& control, Watch& watch, Time reached, std::size_t parity);
  void note_overlap(Watch& watch, std::size_t parity, bool skip);
  bool wants_solo(std::uint64_t wall_ns, std::uint64_t events, bool solo);
  WindowDecision decide(std::size_t parity) const;
  void note_failure(Worker& me, const EventKey& key);
  void fail(Worker& me, LpSlot& slot);

  EngineOptions options;
  EntityDirectory directory;
  Duration lookahead;
  Duration window_span;  ///< how long windows are
  std::vector<LpSlot> slots;
  std::vector<EntityTurns> turns;     ///< by EntityId
  std::optional<EventProcess> joint;  ///< of all, where slots are event processes
  bool is_joint = false;              ///< it has all events
  std::vector<std::uint32_t> worker_of_lp;
  /// From worker w to worker r at w * workers + r.
  std::vector<std::unique_ptr<LocalChannel>> channels;
  std::vector<std::unique_ptr<Worker>> workers;
  std::uint64_t windows = 0;
  std::uint64_t redeals = 0;
  Pace pace{1};
  Pace::Overlap overlap;
  /// What earlier calls of run() took; those below count from there.
  std::uint64_t wall_ns_before = 0;
  std::uint64_t next_balance_ns = 0;  ///< when the balance is looked at again
  std::uint64_t balance_wait_ns = 0;  ///< between that and the look after it
  bool interrupted = false;
  Time next_event = Time::max();
  bool broken = false;
  // What the coordinating worker, having run windows alone, tells the others before it meets them
  // at the barrier again.
  std::uint64_t resume_at_window = 0;
  bool finished_alone = false;
};

}  // namespace weft
