// SPDX-License-Identifier: Apache-2.0
// Rail-aware: jobs of several hosts take the same GPUs of each host, so that rings over their ranks
// stay on rails.
//
// Where it sits: for rail-optimized fabrics, where GPU (or NIC) j of all hosts of a rail group hang
// on the same switch: a ring over GPUs of equal number inside their hosts crosses one switch only.
//
// Model
//   - A job that fits into one host goes where Packed puts it.
//   - A larger one takes whole hosts in as few rail groups as can be: inside one group if one has
//     room - of several the one that is left with the fewest wholly free hosts -, else over groups
//     of the next tier, those that give the most first (group_placement, few_groups). What is no
//     whole host comes from one more.
//   - Where there are not enough whole hosts, and `whole_hosts` is off: k GPUs of each of n / k
//     hosts for the largest divisor k of n for which so many hosts have one set of k GPUs free,
//     numbers inside the host being equal on all. Sets that are tried: of every host the k free
//     GPUs with the smallest numbers. Again inside one group if one has room, of several the one
//     where the fewest GPUs are free; else over all, those groups first where the most hosts have
//     the set free.
//   - Ranks go host by host, and inside a host by GPU number: with k GPUs on each host, ranks
//     r, r + k, r + 2k ... are on one rail.
// Rail groups are the groups of the lowest tier (host_groups); without a topology so many
// consecutive hosts (parameter hosts_per_leaf).
// Thread safety: immutable.
#pragma once

#include <memory>
#include <optional>

#include "scheduler/placement/host_groups.hpp"
#include "scheduler/placement/placer.hpp"

namespace weft {

class RailAware final : public Placer {
 public:
  RailAware(std::shared_ptr<const Topology> topology, std::uint32_t hosts_per_leaf, bool whole_hosts);
  std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const override;

 private:
  std::optional<HostGroups> groups_;  ///< none without a topology
  std::uint32_t hosts_per_leaf_;
  bool whole_hosts_;
};

Module<PlacerFactory> rail_aware_module();

}  // namespace weft
