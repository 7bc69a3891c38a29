// SPDX-License-Identifier: Apache-2.0
// Priority boost: jobs that were hit by failures go before others, so that those who lost most do
// not wait longest as well.
//
// Model: each failure that stops a job raises its priority by `boost`, up to `most` above the one
// it came with. Policies that do not go by priorities do not care.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include <cstdint>
#include <map>

#include "scheduler/handlers/event_handler.hpp"

namespace weft {

class PriorityBoost final : public EventHandler {
 public:
  PriorityBoost(std::int32_t boost, std::int32_t most) : boost_(boost), most_(most) {}
  void happened(const ClusterEvent& cluster_event, ClusterControl& control) override;

 private:
  std::int32_t boost_;
  std::int32_t most_;
  std::map<JobId, std::int32_t> boosted_;  ///< by how much
};

Module<EventHandlerFactory> priority_boost_module();

}  // namespace weft
