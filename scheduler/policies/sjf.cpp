#include "scheduler/policies/sjf.hpp"

#include <array>
#include <limits>

namespace weft {
namespace {

constexpr std::array kSjfParams = {
    ParamSpec{"by", ParamKind::choice, "run", "", "", "run|gpus|gpu_time",
              "what is short: the declared run time, the number of GPUs, or both multiplied",
              "the textbook's shortest job; clusters that know no run times go by GPUs"},
    strict_param,
};

std::unique_ptr<SchedulingPolicy> make_sjf(const ParamSet& params) {
  const std::string& by = params.text("by");
  return std::make_unique<Sjf>(by == "run" ? Sjf::By::run : by == "gpus" ? Sjf::By::gpus : Sjf::By::gpu_time, behind_by(params));
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
           kSjfParams},
          make_sjf};
}

}  // namespace weft
