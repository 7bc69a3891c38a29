// SPDX-License-Identifier: Apache-2.0
// Entity: something with state of its own that handles events - a host, the flow-level fabric, the
// scheduler.
//
// Entities live in logical processes and meet only through events. `EventContext` is an entity's
// only way to the rest of the run; it is valid during one handle() call.
// Threads: handle() of one entity is never called by two threads at once, and nobody else touches
// its state.
#pragma once

#include <cstdint>

#include "core/engine/event.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

class EventContext {
 public:
  virtual ~EventContext() = default;

  /// The instant of the event being handled.
  virtual Time now() const = 0;
  /// The entity whose event is being handled.
  virtual EntityId self() const = 0;

  /// An event for this entity itself, `delay` >= 0 from now.
  template <class Payload>
  void schedule(Duration delay, EventClass event_class, std::uint16_t kind, const Payload& payload) {
    Event event = make(self(), delay, event_class, kind);
    event.set_payload(payload);
    post(event);
  }
  void schedule(Duration delay, EventClass event_class, std::uint16_t kind) { post(make(self(), delay, event_class, kind)); }

  /// A message to another entity. Requires: the two were connected, and delay >= the declared
  /// minimum (WEFT_CHECK).
  template <class Payload>
  void send(EntityId target, Duration delay, std::uint16_t kind, const Payload& payload) {
    Event event = make(target, delay, EventClass::message, kind);
    event.set_payload(payload);
    post(event);
  }

 protected:
  /// Stamps the key with the sender's next sequence number.
  virtual Event make(EntityId target, Duration delay, EventClass event_class, std::uint16_t kind) = 0;
  virtual void post(const Event& event) = 0;
};

class Entity {
 public:
  virtual ~Entity() = default;
  /// Handles one event. Called in key order.
  virtual void handle(const Event& event, EventContext& context) = 0;
};

}  // namespace weft
