// SPDX-License-Identifier: Apache-2.0
// Priority with preemption.
//
// Model: jobs are ranked by their priority, the higher number first, and among equals by
// submission. A waiting job may take GPUs from running ones of lower priority, unless `preempt` is
// off, and never from its equals.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include "scheduler/policies/job_order.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

class PriorityPolicy final : public SchedulingPolicy {
 public:
  PriorityPolicy(bool preempts, Behind behind) : preempts_(preempts), behind_(behind) {}
  void schedule(SchedulingPass& pass) override;
  bool preempts() const override { return preempts_; }

 private:
  bool preempts_;
  Behind behind_;
  JobOrder<std::pair<std::int64_t, Time>> order_;  ///< the negative priority, submission
};

Module<SchedulingPolicyFactory> priority_module();

}  // namespace weft
