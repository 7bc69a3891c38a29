#include "scheduler/policies/tiresias.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

constexpr std::array params_table = {
    ParamSpec{"queues", ParamKind::integer, "2", "1", "64", "", "number of queues; 1 is first come, first served by start",
              "two tell short jobs from others; more tell medium from long ones"},
    ParamSpec{"threshold", ParamKind::duration, "1h", "1s", "", "", "GPU time up to which a job stays in the first queue",
              "three quarters of Philly's jobs use less"},
    ParamSpec{"growth", ParamKind::real, "10", "1.01", "1000000", "", "by what each further threshold is larger",
              "exponential, as in multi-level feedback queues"},
};

std::unique_ptr<SchedulingPolicy> make(const ParamSet& params) {
  std::vector<double> thresholds;
  for (std::int64_t i = 1; i < params.integer("queues"); ++i) {
    thresholds.push_back(thresholds.empty() ? params.duration("threshold").in_s() : thresholds.back() * params.real("growth"));
  }
  return std::make_unique<Tiresias>(std::move(thresholds));
}

}  // namespace

Duration Tiresias::stay(std::size_t queue, std::uint32_t gpus) const {
  const double seconds = thresholds_[queue] / static_cast<double>(gpus);
  return seconds < Duration::max().in_s() / 2 ? Duration::from_seconds(seconds) : Duration::max();
}

std::size_t Tiresias::queue_of(const JobView& job) const {
  std::size_t queue = 0;
  while (queue < thresholds_.size() && stay(queue, job.gpus) <= job.attained) ++queue;
  return queue;
}

void Tiresias::schedule(SchedulingPass& pass) {
  const auto key = [this](const JobView& job) {
    return std::tuple(queue_of(job), !job.start.has_value(), job.start.value_or(job.submit));
  };
  order_.update(pass, key);
  order_.serve_preempting(pass, Behind::is_tried, key);
  if (pass.queue().empty()) return;
  Time next = Time::max();
  for (const JobId running : pass.running()) {
    const JobView job = pass.job(running);
    const std::size_t queue = queue_of(job);
    if (queue == thresholds_.size()) continue;
    const Duration left = stay(queue, job.gpus) - job.attained;
    if (left < Time::max() - pass.now()) next = std::min(next, pass.now() + left);
  }
  if (next != Time::max()) pass.wake_at(next);
}

Module<SchedulingPolicyFactory> tiresias_module() {
  return {{"scheduler", "tiresias",
           "Least attained service (Tiresias): jobs that have used little GPU time go first and preempt those that have used much. "
           "It needs no "
           "declared run times.",
           params_table},
          make};
}

}  // namespace weft
