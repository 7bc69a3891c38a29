// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/rail_aware.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "scheduler/placement/group_placement.hpp"
#include "scheduler/placement/hosts_per_leaf.hpp"
#include "scheduler/placement/packed.hpp"

namespace weft {
namespace {

struct RailAwareSettings {
  bool whole_hosts;
};

constexpr std::array rail_aware_params = {
    hosts_per_leaf_param,
    param<&RailAwareSettings::whole_hosts>(
        {.name = "whole_hosts",
         .default_text = "false",
         .meaning = "true keeps jobs of several hosts waiting until whole hosts are free for them",
         .origin = "a job on equal rails of partly used hosts loses no bandwidth between hosts"}),
};

std::optional<Placement> place_on_whole_hosts(const ClusterState& cluster, const HostGroups& groups, std::uint32_t gpus) {
  for (std::uint32_t tier = 0; tier < groups.tier_count(); ++tier) {
    std::optional<Placement> best;
    std::size_t least = 0;
    for (std::uint32_t group = 0; group < groups.group_count(tier); ++group) {
      const std::vector<HostId>& hosts = groups.hosts(tier, group);
      const auto wholly_free = static_cast<std::size_t>(
          std::count_if(hosts.begin(), hosts.end(), [&](HostId host) { return cluster.is_wholly_free(host); }));
      if (best && wholly_free >= least) continue;
      std::optional<Placement> candidate = place_in_group(cluster, groups, tier, group, gpus, HostOrder::few_groups);
      if (!candidate) candidate = place_in_group(cluster, groups, tier, group, gpus, HostOrder::by_number);
      if (!candidate) continue;
      best = std::move(candidate);
      least = wholly_free;
    }
    if (best) return best;
  }
  return std::nullopt;
}

/// Numbers inside the host, ascending.
using Rails = std::vector<std::uint32_t>;

bool is_free(const ClusterState& cluster, GpuSlot gpu) { return cluster.holder(gpu).is_none() && cluster.is_in_service(gpu); }

Rails free_rails(const ClusterState& cluster, HostId host) {
  Rails rails;
  for (std::uint32_t local = 0; local < cluster.gpu_count(host); ++local) {
    if (is_free(cluster, cluster.slot(host, local))) rails.push_back(local);
  }
  return rails;
}

/// These rails of so many hosts, in as few groups as can be.
std::optional<Placement> place_on_rails(const ClusterState& cluster, const HostGroups& groups, const std::vector<Rails>& free,
                                        const Rails& rails, std::uint32_t host_count) {
  struct Group {
    std::vector<HostId> hosts;    ///< with the rails free
    std::uint32_t free_gpus = 0;  ///< on all its hosts
    std::uint32_t number = 0;
  };
  std::vector<Group> found(groups.group_count(0));
  std::size_t all = 0;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) {
    Group& group = found[groups.group_of(0, HostId(i))];
    group.number = groups.group_of(0, HostId(i));
    group.free_gpus += cluster.free_gpus(HostId(i));
    if (!std::includes(free[i].begin(), free[i].end(), rails.begin(), rails.end())) continue;
    group.hosts.emplace_back(i);
    ++all;
  }
  if (all < host_count) return std::nullopt;
  std::vector<HostId> taken;
  while (taken.size() < host_count) {
    const std::size_t missing = host_count - taken.size();
    const auto rank = [&](const Group& group) {
      const bool takes_all = group.hosts.size() >= missing;
      return std::tuple(!takes_all, takes_all ? group.free_gpus : 0, takes_all ? 0 : SIZE_MAX - group.hosts.size(), group.number);
    };
    const auto next =
        std::min_element(found.begin(), found.end(), [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
    const std::size_t given = std::min(missing, next->hosts.size());
    taken.insert(taken.end(), next->hosts.begin(), next->hosts.begin() + static_cast<std::ptrdiff_t>(given));
    next->hosts.clear();
  }
  sort_by_groups(groups, taken);
  Placement placement;
  for (const HostId host : taken) {
    for (const std::uint32_t local : rails) placement.gpus.push_back(cluster.slot(host, local));
  }
  return placement;
}

std::optional<Placement> place_on_equal_rails(const ClusterState& cluster, const HostGroups& groups, std::uint32_t gpus) {
  std::vector<Rails> free;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) free.push_back(free_rails(cluster, HostId(host)));
  for (std::uint32_t k = cluster.host_gpus_max(); k > 0; --k) {
    if (gpus % k != 0 || gpus / k > cluster.host_count()) continue;
    std::set<Rails> sets;
    for (const Rails& of_host : free) {
      if (of_host.size() >= k) sets.emplace(of_host.begin(), of_host.begin() + k);
    }
    for (const Rails& rails : sets) {
      if (std::optional<Placement> placement = place_on_rails(cluster, groups, free, rails, gpus / k)) return placement;
    }
  }
  return std::nullopt;
}

std::unique_ptr<Placer> make_rail_aware(const ParamSet& params, const PlacerContext& context) {
  return std::make_unique<RailAware>(context.topology, hosts_per_leaf(params), filled<RailAwareSettings>(params).whole_hosts);
}

}  // namespace

RailAware::RailAware(std::shared_ptr<const Topology> topology, std::uint32_t hosts_per_leaf, bool whole_hosts)
    : hosts_per_leaf_(hosts_per_leaf), whole_hosts_(whole_hosts) {
  if (topology != nullptr) groups_.emplace(ClusterState(*topology), *topology);
}

std::optional<Placement> RailAware::place(const ClusterState& cluster, std::uint32_t gpus) const {
  WEFT_CHECK(gpus > 0, "a job to be placed wants GPUs");
  if (cluster.free_gpus() < gpus) return std::nullopt;
  if (gpus <= cluster.host_gpus_max()) return Packed().place(cluster, gpus);
  const std::optional<HostGroups> equal =
      groups_ ? std::nullopt : std::optional<HostGroups>(std::in_place, cluster, hosts_per_leaf_);
  const HostGroups& groups = groups_ ? *groups_ : *equal;
  std::optional<Placement> placement = place_on_whole_hosts(cluster, groups, gpus);
  if (!placement && !whole_hosts_) placement = place_on_equal_rails(cluster, groups, gpus);
  return placement;
}

Module<PlacerFactory> rail_aware_module() {
  return {{"placement", "rail_aware",
           "A job of several hosts takes whole hosts of as few rail groups as can be, or else GPUs of the same numbers on each "
           "host, so that rings over "
           "its ranks stay on rails. Smaller jobs as packed.",
           rail_aware_params},
          make_rail_aware};
}

}  // namespace weft
