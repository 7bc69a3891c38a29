// SPDX-License-Identifier: Apache-2.0
// Host groups: which hosts are near each other, tier by tier.
//
// Where it sits: placers that look at the fabric ask it.
//
// Model: two hosts are of one group of tier t if a way over switches of the tiers 1..t joins them
// (tiers as topology_summary counts them). So the groups of tier 1 are the hosts below one leaf, or
// below one set of rail switches; those of tier 2 the pods, and so on. Groups of a tier are
// numbered by their first host. Tiers that join nobody are left out, and so are those after the one
// that joins all hosts. Groups of a tier lie within groups of the next one. Of a group the rate is
// known of all cables that lead out of its switches and hosts, one way.
// Without a topology the groups of tier 1 are equally many consecutive hosts, and nothing is known
// of rates: a group's is that of its GPUs, one each, as in a fabric without oversubscription.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/lifecycle/cluster_state.hpp"
#include "topologies/topology.hpp"

namespace weft {

class HostGroups {
 public:
  /// Equal consecutive groups. Requires: hosts_per_group > 0.
  HostGroups(const ClusterState& cluster, std::uint32_t hosts_per_group);
  HostGroups(const ClusterState& cluster, const Topology& topology);

  /// Of groups, from the narrowest on; the last is that of one group of all hosts. At least 1.
  std::uint32_t tier_count() const { return static_cast<std::uint32_t>(tiers_.size()); }
  std::uint32_t group_count(std::uint32_t tier) const { return static_cast<std::uint32_t>(tiers_[tier].hosts.size()); }
  std::uint32_t group_of(std::uint32_t tier, HostId host) const { return tiers_[tier].group_of_host[host.index()]; }
  /// Ascending.
  const std::vector<HostId>& hosts(std::uint32_t tier, std::uint32_t group) const { return tiers_[tier].hosts[group]; }
  /// Of what leads out of a group, in any unit. > 0 but for the last tier.
  double rate_out(std::uint32_t tier, std::uint32_t group) const { return tiers_[tier].rate_out[group]; }
  /// Tiers that a job crosses: 0 on one host, 1 within a group of tier 1 (index 0), and so on.
  /// Requires: it has GPUs.
  std::uint32_t tiers_spanned(const ClusterState& cluster, const Placement& placement) const;

 private:
  struct Tier {
    std::vector<std::uint32_t> group_of_host;
    std::vector<std::vector<HostId>> hosts;  ///< per group
    std::vector<double> rate_out;            ///< likewise
  };
  void add_tier(std::vector<std::uint32_t> group_of_host);

  std::vector<Tier> tiers_;
};

}  // namespace weft
