// SPDX-License-Identifier: Apache-2.0
// Topology-aware: a job on as few tiers of the fabric as can be, and among such places where the
// fabric is least busy.
//
// Model
//   - A job that fits into one host goes where Packed puts it: it uses no fabric.
//   - A larger one takes whole hosts and the rest from another (group_placement), inside one group
//     of the lowest tier that has room (host_groups): below one leaf, else within one pod, else
//     anywhere. Candidates are all groups of that tier, with each order of hosts.
//   - Of several candidates the one with the least estimated contention; then on the fewest groups
//     of the lowest tier; then in the group that is left with the fewest wholly free hosts; then
//     the first.
//   - The estimate takes each job of several hosts, running ones and this one, as rings over its
//     hosts, one for each GPU that it has on a host (the most on any): its traffic leaves each
//     group that it does not fill alone once per ring. The rings of all jobs share what leads out
//     of a group equally. With n rings crossing a rate R, the contention of a job is the largest
//     n / R over the groups that its own rings cross: the inverse of the rate that a ring would
//     get by max-min fairness if no other group held others back.
// Without a topology leaves are so many consecutive hosts (parameter hosts_per_leaf).
// Invariant: no job spans more tiers than Packed would let it span where Packed finds a place.
// Thread safety: immutable.
#pragma once

#include <memory>
#include <optional>

#include "scheduler/placement/host_groups.hpp"
#include "scheduler/placement/placer.hpp"

namespace weft {

class TopologyAware final : public Placer {
 public:
  TopologyAware(std::shared_ptr<const Topology> topology, std::uint32_t hosts_per_leaf);
  std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const override;

 private:
  std::optional<HostGroups> groups_;  ///< none without a topology
  std::uint32_t hosts_per_leaf_;
};

/// The estimate above, for a job that runs nowhere yet on these GPUs; 0 for one host or one group
/// of the lowest tier.
double estimated_contention(const ClusterState& cluster, const HostGroups& groups, const Placement& placement);

Module<PlacerFactory> topology_aware_module();

}  // namespace weft
