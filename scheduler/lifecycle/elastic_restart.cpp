// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/elastic_restart.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/counted.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

std::uint32_t least_gpus(const JobSpec& job) {
  if (job.workload == nullptr) return job.min_gpus > 0 ? job.min_gpus : job.gpus;
  return job.smaller_workloads.empty() ? job.gpus : job.smaller_workloads.back()->rank_count;
}

bool may_restart_on(const JobSpec& job, std::uint32_t gpus) {
  if (gpus == job.gpus) return true;
  if (job.workload == nullptr) return job.min_gpus > 0 && gpus >= job.min_gpus && gpus < job.gpus;
  return std::ranges::any_of(job.smaller_workloads, [gpus](const auto& workload) { return workload->rank_count == gpus; });
}

std::optional<Placement> place_smaller(const JobSpec& job, const ClusterState& cluster, const Placer& placer) {
  if (job.workload != nullptr) {
    for (const std::shared_ptr<const Workload>& smaller : job.smaller_workloads) {
      if (smaller->rank_count > cluster.free_gpus()) continue;
      if (std::optional<Placement> placement = placer.place(cluster, smaller->rank_count)) return placement;
    }
    return std::nullopt;
  }
  if (job.min_gpus == 0) return std::nullopt;
  for (std::uint32_t gpus = std::min(job.gpus - 1, cluster.free_gpus()); gpus >= job.min_gpus; --gpus) {
    if (std::optional<Placement> placement = placer.place(cluster, gpus)) return placement;
  }
  return std::nullopt;
}

const std::shared_ptr<const Workload>& workload_on(const JobSpec& job, std::uint32_t gpus) {
  if (gpus == job.gpus) return job.workload;
  const auto smaller =
      std::ranges::find_if(job.smaller_workloads, [gpus](const auto& workload) { return workload->rank_count == gpus; });
  WEFT_CHECK(smaller != job.smaller_workloads.end(), "a job runs on as many GPUs as one of its workloads has ranks");
  return *smaller;
}

Duration time_on_fewer(Duration on_all, std::uint32_t gpus, std::uint32_t held) {
  if (held == gpus) return on_all;
  __extension__ using Wide = __int128;
  const Wide ticks = (Wide{on_all.in_ticks()} * gpus + held - 1) / held;
  return ticks < Wide{Duration::max().in_ticks()} ? Duration::ticks(static_cast<std::int64_t>(ticks)) : Duration::max();
}

Duration time_on_all(Duration on_held, std::uint32_t gpus, std::uint32_t held) { return scaled(on_held, held, gpus); }

void check_elastic(const JobSpec& job, Diagnostics& diagnostics) {
  const auto subject = [&job] { return fmt::format("job {}", in_quotes(job.name)); };
  if (job.min_gpus >= job.gpus) {
    diagnostics.error(
        "min-gpus",
        fmt::format("{} wants {} and would restart on {} or more", subject(), counted(job.gpus, "GPU", "GPUs"), job.min_gpus),
        job.place, "elastic jobs restart on fewer GPUs than they want: give fewer, or leave it out");
  }
  std::uint32_t above = job.gpus;
  for (const std::shared_ptr<const Workload>& smaller : job.smaller_workloads) {
    if (smaller->rank_count >= above) {
      diagnostics.error("elastic-ranks",
                        fmt::format("{} would restart with the {} of workload {}, after one of {}", subject(),
                                    counted(smaller->rank_count, "rank", "ranks"), in_quotes(smaller->name), above),
                        job.place, "give every workload of `elastic` fewer ranks than the job and the workload before it");
    }
    above = smaller->rank_count;
  }
}

}  // namespace weft
