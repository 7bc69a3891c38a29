// SPDX-License-Identifier: Apache-2.0
// Run recording: what a run in flow or packet mode did, event by event, for whoever explains it.
//
// Where it sits: RunOptions::recording names one; tools/explain reads it.
// Threads: written by the run, read once that is over.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "host/ranks/job.hpp"
#include "network/flow/flow_tape.hpp"

namespace weft {

/// QueueBlame by jobs; none: of flow lists.
struct JobQueueBlame {
  LinkId link;
  JobId waits = JobId::none();
  JobId blamed = JobId::none();
  LinkId paused_by = LinkId::none();  ///< of a pause
  bool is_pause = false;
  double lost_s = 0;
};

struct RunRecording {
  /// As FlowTape.
  explicit RunRecording(std::size_t records_max) : tape(records_max) {}

  FlowTape tape;
  std::unique_ptr<JobTable> attempts;  ///< once the run is over
  std::vector<EntityId> hosts;         ///< by HostId; none of flow lists
  EntityId scheduler = EntityId::none();
};

}  // namespace weft
