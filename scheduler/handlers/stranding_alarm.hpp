// SPDX-License-Identifier: Apache-2.0
// Stranding alarm: a row of events.csv when many GPUs have stood idle for long while jobs waited.
//
// Model: more than `gpus` GPUs are free and somebody waits, without a break for `after`; it is said
// once, until there is a break. One of no duration is none. Where it is called, it says how many
// are stranded at that instant.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/handlers/event_handler.hpp"

namespace weft {

class StrandingAlarm final : public EventHandler {
 public:
  StrandingAlarm(std::uint32_t gpus, Duration after) : gpus_(gpus), after_(after) {}
  void happened(const ClusterEvent& cluster_event, ClusterControl& control) override;

 private:
  std::uint32_t gpus_;
  Duration after_;
  std::optional<Time> since_;  ///< more are stranded
  /// when there came to be no more, and there still are not, as far as is known
  std::optional<Time> over_;
  bool is_on_ = false;
};

Module<EventHandlerFactory> stranding_alarm_module();

}  // namespace weft
