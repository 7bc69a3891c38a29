// SPDX-License-Identifier: Apache-2.0
// Group placement: where a job of several hosts goes inside a group of hosts.
//
// Where it sits: shared by the placers that look at host groups.
//
// Model: as GangPlacer within the hosts of the group: wholly free hosts, in an order, those skipped
// that are larger than what is still missing; and for the rest another host with room for it: one
// in the narrowest group with a host that is taken already, of these the one that is left with the
// fewest free GPUs. Ranks go group by group, so that a ring over them enters and leaves every group
// once.
// In host order it finds a place inside a group wherever a GangPlacer of the whole cluster would
// find one there.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/placement/host_groups.hpp"

namespace weft {

/// In what order a group gives its hosts.
enum class HostOrder : std::uint8_t {
  by_number,
  /// Group by group within it, so that few of them are entered: of those that can take all that is
  /// missing the one with the fewest wholly free GPUs; if there is none, the one with the most, and
  /// so on.
  few_groups,
  /// Group by group within it, those with the least pressure first.
  least_pressure,
};

/// A number for each group of each tier.
using GroupPressure = std::vector<std::vector<double>>;

/// Requires: gpus > 0, a pressure for every group if the order is by it.
std::optional<Placement> place_in_group(const ClusterState& cluster, const HostGroups& groups, std::uint32_t tier,
                                        std::uint32_t group, std::uint32_t gpus, HostOrder order,
                                        const GroupPressure& pressure = {});

/// Sorts hosts group by group, from the widest on.
void sort_by_groups(const HostGroups& groups, std::vector<HostId>& hosts);

}  // namespace weft
