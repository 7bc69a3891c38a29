// SPDX-License-Identifier: Apache-2.0
// First come, first served: jobs start in order of submission.
//
// Where it sits: `fcfs` is the default SchedulingPolicy.
//
// Model
//   fcfs       strictly: the job at the head of the queue starts as soon as the placer finds GPUs
//              for it; until then nobody overtakes it, however many GPUs stand idle
//   fcfs_fill  what comes free is filled with the first job that fits (the FIFO scheduler of the
//              paper's figure 2); large jobs may wait for long
// Of jobs submitted at one instant the one first in the input goes first.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include "scheduler/policies/job_order.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

class Fcfs final : public SchedulingPolicy {
 public:
  void schedule(SchedulingPass& pass) override;
};

class FcfsFill final : public SchedulingPolicy {
 public:
  void schedule(SchedulingPass& pass) override;

 private:
  JobOrder<Time> order_;  ///< by submission
};

Module<SchedulingPolicyFactory> fcfs_module();
Module<SchedulingPolicyFactory> fcfs_fill_module();

}  // namespace weft
