// SPDX-License-Identifier: Apache-2.0
// Rail optimised: a NIC per GPU, and a leaf per NIC number, so that GPUs of equal number meet after
// one switch.
//
// Where it sits: a builder (builders.hpp).
//
// Model: clos_fabric.hpp with rails = nics_per_host and two tiers. Hosts are dealt to groups of
// hosts_per_leaf_group; NIC j of each host of a group goes to the group's leaf j (its rail); every
// leaf has a cable to every spine. Traffic between rails of one group crosses a spine too: a path
// never uses another host's NVSwitch, nor its own on the way to another host (a collective may send
// it there first).
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"
#include "topologies/builders/clos_fabric.hpp"

namespace weft {

Module<TopologyFactory> rail_optimized_module();

/// Throws InputError as check_shape(), read_server() and uplinks_for().
ClosShape rail_optimized_shape(const ParamSet& params, const SourcePlace& place);

}  // namespace weft
