// SPDX-License-Identifier: Apache-2.0
// Batch process: a logical process with batch nodes - switches, network cards - and any other
// entities that share it.
//
// Where it sits: EngineBuilder makes one for every part of the partition that holds a batch node;
// the others are plain EventProcesses.
//
// Model: an EventProcess for all members, and for the batch nodes an inbox each. A window of the
// engine is done in windows of its own, no longer than the least delay of a connection inside the
// process that leads to a node. So all that arrives at nodes in a window is known when it begins,
// and all that nodes send to others when those take their turn:
//   every node with something to do runs its window | events of general entities, in order
// PortMessages due in one of the next two windows go straight to the receiver's inbox, later ones
// to a calendar. Nodes without work are hardly looked at. In which order nodes run does not matter:
// nothing sent in a window arrives in it.
//
// Failures: of all of one window, the first by (time, entity) is thrown.
//
// Invariants: those of LogicalProcess; a port message that would arrive in the window in which it
// was sent is a WEFT_CHECK failure.
// Threads: as LogicalProcess.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/engine/batch_node.hpp"
#include "core/engine/event_process.hpp"
#include "core/engine/port_message_calendar.hpp"

namespace weft {

class BatchProcess;

/// A batch node's way to the rest of the run, during one run_window() call.
class BatchContext {
 public:
  /// To a port of a batch node that this one was connected to; the payload is a plain value of at
  /// most 12 bytes.
  template <class T>
  void send(EntityId target, Time arrival, std::uint32_t port, const T& payload);
  /// To send events, as of `now`; until the next call.
  EventContext& events(Time now);
  /// The node's own chain of the fingerprint. What it adds must not depend on where windows begin
  /// and end.
  Fingerprint& chain();
  /// The instant that the node has come to; a failure is told with it.
  void set_now(Time now) { now_ = now; }

 private:
  friend class BatchProcess;
  explicit BatchContext(BatchProcess& process) : process_(process) {}
  BatchProcess& process_;
  std::uint32_t node_ = 0;
  Time now_;
};

class alignas(64) BatchProcess final : public LogicalProcess {
 public:
  /// Longer windows gain nothing, and times in them would not fit a key.
  static constexpr Duration window_limit = Duration::ticks((std::int64_t{1} << SortedPortMessages::time_bits) - 1);

  /// As EventProcess; `members` in the order of their local places. `window_max`: the least delay
  /// of a connection between two members that leads to a batch node, > 0.
  BatchProcess(LpId lp, const EntityDirectory& directory, std::span<EntityTurns> turns, std::span<const EntityId> members,
               Duration window_max);

  /// From now on; it outlives the process. Port messages are not told of.
  void watch(EventWatcher& watcher) { events_.watch(watcher); }
  void post_initial(Event event) override { events_.post_initial(event); }
  void receive(const Event& event) override { events_.receive(event); }
  void receive(std::span<const PortMessageTo> port_messages) override;
  std::uint64_t run_window(const Window& window, Outbox& outbox) override;
  Time next_event_time() const override;
  EventKey last_event_key() const override { return last_; }
  void add_to_fingerprints(std::span<std::uint64_t> chain_of_entity) const override;

 private:
  friend class BatchContext;

  /// PortMessages of a node come in pieces of memory that others have just left, still in the
  /// cache.
  struct alignas(512) Chunk {
    std::array<PortMessage, 21> port_messages;
    Chunk* newer = nullptr;
  };
  static_assert(sizeof(Chunk) == alignof(Chunk));
  /// In order of sending.
  struct PortMessageList {
    Chunk* oldest = nullptr;     ///< all but the newest are full
    PortMessage* end = nullptr;  ///< in the newest
  };
  static Chunk* chunk_of(const PortMessage* last) {
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(last) & ~(alignof(Chunk) - 1));
  }
  /// What sending to a node and running its window takes, on one cache line.
  struct alignas(64) NodeSlot {
    /// By number of the window modulo 2: of the current window, and of the next or the one after
    /// it.
    std::array<PortMessageList, 2> lists;
    std::uint64_t listed = 0;   ///< number of the last window for which it stands in a list
    BatchNode* node = nullptr;  ///< null for other entities
  };
  static_assert(sizeof(NodeSlot) == 64);
  struct NodeState {
    EntityId id;
    Time work = Time::max();  ///< when the node goes on by itself, if later than the next window
    /// Of what the node adds. Events it gets are in a chain of their own, as windows decide which
    /// of both comes first.
    Fingerprint chain;
  };
  struct Later {
    PortMessage port_message;
    std::uint32_t local;
  };
  struct Wakeup {
    Time time;
    std::uint32_t local;
    /// For the standard heaps, which keep the greatest in front.
    friend bool operator<(const Wakeup& a, const Wakeup& b) { return a.time > b.time; }
  };

