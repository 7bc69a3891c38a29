#include "scheduler/placement/fragmentation_gradient.hpp"

#include <algorithm>

namespace weft {

FragmentationGradient::FragmentationGradient(std::span<const std::uint32_t> job_sizes) {
  if (job_sizes.empty()) return;
  larger_than_.assign(*std::max_element(job_sizes.begin(), job_sizes.end()), 0);
  for (const std::uint32_t size : job_sizes) ++larger_than_[size - 1];
  for (std::size_t size = larger_than_.size() - 1; size > 0; --size) larger_than_[size - 1] += larger_than_[size];
}

std::uint64_t FragmentationGradient::fragmentation(std::uint32_t free, std::uint32_t gpus) const {
  // A job that wants more than the host has needs all of it, and gets it where all is free.
  if (free == gpus || free >= larger_than_.size()) return 0;
  return free * larger_than_[free];
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
