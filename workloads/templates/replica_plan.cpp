// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/replica_plan.hpp"

namespace weft {

ParallelPlan replica_plan(std::uint32_t ranks, std::uint64_t batch, ElementType gradients) {
  ParallelPlan plan;
  plan.data = ranks;
  plan.microbatch = batch;
  plan.global_batch = batch * ranks;
  plan.zero_stage = 0;
  plan.gradient_bucket = 1;
  plan.precision = precision_of(PrecisionKind::all_fp32);
  plan.precision.reduced_gradients = gradients;
  return plan;
}

}  // namespace weft
