// SPDX-License-Identifier: Apache-2.0
// Shortest (or smallest) job first, without preemption.
//
// Model: waiting jobs are ranked by their declared run time, their GPUs, or the product of both;
// jobs that declare no run time (they run a workload) go behind all others, in order of submission.
// The best starts when the placer finds GPUs for it; behind it others are tried unless `strict`. If
// all jobs want equally many GPUs and come at once, no order has a lower mean completion time (SPT
// rule; Conway, Maxwell and Miller, Theory of Scheduling, 1967).
// Thread safety: called from the scheduler's logical process.
#pragma once

#include "scheduler/policies/job_order.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

class Sjf final : public SchedulingPolicy {
 public:
  /// As the choices of the parameter `by` have it.
  enum class By : std::uint8_t { run, gpus, gpu_time };
  Sjf(By by, Behind behind) : by_(by), behind_(behind) {}
  void schedule(SchedulingPass& pass) override;

 private:
  By by_;
  Behind behind_;
  JobOrder<double> order_;
};

Module<SchedulingPolicyFactory> sjf_module();

}  // namespace weft
