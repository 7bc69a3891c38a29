// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/sjf.hpp"

#include <array>
#include <limits>

#include "core/text/param_rows.hpp"

namespace weft {
namespace {

struct SjfSettings {
  Sjf::By by;
};

constexpr std::array sjf_params = {
    param<&SjfSettings::by>({.name = "by",
                             .default_text = "run",
                             .choices = "run|gpus|gpu_time",
                             .meaning = "what is short: the declared run time, the number of GPUs, or both multiplied",
                             .origin = "the textbook's shortest job; clusters that know no run times go by GPUs"}),
    strict_param,
};

std::unique_ptr<SchedulingPolicy> make_sjf(const ParamSet& params) {
  return std::make_unique<Sjf>(filled<SjfSettings>(params).by, behind_by(params));
}

}  // namespace

void Sjf::schedule(SchedulingPass& pass) {
  order_.update(pass, [this](const JobView& job) {
    if (by_ == By::gpus) return static_cast<double>(job.gpus);
    if (!job.declared_run) return std::numeric_limits<double>::infinity();
    return job.declared_run->in_s() * (by_ == By::run ? 1.0 : static_cast<double>(job.gpus));
  });
  order_.serve(pass, behind_);
}

Module<SchedulingPolicyFactory> sjf_module() {
  return {{"scheduler", "sjf",
           "Shortest job first: of the waiting jobs that with the least declared run time, or the fewest GPUs, starts as soon as "
           "its GPUs are "
           "free.",
           sjf_params},
          make_sjf};
}

}  // namespace weft
