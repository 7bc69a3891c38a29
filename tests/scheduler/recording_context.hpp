// SPDX-License-Identifier: Apache-2.0
// Recording context: the events that a part of the scheduler posts, for tests that run no engine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/engine/entity.hpp"
#include "scheduler/lifecycle/scheduler_events.hpp"

namespace weft::testing_scheduler {

/// The scheduler is entity 1000. Time is what the test says.
class RecordingContext final : public EventContext {
 public:
  Time now() const override { return now_; }
  EntityId self() const override { return EntityId(1000); }
  void set_now(Time now) { now_ = now; }

  /// What was posted since the last call, in that order.
  std::vector<Event> take() { return std::exchange(posted_, {}); }

 protected:
  Event make(EntityId target, Duration delay, EventClass event_class, std::uint16_t kind) override {
    Event event;
    event.key.time = now_ + delay;
    event.key.sequence = sequence_++;
    event.key.source = self();
    event.key.event_class = event_class;
    event.target = target;
    event.kind = kind;
    return event;
  }
  void post(const Event& event) override { posted_.push_back(event); }

 private:
  Time now_;
  std::uint64_t sequence_ = 0;
  std::vector<Event> posted_;
};

}  // namespace weft::testing_scheduler
