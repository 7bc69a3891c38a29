// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/host_groups.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/containers/disjoint_sets.hpp"
#include "topologies/topology_summary.hpp"

namespace weft {

void HostGroups::add_tier(std::vector<std::uint32_t> group_of_host) {
  Tier& tier = tiers_.emplace_back();
  tier.group_of_host = std::move(group_of_host);
  for (std::uint32_t host = 0; host < tier.group_of_host.size(); ++host) {
    const std::uint32_t group = tier.group_of_host[host];
    if (group == tier.hosts.size()) tier.hosts.emplace_back();
    tier.hosts[group].emplace_back(host);
  }
  tier.rate_out.assign(tier.hosts.size(), 0);
}

HostGroups::HostGroups(const ClusterState& cluster, std::uint32_t hosts_per_group) {
  WEFT_CHECK(hosts_per_group > 0, "groups have hosts");
  std::vector<std::uint32_t> group_of_host(cluster.host_count());
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) group_of_host[host] = host / hosts_per_group;
  add_tier(std::move(group_of_host));
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host)
    tiers_.front().rate_out[host / hosts_per_group] += cluster.gpu_count(HostId(host));
  if (group_count(0) > 1) add_tier(std::vector<std::uint32_t>(cluster.host_count(), 0));
}

HostGroups::HostGroups(const ClusterState& cluster, const Topology& topology) {
  WEFT_CHECK(cluster.host_count() == topology.host_count(), "groups are of the hosts of the topology");
  const std::vector<std::uint32_t> tier_of = tiers_of(topology);
  std::uint32_t highest = 0;
  for (const std::uint32_t tier : tier_of) highest = tier == TopologySummary::no_tier ? highest : std::max(highest, tier);
  // A host is one node here: whatever is inside it is joined to its first endpoint.
  const auto first_endpoint = [&](HostId host) { return topology.endpoints_of(host).front().index(); };
  DisjointSets joined(topology.node_count());
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    const Node& node = topology.node(NodeId(i));
    if (!node.host.is_none()) joined.join(i, first_endpoint(node.host));
  }
  for (std::uint32_t tier = 0; tier <= highest; ++tier) {
    for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
      const Link& link = topology.link(LinkId(i));
      if (tier_of[link.source.index()] <= tier && tier_of[link.destination.index()] <= tier)
        joined.join(link.source.index(), link.destination.index());
    }
    std::vector<std::uint32_t> group_of_host(topology.host_count());
    std::vector<std::uint32_t> group_of_node(topology.node_count(), UINT32_MAX);
    std::uint32_t groups = 0;
    for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
      std::uint32_t& group = group_of_node[joined.leader(first_endpoint(HostId(host)))];
      if (group == UINT32_MAX) group = groups++;
      group_of_host[host] = group;
    }
    const std::size_t before = tiers_.empty() ? topology.host_count() : tiers_.back().hosts.size();
    if (groups == before && groups > 1) continue;
    add_tier(std::move(group_of_host));
    for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
      const Link& link = topology.link(LinkId(i));
      const std::uint32_t from = joined.leader(link.source.index());
      if (from != joined.leader(link.destination.index()) && group_of_node[from] != UINT32_MAX)
        tiers_.back().rate_out[group_of_node[from]] += link.rate.in_bps();
    }
    if (groups == 1) return;
  }
  WEFT_CHECK(false, "all hosts of a topology are joined");
}

std::uint32_t HostGroups::tiers_spanned(const ClusterState& cluster, const Placement& placement) const {
  const HostId first = cluster.host_of(placement.gpus.front());
  const auto all = [&](const auto& is_near) {
    return std::all_of(placement.gpus.begin(), placement.gpus.end(), [&](GpuSlot gpu) { return is_near(cluster.host_of(gpu)); });
  };
  if (all([&](HostId host) { return host == first; })) return 0;
  std::uint32_t tier = 0;
  while (!all([&](HostId host) { return group_of(tier, host) == group_of(tier, first); })) ++tier;
  return tier + 1;
}

}  // namespace weft
