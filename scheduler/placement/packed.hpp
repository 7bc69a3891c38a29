// SPDX-License-Identifier: Apache-2.0
// Packed: best fit - the host that is left with the fewest free GPUs, so that wholly free hosts
// stay so for large jobs.
//
// Model: as GangPlacer.
// Thread safety: immutable.
#pragma once

#include "scheduler/placement/gang_placer.hpp"

namespace weft {

class Packed final : public GangPlacer {
 protected:
  HostId host_with(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken) const override;
};

Module<PlacerFactory> packed_module();

}  // namespace weft
