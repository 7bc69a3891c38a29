// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/cluster_usage.hpp"

#include "core/check.hpp"

namespace weft {

void ClusterUsage::advance(Time now, const ClusterSample& state) {
  WEFT_CHECK(now > up_to_, "time goes on");
  tell(state);
  const double elapsed_s = (now - up_to_).in_s();
  busy_gpu_s_ += elapsed_s * state.busy_gpus;
  stranded_gpu_s_ += elapsed_s * state.stranded_gpus();
  out_gpu_s_ += elapsed_s * state.gpus_out;
  draining_gpu_s_ += elapsed_s * state.draining_gpus;
  queued_job_s_ += elapsed_s * static_cast<double>(state.waiting_jobs);
  up_to_ = now;
}

void ClusterUsage::tell(const ClusterSample& state) {
  if (told_ && told_->is_like(state)) return;
  told_ = state;
  if (observer_ != nullptr) observer_->cluster_changed(state);
}

}  // namespace weft
