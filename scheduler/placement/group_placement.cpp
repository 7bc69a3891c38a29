// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/group_placement.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "core/check.hpp"

namespace weft {
namespace {

struct Part {
  std::uint32_t group = 0;
  std::vector<HostId> hosts;    ///< wholly free ones
  std::uint32_t free_gpus = 0;  ///< of these
};

/// The groups of a tier that these hosts lie in, in order of their numbers.
std::vector<Part> parts_of(const ClusterState& cluster, const HostGroups& groups, std::uint32_t tier,
                           std::span<const HostId> hosts) {
  std::vector<Part> parts;
  std::vector<std::uint32_t> part_of(groups.group_count(tier), UINT32_MAX);
  for (const HostId host : hosts) {
    std::uint32_t& part = part_of[groups.group_of(tier, host)];
    if (part == UINT32_MAX) {
      part = static_cast<std::uint32_t>(parts.size());
      parts.push_back({groups.group_of(tier, host), {}, 0});
    }
    parts[part].hosts.push_back(host);
    parts[part].free_gpus += cluster.gpu_count(host);
  }
  return parts;
}

class Ordering {
 public:
  Ordering(const ClusterState& cluster, const HostGroups& groups, HostOrder order, const GroupPressure& pressure)
      : cluster_(cluster), groups_(groups), order_(order), pressure_(pressure) {}

  /// These wholly free hosts of a group, in the order in which a job of `gpus` takes them.
  std::vector<HostId> ordered(std::uint32_t tier, std::vector<HostId> hosts, std::uint32_t gpus) const {
    if (tier == 0 || order_ == HostOrder::by_number) return hosts;
    std::vector<Part> parts = parts_of(cluster_, groups_, tier - 1, hosts);
    std::vector<HostId> result;
    while (!parts.empty()) {
      const auto next = best(tier - 1, parts, gpus);
      const std::vector<HostId> inside = ordered(tier - 1, std::move(next->hosts), std::min(gpus, next->free_gpus));
      result.insert(result.end(), inside.begin(), inside.end());
      gpus -= std::min(gpus, next->free_gpus);
      parts.erase(next);
    }
    return result;
  }

 private:
  std::vector<Part>::iterator best(std::uint32_t tier, std::vector<Part>& parts, std::uint32_t gpus) const {
    const auto rank = [&](const Part& part) {
      const double pressure = order_ == HostOrder::least_pressure ? pressure_[tier][part.group] : 0;
      const bool takes_all = part.free_gpus >= gpus;
      return std::tuple(pressure, !takes_all,
                        takes_all ? part.free_gpus : std::numeric_limits<std::uint32_t>::max() - part.free_gpus, part.group);
    };
    return std::min_element(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return rank(a) < rank(b); });
  }

  const ClusterState& cluster_;
  const HostGroups& groups_;
  HostOrder order_;
  const GroupPressure& pressure_;
};

/// Where the rest of a job goes; none() if there is no room.
HostId host_for_rest(const ClusterState& cluster, const HostGroups& groups, std::span<const HostId> candidates,
                     std::span<const HostId> taken, std::uint32_t gpus) {
  HostId best = HostId::none();
  std::pair<std::uint32_t, std::uint32_t> least;
  for (const HostId host : candidates) {
    if (cluster.free_gpus(host) < gpus || std::find(taken.begin(), taken.end(), host) != taken.end()) continue;
    std::uint32_t tier = 0;
    while (tier + 1 < groups.tier_count() && std::none_of(taken.begin(), taken.end(), [&](HostId other) {
             return groups.group_of(tier, other) == groups.group_of(tier, host);
           }))
      ++tier;
    const std::pair rank(tier, cluster.free_gpus(host));
    if (!best.is_none() && !(rank < least)) continue;
    best = host;
    least = rank;
  }
  return best;
}

}  // namespace

void sort_by_groups(const HostGroups& groups, std::vector<HostId>& hosts) {
  std::sort(hosts.begin(), hosts.end(), [&](HostId a, HostId b) {
    for (std::uint32_t tier = groups.tier_count(); tier-- > 0;) {
      if (groups.group_of(tier, a) != groups.group_of(tier, b)) return groups.group_of(tier, a) < groups.group_of(tier, b);
    }
    return a < b;
  });
}

std::optional<Placement> place_in_group(const ClusterState& cluster, const HostGroups& groups, std::uint32_t tier,
                                        std::uint32_t group, std::uint32_t gpus, HostOrder order, const GroupPressure& pressure) {
  WEFT_CHECK(gpus > 0, "a job to be placed wants GPUs");
  const std::vector<HostId>& inside = groups.hosts(tier, group);
  std::vector<HostId> free;
  std::copy_if(inside.begin(), inside.end(), std::back_inserter(free), [&](HostId host) { return cluster.is_wholly_free(host); });
  free = Ordering(cluster, groups, order, pressure).ordered(tier, std::move(free), gpus);
  std::vector<HostId> taken;
  std::uint32_t missing = gpus;
  for (const HostId host : free) {
    if (cluster.gpu_count(host) > missing) continue;
    taken.push_back(host);
    missing -= cluster.gpu_count(host);
    if (missing == 0) break;
  }
  HostId rest = HostId::none();
  if (missing > 0) {
    rest = host_for_rest(cluster, groups, inside, taken, missing);
    if (rest.is_none()) return std::nullopt;
    taken.push_back(rest);
  }
  sort_by_groups(groups, taken);
  Placement placement;
  placement.gpus.reserve(gpus);
  for (const HostId host : taken) cluster.append_free(host, host == rest ? missing : cluster.gpu_count(host), placement.gpus);
  return placement;
}

}  // namespace weft
