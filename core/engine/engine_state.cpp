// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine_state.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/engine/load_balance.hpp"
#include "core/engine/port_message.hpp"
#include "core/text/log.hpp"

namespace weft {

namespace {

constexpr std::uint64_t slice_events = 16384;  // about a millisecond of work
/// Of the process that has all: no more than some milliseconds of work. Few where a test changes
/// its ways all the time.
std::uint64_t joint_slice_events(const EngineOptions& options) { return options.alternate_every_windows > 0 ? 8 : 1024; }
// Windows whose time is taken per logical process: one in so many, and every one after a window
// with at least so many events per process.
constexpr std::uint64_t timed_windows = 16;
constexpr std::uint64_t timed_events_min = 256;
// The coordinating worker reads the clock at least once in so many windows, or events of its own.
constexpr std::uint64_t windows_per_look = 16;
constexpr std::uint64_t events_per_look = 4096;
// In windows from this length on, waiting for a core does not count as work. In shorter ones it
// does, as others wait for this worker meanwhile.
constexpr std::uint64_t long_window_ns = 50'000;
// The first look at the balance comes after this part of its interval.
constexpr std::uint64_t first_look_share = 32;
constexpr auto progress_interval = std::chrono::milliseconds(200);

std::uint64_t wall_ns_since(std::chrono::steady_clock::time_point start, std::chrono::steady_clock::time_point now) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now - start).count());
}

/// How long this thread works.
class Stopwatch {
 public:
  /// By the time it had on a core, which takes longer to read, or by the wall clock.
  Stopwatch(bool runs, bool on_core) : runs_(runs), on_core_(on_core), start_(now()) {}
  std::uint64_t ns() const { return now() - start_; }

 private:
  std::uint64_t now() const {
    if (!runs_) return 0;
    timespec time{};
    clock_gettime(on_core_ ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  }

  bool runs_;
  bool on_core_;
  std::uint64_t start_;
};

}  // namespace

// --- Workers ---

void Engine::State::make_workers(std::uint32_t worker_count) {
  std::vector<std::uint64_t> weights;
  for (const LpSlot& slot : slots) weights.push_back(slot.weight);
  worker_of_lp = deal_in_blocks(weights, worker_count);
  for (std::uint32_t i = 0; i < worker_count * worker_count; ++i) channels.push_back(std::make_unique<LocalChannel>());
  for (std::uint32_t w = 0; w < worker_count; ++w) {
    auto worker = std::make_unique<Worker>();
    worker->index = w;
    std::vector<Channel*> channel_to;
    for (std::uint32_t r = 0; r < worker_count; ++r) channel_to.push_back(channels[w * worker_count + r].get());
    worker->outbox.emplace(directory, worker_of_lp, std::move(channel_to));
    workers.push_back(std::move(worker));
  }
  fill_agendas();
  pace = Pace(worker_count);
  balance_wait_ns = balance_interval_ns() / first_look_share;
  next_balance_ns = balance_wait_ns;
}

void Engine::State::fill_agendas() {
  for (const auto& worker : workers) worker->agenda.clear();
  for (std::size_t lp = 0; lp < slots.size(); ++lp) {
    LpSlot& slot = slots[lp];
    slot.next = slot.failed ? Time::max() : slot.process->next_event_time();
    workers[worker_of_lp[lp]]->agenda.add(&slot);
  }
}

std::vector<std::uint64_t> Engine::State::loads() const {
  // What an event takes, by what was timed of each, or of all.
  std::uint64_t timed_ns = 0;
  std::uint64_t timed_events = 0;
  for (const LpSlot& slot : slots) {
    timed_ns += slot.timed_ns_since_redeal;
    timed_events += slot.timed_events_since_redeal;
  }
  const auto ns_per_event = [](std::uint64_t ns, std::uint64_t events, double otherwise) {
    return events > 0 ? static_cast<double>(ns) / static_cast<double>(events) : otherwise;
  };
  const double of_all = ns_per_event(timed_ns, timed_events, 1);
  std::vector<std::uint64_t> loads;
  for (const LpSlot& slot : slots) {
    const double of_slot = ns_per_event(slot.timed_ns_since_redeal, slot.timed_events_since_redeal, of_all);
    loads.push_back(static_cast<std::uint64_t>(of_slot * static_cast<double>(slot.events_since_redeal)));
  }
  return loads;
}

