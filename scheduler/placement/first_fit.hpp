// SPDX-License-Identifier: Apache-2.0
// First fit: hosts in order, the first with room.
//
// Where it sits: the default Placer.
//
// Model: as GangPlacer, the first host with room; with `scatter` any free GPUs, host by host,
// whatever the job's size, those with the smallest numbers first.
// Thread safety: immutable.
#pragma once

#include "scheduler/placement/gang_placer.hpp"

namespace weft {

class FirstFit final : public GangPlacer {
 public:
  explicit FirstFit(bool scatter = false) : scatter_(scatter) {}
  std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const override;

 protected:
  HostId host_with(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken) const override;

 private:
  bool scatter_;
};

Module<PlacerFactory> first_fit_module();

}  // namespace weft
