// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/fcfs.hpp"

namespace weft {
namespace {

template <class Policy>
std::unique_ptr<SchedulingPolicy> make_fcfs(const ParamSet&) {
  return std::make_unique<Policy>();
}

}  // namespace

void Fcfs::schedule(SchedulingPass& pass) {
  while (!pass.queue().empty() && pass.try_start(pass.queue().front())) {
  }
}

void FcfsFill::schedule(SchedulingPass& pass) {
  order_.update(pass, [](const JobView& job) { return job.submit; });
  order_.serve(pass, Behind::is_tried);
}

Module<SchedulingPolicyFactory> fcfs_module() {
  return {
      {"scheduler",
       "fcfs",
       "First come, first served: the job at the head of the queue starts as soon as its GPUs are free, and nobody overtakes it.",
       {}},
      make_fcfs<Fcfs>};
}

Module<SchedulingPolicyFactory> fcfs_fill_module() {
  return {{"scheduler",
           "fcfs_fill",
           "First come, first served, but what the head of the queue cannot use goes to the first job behind it that fits. Large "
           "jobs may wait "
           "for long.",
           {}},
          make_fcfs<FcfsFill>};
}

}  // namespace weft
