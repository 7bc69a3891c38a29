// SPDX-License-Identifier: Apache-2.0
// Fragmentation gradient: the host on which a job adds least to what the jobs of this run could not
// use (Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
// Gradient Descent", ATC 2023, section 4).
//
// Model: of a host with f of g GPUs free, the fragmentation is the expected number of free GPUs
// that a job cannot use which is drawn from the jobs of the run:
//   F(f, g) = f * P(min(size, g) > f)
// A job larger than a host needs whole ones. A job goes where F(f - n, g) - F(f, g) is least, of
// several hosts the first; otherwise as GangPlacer.
// Thread safety: immutable.
#pragma once

#include <vector>

#include "scheduler/placement/gang_placer.hpp"

namespace weft {

class FragmentationGradient final : public GangPlacer {
 public:
  /// GPUs that each job of the run wants.
  explicit FragmentationGradient(std::vector<std::uint32_t> job_sizes);

  /// F(free, gpus) times the number of jobs: exact.
  std::uint64_t fragmentation(std::uint32_t free, std::uint32_t gpus) const;

 protected:
  HostId host_with(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken) const override;

 private:
  std::vector<std::uint32_t> job_sizes_;  ///< ascending
};

Module<PlacerFactory> fragmentation_gradient_module();

}  // namespace weft