  void put(std::uint32_t local, const PortMessage& port_message) {
    put(local, port_message.time, port_message.port, port_message.payload);
  }
  template <class T>
  void put(std::uint32_t local, Time arrival, std::uint32_t port, const T& payload);
  void list_now(std::uint32_t local);
  void list_next(std::uint32_t local);
  void begin_window(Time begin, Time end);
  /// A failure of nodes, the first by (time, entity); `error` is null if there is none.
  struct Failure {
    std::exception_ptr error;
    EventKey key;
  };
  Failure run_all(std::uint64_t& handled);
  std::uint64_t run_window(std::uint32_t local);
  void add_chunk(PortMessageList& list);
  /// Place for one more, to be filled in at once.
  PortMessage* place_in(PortMessageList& list) {
    constexpr std::uintptr_t full = sizeof(Chunk::port_messages);
    if (list.end == nullptr || (reinterpret_cast<std::uintptr_t>(list.end) & (alignof(Chunk) - 1)) == full) add_chunk(list);
    return list.end++;
  }
  void prefetch_messages(std::uint32_t local) const;
  void take(PortMessageList& list, std::uint32_t local);
  void audit() const;
  std::span<const std::uint64_t> sort();

  LpId lp_;
  const EntityDirectory* directory_;
  EventProcess events_;
  Duration window_max_;
  std::vector<NodeSlot> slots_;    ///< by place in this process
  std::vector<NodeState> states_;  ///< likewise
  std::vector<std::uint32_t> now_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> touched_;
  std::vector<Wakeup> wakeups_;  ///< a heap, the earliest in front
  PortMessageCalendar<Later> later_;
  std::uint64_t window_number_ = 1;
  Time begin_;
  Time end_;                          ///< of the current window, or of the last
  Time horizon_;                      ///< port messages before it go to the receiver's inbox
  Time earliest_next_ = Time::max();  ///< of what the nodes in next_ have to do
  Outbox* outbox_ = nullptr;
  EventKey last_;
  std::vector<std::unique_ptr<Chunk[]>> slabs_;
  Chunk* free_chunks_ = nullptr;
  std::vector<PortMessage> port_messages_;  ///< of the node that runs: the first due_
  std::size_t due_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> unsorted_keys_;
  std::vector<std::uint32_t> bucket_begin_;
  /// Port messages that came and were not taken yet; counted in builds that audit.
  std::uint64_t audited_ = 0;
};

inline void BatchProcess::list_next(std::uint32_t local) {
  NodeSlot& slot = slots_[local];
  if (slot.listed > window_number_) return;
  slot.listed = window_number_ + 1;
  next_.push_back(local);
}

template <class T>
void BatchProcess::put(std::uint32_t local, Time arrival, std::uint32_t port, const T& payload) {
  if constexpr (audits_state) ++audited_;
  if (arrival >= horizon_) return later_.put({PortMessage(arrival, port, payload), local});
  new (place_in(slots_[local].lists[(window_number_ + 1) % 2])) PortMessage(arrival, port, payload);
  earliest_next_ = std::min(earliest_next_, arrival);
  list_next(local);
}

template <class T>
void BatchContext::send(EntityId target, Time arrival, std::uint32_t port, const T& payload) {
  const EntityPlace place = process_.directory_->place(target);
  if (place.lp != process_.lp_) return process_.outbox_->send({PortMessage(arrival, port, payload), place.local}, place.lp);
  WEFT_CHECK(arrival >= process_.end_, "a port message travels at least one window");
  process_.put(place.local, arrival, port, payload);
}

}  // namespace weft