bool Engine::State::wants_redeal(std::uint64_t wall_ns) {
  if (workers.size() < 2) return false;
  const bool forced = options.redeal_every_windows > 0 && windows % options.redeal_every_windows == 0;
  if (!forced && wall_ns < next_balance_ns) return false;
  balance_wait_ns = std::min(2 * balance_wait_ns, balance_interval_ns());
  next_balance_ns = wall_ns + balance_wait_ns;
  return true;
}

// Called while every other worker waits and all messages are received.
void Engine::State::redeal() {
  const auto worker_count = static_cast<std::uint32_t>(workers.size());
  const bool forced = options.redeal_every_windows > 0;
  const std::vector<std::uint64_t> load = loads();
  for (LpSlot& slot : slots) {
    slot.events_since_redeal = 0;
    slot.timed_ns_since_redeal = 0;
    slot.timed_events_since_redeal = 0;
  }
  const double before = imbalance(load, worker_of_lp, worker_count);
  if (!forced && before <= options.redeal_imbalance) return;
  std::vector<std::uint32_t> dealt = deal_by_load(load, worker_count);
  if (forced) {
    // Every process moves now and then, however well it is placed.
    for (std::uint32_t& worker : dealt) worker = static_cast<std::uint32_t>((worker + redeals) % worker_count);
  } else if (imbalance(load, dealt, worker_count) >= before) {
    return;
  }
  worker_of_lp = std::move(dealt);
  fill_agendas();
  ++redeals;
  if (options.log.wants(LogLevel::debug)) {
    options.log.debug(fmt::format("re-dealt {} logical processes: the busiest worker was {} % above the mean", slots.size(),
                                  static_cast<int>(before * 100)));
  }
}

// --- One window ---

void Engine::State::note_failure(Worker& me, const EventKey& key) {
  if (!me.failure || key < me.failure->key) me.failure = Failure{key, std::current_exception()};
}

/// The process is not asked for anything any more, because of the exception that is being handled.
void Engine::State::fail(Worker& me, LpSlot& slot) {
  note_failure(me, slot.process->last_event_key());
  slot.failed = true;
  me.agenda.move(&slot, Time::max());
}

void Engine::State::receive(Worker& me) {
  for (std::size_t writer = 0; writer < workers.size(); ++writer) {
    const Channel::Contents arrived = channels[writer * workers.size() + me.index]->read();
    const auto receive = [&](LpSlot& slot, const auto& messages) {
      if (slot.failed) return;
      try {
        slot.process->receive(messages);
        const Time next = slot.process->next_event_time();
        if (next < slot.next) me.agenda.move(&slot, next);
      } catch (...) {
        fail(me, slot);
      }
    };
    if constexpr (audits_state) {
      me.received_audited += arrived.events.size();
      for (const LpId lp : arrived.lps) me.received_audited += arrived.port_messages_to[lp.index()].size();
    }
    for (const Event& event : arrived.events) receive(slots[directory.place(event.target).lp.index()], event);
    for (const LpId lp : arrived.lps) receive(slots[lp.index()], std::span(arrived.port_messages_to[lp.index()]));
  }
}

void Engine::State::run_processes(Worker& me, const Window& window, bool timed) {
  std::uint64_t events_left = window.events_max;
  const std::uint64_t events_before = me.counters.events;
  const std::uint64_t runs_before = me.counters.lp_runs;
  WallClock::time_point started = timed ? WallClock::now() : WallClock::time_point();
  while (events_left > 0 && me.agenda.earliest() < window.end) {
    LpSlot& slot = static_cast<LpSlot&>(*me.agenda.top());
    try {
      const std::uint64_t handled = slot.process->run_window({window.begin, window.end, events_left}, *me.outbox);
      me.counters.events += handled;
      slot.events_since_redeal += handled;
      events_left -= std::min(handled, events_left);
      me.agenda.move(&slot, slot.process->next_event_time());
      if (timed) slot.timed_events_since_redeal += handled;
    } catch (...) {
      fail(me, slot);
    }
    ++me.counters.lp_runs;
    me.last_event = std::max(me.last_event, slot.process->last_event_key().time);
    if (timed) {
      const WallClock::time_point now = WallClock::now();
      slot.timed_ns_since_redeal += wall_ns_since(started, now);
      started = now;
    }
  }
  const std::uint64_t runs = me.counters.lp_runs - runs_before;
  me.has_long_windows = runs > 0 && me.counters.events - events_before >= timed_events_min * runs;
}

// --- All in one process ---

