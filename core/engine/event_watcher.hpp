// SPDX-License-Identifier: Apache-2.0
// Event watcher: is told which event made which, so that causes can be followed backwards.
//
// Where it sits: EngineOptions names one, and every event process tells it. Without one a run pays
// a test of a pointer per event.
// Model: what is posted between two calls of on_handled() was posted by the first of the two
// events, but for what batch nodes post of windows. Initial events are posted by nobody; port
// messages are no events.
// Threads: one; the engine takes a watcher only on one thread.
#pragma once

#include "core/engine/event.hpp"

namespace weft {

class EventWatcher {
 public:
  virtual ~EventWatcher() = default;
  /// Its target handles it next.
  virtual void on_handled(const Event& event) = 0;
  /// The event that is being handled made it.
  virtual void on_posted(const Event& event) = 0;
};

}  // namespace weft
