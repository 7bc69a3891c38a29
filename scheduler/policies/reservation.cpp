// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/reservation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace weft {

Time declared_end(const JobView& job, Time now) {
  return job.declared_left && *job.declared_left < Time::max() - now ? now + *job.declared_left : Time::max();
}

Placement free_part(const ClusterState& cluster, const Placement& placement) {
  Placement part;
  std::copy_if(placement.gpus.begin(), placement.gpus.end(), std::back_inserter(part.gpus),
               [&](GpuSlot gpu) { return cluster.holder(gpu).is_none(); });
  return part;
}

std::optional<Reservation> reserve(const SchedulingPass& pass, std::uint32_t gpus, const PlaceIn& place) {
  std::vector<std::pair<Time, JobId>> ends;
  for (const JobId job : pass.running()) ends.emplace_back(declared_end(pass.job(job), pass.now()), job);
  std::sort(ends.begin(), ends.end());
  ClusterState later = pass.cluster();
  for (const auto& [end, job] : ends) {
    if (end == Time::max()) return std::nullopt;
    later.release(job, pass.placement(job));
    if (later.free_gpus() < gpus) continue;
    if (std::optional<Placement> placement = place(later)) return Reservation{end, std::move(*placement)};
  }
  return Reservation{Time::max(), {}};
}

}  // namespace weft
