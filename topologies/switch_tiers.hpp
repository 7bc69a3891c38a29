// SPDX-License-Identifier: Apache-2.0
// Switch tiers: how far up in the fabric a packet switch is, for settings that are given by tier.
//
// Where it sits: `switches { tier: 1 }` of a scenario. Topologies of foreign formats and of nodes
// and links say nothing of levels; builders do.
//
// Model: the tier is the level of the switch (1 = leaf, 2 = aggregation, 3 = spine) where the
// topology says it. Where it does not, it is as topology_summary counts tiers: a switch that is
// cabled to a host is of tier 1, and any other of one more than the lowest next to it.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/topology.hpp"

namespace weft {

/// By node; 0 for what is no packet switch, or joined to nothing.
std::vector<std::uint32_t> switch_tiers(const Topology& topology);

}  // namespace weft