// Called while every other worker waits and all messages are received.
void Engine::State::join() {
  if (!joint || std::ranges::any_of(slots, &LpSlot::failed)) return;
  const WallClock::time_point start = WallClock::now();
  for (LpSlot& slot : slots) {
    static_cast<EventProcess&>(*slot.process).deal_events([&](EntityId) -> LogicalProcess& { return *joint; });
  }
  for (const auto& worker : workers) worker->agenda.clear();
  is_joint = true;
  pace.pause(wall_ns_since(start, WallClock::now()));
}

// Likewise.
void Engine::State::part() {
  if (!is_joint) return;
  const WallClock::time_point start = WallClock::now();
  joint->deal_events([&](EntityId id) -> LogicalProcess& { return *slots[directory.place(id).lp.index()].process; });
  is_joint = false;
  fill_agendas();
  pace.pause(wall_ns_since(start, WallClock::now()));
}

void Engine::State::run_joint(Worker& me, const Window& window) {
  try {
    ++me.counters.lp_runs;
    me.counters.events += joint->run_window(window, *me.outbox);
  } catch (...) {
    // The others go on by themselves, up to this instant.
    note_failure(me, joint->last_event_key());
    slots[directory.place(joint->last_target()).lp.index()].failed = true;
    part();
  }
  me.last_event = std::max(me.last_event, joint->last_event_key().time);
}

// --- Between windows ---

void Engine::State::publish(Worker& worker, std::size_t parity) {
  WorkerReport& report = worker.reports[parity];
  report = WorkerReport{};
  report.earliest = std::min({worker.agenda.earliest(), worker.outbox->earliest(),
                              worker.index == 0 && is_joint ? joint->next_event_time() : Time::max()});
  report.events = worker.counters.events;
  report.busy_ns = worker.busy_ns;
  if (worker.failure) report.failed_at = worker.failure->key.time;
  if constexpr (audits_state) {
    report.sent_before = std::exchange(worker.sent_audited, worker.outbox->message_count());
    report.received = worker.received_audited;
  }
  worker.outbox->close_window();
}

Engine::State::WindowDecision Engine::State::decide(std::size_t parity) const {
  WindowDecision decision;
  for (const auto& worker : workers) {
    decision.begin = std::min(decision.begin, worker->reports[parity].earliest);
    decision.failed_at = std::min(decision.failed_at, worker->reports[parity].failed_at);
  }
  if constexpr (audits_state) {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (const auto& worker : workers) {
      sent += worker->reports[parity].sent_before;
      received += worker->reports[parity].received;
    }
    WEFT_CHECK(sent == received, "what logical processes send each other in a window is received before the next");
  }
  const WorkerReport& of_coordinator = workers[0]->reports[parity];
  decision.stop = of_coordinator.stop;
  decision.redeal = of_coordinator.redeal;
  decision.solo = of_coordinator.solo;
  return decision;
}

bool Engine::State::wants_solo(std::uint64_t wall_ns, std::uint64_t events, bool solo) {
  if (workers.size() < 2) return false;
  if (options.alternate_every_windows > 0) return windows / options.alternate_every_windows % 2 == 1;
  if (!options.measure_pace) return solo;
  return pace.look(wall_ns, events, overlap) == Pace::Mode::one_thread;
}

/// At the barrier, after a window that counts unless `skip`.
void Engine::State::note_overlap(Watch& watch, std::size_t parity, bool skip) {
  const WallClock::time_point now = WallClock::now();
  if (!skip) {
    overlap.wall_ns += wall_ns_since(watch.met, now);
    for (const auto& worker : workers) overlap.busy_ns += worker->reports[parity].busy_ns;
  }
  watch.met = now;
}

// Between windows: what only the coordinating worker looks after, added to its report.
void Engine::State::coordinate(Worker& me, const RunControl& control, Watch& watch, Time reached, std::size_t parity) {
  WorkerReport& report = me.reports[parity];
  report.solo = me.reports[parity ^ 1U].solo;
  const auto is_set = [](const std::atomic<bool>* flag) { return flag != nullptr && flag->load(std::memory_order_relaxed); };
  if (is_set(control.interrupt) || is_set(control.abandon)) {
    report.stop = true;
    return;
  }
  const bool look_always = options.redeal_every_windows > 0 || options.alternate_every_windows > 0 ||
                           (workers.size() > 1 && options.measure_pace && pace.trying());
  if (!look_always && ++watch.windows_since_look < windows_per_look &&
      me.counters.events - watch.events_at_look < events_per_look) {
    return;
  }
  watch.windows_since_look = 0;
  watch.events_at_look = me.counters.events;
  const WallClock::time_point now = WallClock::now();
  std::uint64_t events = me.counters.events;
  for (const auto& worker : workers) {
    if (worker->index != me.index) events += worker->reports[parity ^ 1U].events;
  }
  const std::uint64_t wall_ns = wall_ns_before + wall_ns_since(watch.start, now);
  report.solo = wants_solo(wall_ns, events, report.solo);
  report.redeal = !report.solo && wants_redeal(wall_ns);
  if (control.progress && now >= watch.next_progress) {
    watch.next_progress = now + progress_interval;
    control.progress({reached, events});
  }
}

