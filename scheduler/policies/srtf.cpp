// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/srtf.hpp"

#include <array>
#include <limits>

#include "core/text/param_rows.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"

namespace weft {
namespace {

struct SrtfSettings {
  bool by_gpu_time;
};

constexpr std::array srtf_params = {
    param<&SrtfSettings::by_gpu_time>(
        {.name = "by",
         .default_text = "time",
         .choices = "time|gpu_time",
         .meaning = "what is short: the time that is left, or that times the GPUs",
         .origin = "time: least mean completion on one machine; gpu_time: SRSF of Tiresias (NSDI 2019)",
         .word = "gpu_time"}),
};

std::unique_ptr<SchedulingPolicy> make_srtf(const ParamSet& params) {
  return std::make_unique<Srtf>(filled<SrtfSettings>(params).by_gpu_time);
}

}  // namespace

void Srtf::schedule(SchedulingPass& pass) {
  const auto key = [this](const JobView& job) {
    if (!job.declared_left) return std::numeric_limits<double>::infinity();
    // Of elastic jobs, too, on all GPUs: they would otherwise rank differently once they are
    // stopped.
    const Duration left = job.since ? time_on_all(*job.declared_left, job.gpus, job.held_gpus) : *job.declared_left;
    return left.in_s() * (by_gpu_time_ ? static_cast<double>(job.gpus) : 1.0);
  };
  order_.update(pass, key);
  order_.serve_preempting(pass, Behind::is_tried, key);
}

Module<SchedulingPolicyFactory> srtf_module() {
  return {{"scheduler", "srtf",
           "Shortest remaining time first: the jobs with the least left of their declared run time hold the GPUs; others are "
           "preempted for them. Jobs that run a workload and declare no run time come last.",
           srtf_params},
          make_srtf};
}

}  // namespace weft
