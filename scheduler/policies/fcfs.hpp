// First come, first served: jobs start strictly in order of submission.
//
// Where it sits: the default SchedulingPolicy.
//
// Model: the job at the head of the queue starts as soon as the placer finds GPUs for it; until then nobody overtakes it, however
// many GPUs stand idle. Of jobs submitted at one instant the one first in the input goes first.
// Thread safety: holds no state; called from the scheduler's logical process.
#pragma once

#include "scheduler/policy.hpp"

namespace weft {

class Fcfs final : public SchedulingPolicy {
 public:
  void schedule(SchedulingPass& pass) override;
};

Module<SchedulingPolicyFactory> fcfs_module();

}  // namespace weft
