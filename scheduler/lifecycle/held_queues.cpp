// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/held_queues.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace weft {

HeldQueues::HeldQueues(const std::vector<JobSpec>& jobs) : jobs_(jobs) {
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    const JobSpec& spec = jobs[i];
    WEFT_CHECK(spec.queue > 0 || !spec.is_held, "jobs that are held are of a source");
    if (spec.queue == 0) continue;
    if (sources_.size() < spec.queue) sources_.resize(spec.queue);
    Source& source = sources_[spec.queue - 1];
    if (spec.is_held) {
      source.held.emplace_back(i);
    } else {
      ++source.length;
    }
  }
}

HeldQueues::Phase HeldQueues::phase() const {
  if (sources_.empty()) return Phase::before;
  if (std::ranges::any_of(sources_, [](const Source& source) { return source.held.empty(); })) return Phase::after;
  const bool all_are = std::ranges::all_of(sources_, [](const Source& source) { return source.left > source.length; });
  return all_are ? Phase::steady : Phase::before;
}

void HeldQueues::leave(JobId job) {
  Source& source = sources_[jobs_[job.index()].queue - 1];
  ++source.left;
  ++source.due;
}

std::optional<JobId> HeldQueues::take_due() {
  for (Source& source : sources_) {
    if (source.due == 0 || source.held.empty()) continue;
    --source.due;
    const JobId job = source.held.front();
    source.held.pop_front();
    return job;
  }
  return std::nullopt;
}

}  // namespace weft
