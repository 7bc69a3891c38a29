// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/fragmentation_gradient.hpp"

#include <algorithm>
#include <utility>

namespace weft {

FragmentationGradient::FragmentationGradient(std::vector<std::uint32_t> job_sizes) : job_sizes_(std::move(job_sizes)) {
  std::sort(job_sizes_.begin(), job_sizes_.end());
}

std::uint64_t FragmentationGradient::fragmentation(std::uint32_t free, std::uint32_t gpus) const {
  // A job that wants more than the host has needs all of it, and gets it where all is free.
  if (free == gpus) return 0;
  const auto larger = std::upper_bound(job_sizes_.begin(), job_sizes_.end(), free);
  return free * static_cast<std::uint64_t>(job_sizes_.end() - larger);
}

HostId FragmentationGradient::host_with(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken) const {
  return best_host_beside(cluster, gpus, taken, [&](HostId host) {
    const std::uint32_t free = cluster.free_gpus(host);
    const std::uint32_t all = cluster.gpu_count(host);
    return static_cast<std::int64_t>(fragmentation(free - gpus, all)) - static_cast<std::int64_t>(fragmentation(free, all));
  });
}

Module<PlacerFactory> fragmentation_gradient_module() {
  return {{"placement",
           "fragmentation_gradient",
           "The host where the job adds least to the free GPUs that other jobs of the run could not use (ATC 2023); otherwise as "
           "first_fit.",
           {}},
          [](const ParamSet&, const PlacerContext& context) -> std::unique_ptr<Placer> {
            return std::make_unique<FragmentationGradient>(context.job_sizes);
          }};
}

}  // namespace weft
