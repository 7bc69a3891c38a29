// SPDX-License-Identifier: Apache-2.0
// EASY backfilling: first come, first served, and jobs from behind may use what stands idle as long
// as that does not delay the head of the queue.
//
// Model (Lifka, The ANL/IBM SP scheduling system, JSSPP 1995): where the head does not fit, it gets
// a reservation (scheduler/policies/reservation). A job from behind starts now if it declares to
// end by then, or if the placer finds GPUs for it that are not reserved. Without enough
// declarations there is no reservation and nobody overtakes.
//
// Invariant: if jobs run for no longer than declared, the head of the queue starts no later than it
// would if nobody started any more.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include "scheduler/policies/policy.hpp"

namespace weft {

class Backfill final : public SchedulingPolicy {
 public:
  void schedule(SchedulingPass& pass) override;
};

Module<SchedulingPolicyFactory> backfill_module();

}  // namespace weft
