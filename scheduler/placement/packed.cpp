// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/packed.hpp"

namespace weft {

HostId Packed::host_with(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken) const {
  return best_host_beside(cluster, gpus, taken, [&](HostId host) { return cluster.free_gpus(host); });
}

Module<PlacerFactory> packed_module() {
  return {{"placement",
           "packed",
           "Best fit: the fullest host with room, so that empty hosts stay empty for jobs that need whole ones; otherwise as "
           "first_fit.",
           {}},
          [](const ParamSet&, const PlacerContext&) -> std::unique_ptr<Placer> { return std::make_unique<Packed>(); }};
}

}  // namespace weft
