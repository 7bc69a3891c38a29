#include "scheduler/policies/fcfs.hpp"

namespace weft {
namespace {

std::unique_ptr<SchedulingPolicy> make(const ParamSet&) { return std::make_unique<Fcfs>(); }

}  // namespace

void Fcfs::schedule(SchedulingPass& pass) {
  while (!pass.queue().empty() && pass.try_start(pass.queue().front())) {
  }
}

Module<SchedulingPolicyFactory> fcfs_module() {
  return {
      {"scheduler",
       "fcfs",
       "First come, first served: the job at the head of the queue starts as soon as its GPUs are free, and nobody overtakes it.",
       {}},
      make};
}

}  // namespace weft
