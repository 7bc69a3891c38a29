// SPDX-License-Identifier: Apache-2.0
// Shortest remaining time first, with preemption.
//
// Model: jobs are ranked by what is left of their declared run time, the overhead of a start
// included, or by that times their GPUs. A waiting job may take GPUs from running ones that have
// more left.
// Thread safety: called from the scheduler's logical process.
#pragma once

#include "scheduler/policies/job_order.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

class Srtf final : public SchedulingPolicy {
 public:
  explicit Srtf(bool by_gpu_time) : by_gpu_time_(by_gpu_time) {}
  void schedule(SchedulingPass& pass) override;
  bool preempts() const override { return true; }

 private:
  bool by_gpu_time_;
  JobOrder<double> order_;
};

Module<SchedulingPolicyFactory> srtf_module();

}  // namespace weft
