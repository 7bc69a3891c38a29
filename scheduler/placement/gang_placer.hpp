// SPDX-License-Identifier: Apache-2.0
// Gang placer: what placers share that keep a job on as few hosts as it needs; they differ in which
// host takes it.
//
// Model
//   - A job that fits into one host (no more GPUs than the largest host has) takes a host with as
//     many free, chosen by the placer.
//   - A larger job takes wholly free hosts in order, as long as they are not larger than what is
//     still missing, and the rest from another host with room for it, chosen by the placer.
//   - On an empty cluster a job with no more GPUs than the cluster always finds a place: a host
//     passed over has room for the rest.
//   Inside a host the GPUs with the smallest numbers are taken.
// Thread safety: immutable.
#pragma once

#include <optional>
#include <span>

#include "scheduler/placement/placer.hpp"

namespace weft {

class GangPlacer : public Placer {
 public:
  std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const override;

 protected:
  /// A host with as many GPUs free, none of `taken`, which ascend; none() if there is none.
  /// Requires: gpus > 0.
  virtual HostId host_with(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken) const = 0;
};

/// The first host with as many GPUs free from `from` on, none of `taken`, which ascend; none() if
/// there is none.
HostId first_host_beside(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken, HostId from = HostId(0));

/// Of all such hosts the one with the least score(host), of several the first.
template <class Score>
HostId best_host_beside(const ClusterState& cluster, std::uint32_t gpus, std::span<const HostId> taken, const Score& score) {
  HostId best = first_host_beside(cluster, gpus, taken);
  if (best.is_none()) return best;
  auto least = score(best);
  for (HostId host = best;;) {
    host = first_host_beside(cluster, gpus, taken, HostId(host.index() + 1));
    if (host.is_none()) return best;
    const auto of_host = score(host);
    if (!(of_host < least)) continue;
    best = host;
    least = of_host;
  }
}

}  // namespace weft
