// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/gang_placer.hpp"

#include <algorithm>
#include <vector>

#include "core/check.hpp"

namespace weft {

HostId first_host_beside(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken, HostId from) {
  HostId host = cluster.first_host_with(gpus, from);
  while (!host.is_none() && std::binary_search(taken.begin(), taken.end(), host)) {
    host = cluster.first_host_with(gpus, HostId(host.index() + 1));
  }
  return host;
}

std::optional<Placement> GangPlacer::place(const ClusterState& cluster, std::uint32_t gpus) const {
  WEFT_CHECK(gpus > 0, "a job to be placed wants GPUs");
  if (cluster.free_gpus() < gpus) return std::nullopt;
  std::vector<HostId> whole;
  std::uint32_t missing = gpus;
  if (gpus > cluster.host_gpus_max()) {
    for (HostId host = cluster.first_wholly_free_host(); missing > 0 && !host.is_none();
         host = cluster.first_wholly_free_host(HostId(host.index() + 1))) {
      if (cluster.gpu_count(host) > missing) continue;
      whole.push_back(host);
      missing -= cluster.gpu_count(host);
    }
  }
  const HostId rest = missing > 0 ? host_with(cluster, missing, whole) : HostId::none();
  if (missing > 0 && rest.is_none()) return std::nullopt;
  Placement placement;
  placement.gpus.reserve(gpus);
  for (const HostId host : whole) cluster.append_free(host, cluster.gpu_count(host), placement.gpus);
  if (missing > 0) cluster.append_free(rest, missing, placement.gpus);
  return placement;
}

}  // namespace weft
