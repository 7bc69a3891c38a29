// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/priority.hpp"

#include <array>
#include <utility>

#include "core/text/param_rows.hpp"

namespace weft {
namespace {

struct PrioritySettings {
  bool preempts;
};

constexpr std::array priority_params = {
    param<&PrioritySettings::preempts>({.name = "preempt",
                                        .default_text = "true",
                                        .meaning = "false lets running jobs finish, whatever waits",
                                        .origin = "what production schedulers do for their highest class"}),
    strict_param,
};

std::unique_ptr<SchedulingPolicy> make_priority(const ParamSet& params) {
  return std::make_unique<PriorityPolicy>(filled<PrioritySettings>(params).preempts, behind_by(params));
}

}  // namespace

void PriorityPolicy::schedule(SchedulingPass& pass) {
  const auto waiting_key = [](const JobView& job) { return std::pair(-std::int64_t{job.priority}, job.submit); };
  order_.update(pass, waiting_key);
  if (!preempts_) return order_.serve(pass, behind_);
  // Whatever runs goes before everybody of its priority that waits.
  order_.serve_preempting(pass, behind_, [&](const JobView& job) {
    return std::pair(-std::int64_t{job.priority}, job.since ? Time::at_ticks(-1) : job.submit);
  });
}

Module<SchedulingPolicyFactory> priority_module() {
  return {
      {"scheduler", "priority",
       "The highest priority first, then first come, first served; jobs of lower priority are preempted for those of a higher one.",
       priority_params},
      make_priority};
}

}  // namespace weft
