// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/tiresias.hpp"

#include <algorithm>
#include <array>

#include "core/text/param_rows.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"

namespace weft {
namespace {

struct TiresiasSettings {
  std::uint32_t queues;
  Duration threshold;
  double growth;
};

constexpr std::array tiresias_params = {
    param<&TiresiasSettings::queues>({.name = "queues",
                                      .default_text = "3",
                                      .minimum = "1",
                                      .maximum = "64",
                                      .meaning = "number of queues; 1 is first come, first served without preemption",
                                      .origin = "simulator of Tiresias's authors"}),
    param<&TiresiasSettings::threshold>({.name = "threshold",
                                         .default_text = "3250s",
                                         .minimum = "1s",
                                         .meaning = "GPU time up to which a job stays in the first queue",
                                         .origin = "likewise"}),
    param<&TiresiasSettings::growth>({.name = "growth",
                                      .default_text = "2.2154",
                                      .minimum = "1.01",
                                      .maximum = "1000000",
                                      .meaning = "by what each further threshold is larger",
                                      .origin = "likewise: the second is at 7,200 s"}),
};

std::unique_ptr<SchedulingPolicy> make_tiresias(const ParamSet& params) {
  const auto settings = filled<TiresiasSettings>(params);
  std::vector<Duration> thresholds;
  double seconds = settings.threshold.in_s();
  for (std::uint32_t i = 1; i < settings.queues; ++i) {
    thresholds.push_back(seconds < Duration::max().in_s() / 2 ? Duration::from_seconds(seconds) : Duration::max());
    seconds *= settings.growth;
  }
  return std::make_unique<Tiresias>(std::move(thresholds));
}

}  // namespace

Duration Tiresias::queue_limit(std::size_t queue, std::uint32_t gpus) const {
  const Duration threshold = thresholds_[queue];
  if (threshold == Duration::max()) return threshold;
  return Duration::ticks((threshold.in_ticks() + std::int64_t{gpus} - 1) / std::int64_t{gpus});
}

std::size_t Tiresias::queue_of(const JobView& job) const {
  std::size_t queue = 0;
  while (queue < thresholds_.size() && queue_limit(queue, job.gpus) <= job.attained) ++queue;
  return queue;
}

Tiresias::Key Tiresias::key_of(const JobView& job, Time now) const {
  const std::size_t queue = queue_of(job);
  const Standing* const before = standing_before(job.id);
  if (before != nullptr && before->queue != queue) return {queue, Group::has_joined, now.in_ticks()};
  if (job.since) return {queue, Group::runs, (before != nullptr ? before->since : now).in_ticks()};
  if (before != nullptr) return {queue, Group::was_stopped, -now.in_ticks()};
  return {queue, Group::has_joined, job.queued.in_ticks()};
}

const Tiresias::Standing* Tiresias::standing_before(JobId job) const {
  const bool ran = job.index() < standing_.size() && standing_[job.index()].pass + 1 == pass_;
  return ran ? &standing_[job.index()] : nullptr;
}

void Tiresias::schedule(SchedulingPass& pass) {
  ++pass_;
  const auto key = [&](const JobView& job) { return key_of(job, pass.now()); };
  order_.update(pass, key);
  order_.serve_preempting(pass, Behind::is_tried, key);

  Time next_fall = Time::max();
  for (const JobId running : pass.running()) {
    const JobView job = pass.job(running);
    const std::size_t queue = queue_of(job);
    const Standing* const before = standing_before(running);
    const Time since = before != nullptr && before->queue == queue ? before->since : pass.now();
    if (standing_.size() <= running.index()) standing_.resize(running.index() + 1);
    standing_[running.index()] = {pass_, queue, since};
    if (queue == thresholds_.size()) continue;
    const Duration left = time_on_fewer(queue_limit(queue, job.gpus) - job.attained, job.gpus, job.held_gpus);
    if (left < Time::max() - pass.now()) next_fall = std::min(next_fall, pass.now() + left);
  }
  if (!pass.queue().empty() && next_fall != Time::max()) pass.wake_at(next_fall);
}

Module<SchedulingPolicyFactory> tiresias_module() {
  return {{"scheduler", "tiresias",
           "Least attained service (Tiresias): jobs that have used little GPU time go first and preempt those that have used much. "
           "It needs no "
           "declared run times.",
           tiresias_params},
          make_tiresias};
}

}  // namespace weft
