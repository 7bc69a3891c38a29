// SPDX-License-Identifier: Apache-2.0
// Batch node: an entity that takes all its arrivals of a window at once, sorted, and needs no event
// queue - a switch, a network card.
//
// Where it sits: registered with EngineBuilder like any entity, with a connection to every node
// that it sends port messages to; BatchProcess calls run_window() for windows in which there is
// something to do. Nodes send each other port messages (core/engine/port_message); events come from
// general entities (hosts) and go to them.
//
// Model: a window is no longer than the least delay of any connection to a node, so that all its
// arrivals are known when it begins. The node goes through them in order and does at each instant
// what it would have done with an event queue; what it starts by itself (a packet whose turn has
// come) it does up to the end of the window, and says when it goes on.
//
// What a node does must not depend on where windows begin and end:
//   1. The order of what happens at one instant is its own: events, port messages by port, what it
//      starts by itself.
//   2. At the end of a window everything before it has been done, nothing at or after it.
// Threads: as Entity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/entity.hpp"
#include "core/engine/port_message.hpp"

namespace weft {

class BatchContext;

/// The port messages of a window, sorted by (time, port).
class SortedPortMessages {
 public:
  SortedPortMessages(const PortMessage* port_messages, std::span<const std::uint64_t> keys)
      : port_messages_(port_messages), keys_(keys) {}

  std::size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }
  const PortMessage& operator[](std::size_t i) const { return port_messages_[keys_[i] & place_mask]; }

  /// A key is time since the beginning of the window in ticks, port, place among the port messages:
  /// 21, 14 and 29 bits.
  static constexpr int place_bits = 29;
  static constexpr int port_bits = message_port_bits;
  static constexpr int time_bits = 21;
  static constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;

 private:
  const PortMessage* port_messages_;
  std::span<const std::uint64_t> keys_;
};

class BatchNode : public Entity {
 public:
  /// Keeps the event for its next window.
  void handle(const Event& event, EventContext& context) final;

  /// What arrives before `end`, in order.
  struct Arrivals {
    SortedPortMessages port_messages;
    std::span<const Event> events;

    /// Calls one of both for each, by time; at one instant, for events first.
    template <class OnEvent, class OnPortMessage>
    void in_order(OnEvent on_event, OnPortMessage on_port_message) const {
      std::size_t port_message = 0;
      for (const Event& event : events) {
        for (; port_message < port_messages.size() && port_messages[port_message].time < event.key.time; ++port_message)
          on_port_message(port_messages[port_message]);
        on_event(event);
      }
      for (; port_message < port_messages.size(); ++port_message) on_port_message(port_messages[port_message]);
    }
  };
  struct WindowOutcome {
    std::uint64_t events = 0;  ///< arrivals handled, for the count of the run
    /// When the last of them was done; counts if there were any. Arrivals only: windows do not move
    /// them.
    Time last;
    /// When the node goes on by itself, >= end; max() if only an arrival can make it.
    Time next = Time::max();
  };
  /// Does everything before `end`.
  virtual WindowOutcome run_window(Time end, const Arrivals& arrivals, BatchContext& context) = 0;
  /// It will run a window soon and has been fetched itself: may fetch what it points at
  /// (core/containers/cache).
  virtual void prefetch() const {}

 private:
  friend class BatchProcess;
  std::vector<Event> events_;                      ///< of this window
  std::vector<std::uint32_t>* touched_ = nullptr;  ///< the process's list of nodes with events
  std::uint32_t local_ = 0;
};

}  // namespace weft
