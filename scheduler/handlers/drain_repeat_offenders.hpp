// SPDX-License-Identifier: Apache-2.0
// Drains hosts that fail again and again, so that they are looked at instead of being given to the
// next job.
//
// Model: a host whose parts have failed `failures` times within `window`, as the scheduler learned
// of them, is drained for `duration`; its count then begins anew. This is how clusters take out
// "lemon nodes" (Kokolis et al., Revisiting Reliability in Large-Scale Machine Learning Research
// Clusters, HPCA 2025), which go by more signals than failures.
// Where it is called, the counts of all hosts begin anew.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "scheduler/handlers/event_handler.hpp"

namespace weft {

class DrainRepeatOffenders final : public EventHandler {
 public:
  DrainRepeatOffenders(std::size_t failures, Duration window, Duration duration)
      : failures_(failures), window_(window), duration_(duration) {}
  void happened(const ClusterEvent& cluster_event, ClusterControl& control) override;

 private:
  std::size_t failures_;
  Duration window_;
  Duration duration_;
  std::map<HostId, std::deque<Time>> known_;  ///< failures within the window
};

Module<EventHandlerFactory> drain_repeat_offenders_module();

}  // namespace weft
