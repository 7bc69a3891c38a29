// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/topology_aware.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "scheduler/placement/group_placement.hpp"
#include "scheduler/placement/hosts_per_leaf.hpp"
#include "scheduler/placement/packed.hpp"

namespace weft {
namespace {

constexpr std::array topology_aware_params = {hosts_per_leaf_param};

using GpusByHost = std::map<HostId, std::uint32_t>;

std::uint32_t rings_of(const GpusByHost& job) {
  std::uint32_t most = 0;
  for (const auto& [host, gpus] : job) most = std::max(most, gpus);
  return most;
}

/// The groups of a tier whose boundary a job's rings cross, each once.
std::vector<std::uint32_t> crossed(const HostGroups& groups, std::uint32_t tier, const GpusByHost& job) {
  std::vector<std::uint32_t> result;
  for (const auto& [host, gpus] : job) result.push_back(groups.group_of(tier, host));
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  if (result.size() == 1) result.clear();
  return result;
}

/// Rings of running jobs that leave each group.
GroupPressure rings_out(const ClusterState& cluster, const HostGroups& groups) {
  std::map<JobId, GpusByHost> running;
  for (std::uint32_t slot = 0; slot < cluster.gpu_count(); ++slot) {
    const JobId holder = cluster.holder(GpuSlot(slot));
    if (!holder.is_none()) ++running[holder][cluster.host_of(GpuSlot(slot))];
  }
  GroupPressure rings;
  for (std::uint32_t tier = 0; tier < groups.tier_count(); ++tier) {
    std::vector<double>& of_tier = rings.emplace_back(groups.group_count(tier), 0);
    for (const auto& [id, job] : running) {
      for (const std::uint32_t group : crossed(groups, tier, job)) of_tier[group] += rings_of(job);
    }
  }
  return rings;
}

double contention(const HostGroups& groups, const GroupPressure& rings, const GpusByHost& job) {
  double most = 0;
  for (std::uint32_t tier = 0; tier < groups.tier_count(); ++tier) {
    for (const std::uint32_t group : crossed(groups, tier, job))
      most = std::max(most, (rings[tier][group] + rings_of(job)) / groups.rate_out(tier, group));
  }
  return most;
}

GpusByHost by_host(const ClusterState& cluster, const Placement& placement) {
  GpusByHost result;
  for (const GpuSlot gpu : placement.gpus) ++result[cluster.host_of(gpu)];
  return result;
}

/// The best candidate in the groups of one tier.
std::optional<Placement> best_of_tier(const ClusterState& cluster, const HostGroups& groups, std::uint32_t tier,
                                      std::uint32_t gpus) {
  std::optional<GroupPressure> rings;
  GroupPressure pressure;
  if (tier > 0) {
    rings = rings_out(cluster, groups);
    pressure = *rings;
    for (std::uint32_t below = 0; below < tier; ++below) {
      for (std::uint32_t group = 0; group < groups.group_count(below); ++group)
        pressure[below][group] /= groups.rate_out(below, group);
    }
  }
  std::optional<Placement> best;
  std::tuple<double, std::size_t, std::int64_t> least;
  for (std::uint32_t group = 0; group < groups.group_count(tier); ++group) {
    std::uint32_t free = 0;
    std::int64_t wholly_free = 0;
    for (const HostId host : groups.hosts(tier, group)) {
      free += cluster.free_gpus(host);
      wholly_free += cluster.is_wholly_free(host) ? 1 : 0;
    }
    if (free < gpus) continue;
    for (const HostOrder order : {HostOrder::few_groups, HostOrder::least_pressure, HostOrder::by_number}) {
      // Within a group of the lowest tier all orders are one.
      if (tier == 0 && order != HostOrder::by_number) continue;
      std::optional<Placement> candidate = place_in_group(cluster, groups, tier, group, gpus, order, pressure);
      if (!candidate) continue;
      const GpusByHost job = by_host(cluster, *candidate);
      const std::tuple rank(rings ? contention(groups, *rings, job) : 0.0, crossed(groups, 0, job).size(), wholly_free);
      if (best && !(rank < least)) continue;
      best = std::move(candidate);
      least = rank;
    }
  }
  return best;
}

std::unique_ptr<Placer> make_topology_aware(const ParamSet& params, const PlacerContext& context) {
  return std::make_unique<TopologyAware>(context.topology, hosts_per_leaf(params));
}

}  // namespace

TopologyAware::TopologyAware(std::shared_ptr<const Topology> topology, std::uint32_t hosts_per_leaf)
    : hosts_per_leaf_(hosts_per_leaf) {
  if (topology != nullptr) groups_.emplace(ClusterState(*topology), *topology);
}

double estimated_contention(const ClusterState& cluster, const HostGroups& groups, const Placement& placement) {
  return contention(groups, rings_out(cluster, groups), by_host(cluster, placement));
}

std::optional<Placement> TopologyAware::place(const ClusterState& cluster, std::uint32_t gpus) const {
  WEFT_CHECK(gpus > 0, "a job to be placed wants GPUs");
  if (cluster.free_gpus() < gpus) return std::nullopt;
  if (gpus <= cluster.host_gpus_max()) return Packed().place(cluster, gpus);
  const std::optional<HostGroups> equal =
      groups_ ? std::nullopt : std::optional<HostGroups>(std::in_place, cluster, hosts_per_leaf_);
  const HostGroups& groups = groups_ ? *groups_ : *equal;
  for (std::uint32_t tier = 0; tier < groups.tier_count(); ++tier) {
    if (std::optional<Placement> best = best_of_tier(cluster, groups, tier, gpus)) return best;
  }
  return std::nullopt;
}

Module<PlacerFactory> topology_aware_module() {
  return {{"placement", "topology_aware",
           "A job of several hosts below one leaf if there is room, else in one pod, else anywhere: the fewest tiers; among such "
           "places the one "
           "where rings over the hosts of all jobs would share the links out of leaves and pods with the fewest others. Smaller "
           "jobs as packed.",
           topology_aware_params},
          make_topology_aware};
}

}  // namespace weft