// Every worker runs this loop (see the header).
void Engine::State::work(Worker& me, const RunControl& control, WindowBarrier& barrier) {
  const bool coordinating = me.index == 0;
  const bool alone = workers.size() == 1;
  const auto everyone = std::span(workers);
  const auto own = everyone.subspan(me.index, 1);
  // Processes that cannot reach each other may stop anywhere; then a window is a number of events.
  const bool sliced = lookahead == Duration::max();
  Watch watch;
  if (coordinating) {
    watch.start = WallClock::now();
    watch.next_progress = watch.start + progress_interval;
    watch.met = watch.start;
  }
  Time reached;
  bool solo = false;  // the window that is over was run by the coordinating worker alone
  const bool measures = !alone && options.measure_pace;
  bool called_back = false;
  std::uint64_t window_number = 0;
  me.reports[1].solo = false;
  me.outbox->open_window(Time::zero());
  while (true) {
    const std::size_t parity = window_number & 1U;
    if (!called_back) {
      for (const auto& worker : solo ? everyone : own) publish(*worker, parity);
      if (coordinating) {
        try {
          coordinate(me, control, watch, reached, parity);
        } catch (...) {
          note_failure(me, EventKey{reached, 0, EntityId(0), EventClass::message});
          me.reports[parity].failed_at = me.failure->key.time;
        }
      }
      const bool stays_solo = solo && me.reports[parity].solo;
      // Written once per call: the others read it at leisure, and meet this worker again before the
      // next.
      if (solo && !stays_solo) {
        part();
        resume_at_window = window_number;
      }
      if (!alone && !stays_solo) barrier.wait();
    }
    called_back = false;

    const WindowDecision decision = decide(parity);
    // Before the first window the others may have taken their time to come.
    if (coordinating && measures && !decision.solo) note_overlap(watch, parity, solo || window_number == 0);
    for (const auto& worker : solo&& decision.solo ? everyone : own) receive(*worker);
    // After a failure the others go on up to its instant, so that the first of all failures is
    // found whatever the partition.
    const Time until =
        decision.failed_at == Time::max() ? control.until : std::min(control.until, decision.failed_at + Duration::ticks(1));
    if (decision.stop || decision.begin >= until) {
      if (solo && decision.solo) part();
      if (coordinating) {
        interrupted = decision.stop;
        next_event = decision.begin;
        wall_ns_before += wall_ns_since(watch.start, WallClock::now());
      }
      if (solo && decision.solo) {
        finished_alone = true;
        barrier.wait();
      }
      return;
    }
    if (decision.solo && !solo) {
      barrier.wait();  // all messages are received
      if (!coordinating) {
        barrier.wait();
        if (finished_alone) return;
        window_number = resume_at_window;
        called_back = true;
        continue;
      }
      join();
    }
    solo = decision.solo;
    if (decision.redeal) {
      barrier.wait();
      if (coordinating) redeal();
      barrier.wait();
    }
    reached = decision.begin;
    if (coordinating) ++windows;
    ++window_number;
    const auto crew = solo ? everyone : own;
    const Window current = is_joint ? Window{decision.begin, until, joint_slice_events(options)}
                                    : Window{decision.begin, std::min(later(decision.begin, window_span), until),
                                             sliced ? slice_events : std::numeric_limits<std::uint64_t>::max()};
    for (const auto& worker : crew) worker->outbox->open_window(current.end);
    const Stopwatch stopwatch(measures && !solo, me.busy_ns >= long_window_ns);
    if (is_joint) {
      run_joint(me, current);
    } else {
      for (const auto& worker : crew) {
        run_processes(*worker, current, !alone && !solo && (worker->has_long_windows || window_number % timed_windows == 0));
      }
    }
    me.busy_ns = stopwatch.ns();
  }
}

}  // namespace weft
