// SPDX-License-Identifier: Apache-2.0
// Clos: three tiers with a chosen number of switches and oversubscription in each.
//
// Where it sits: a builder (builders.hpp). The defaults are the cluster of the paper's section 8.1:
// 4,096 hosts of 8 GPUs, one 400 Gb/s NIC each, 4,096 leafs (one per host), 1,024 aggregation and
// 128 spine switches: spine:aggregation:leaf = 1:8:32.
//
// Model: clos_fabric.hpp with rails = 1. A pod has leafs_per_pod leafs and aggs_per_pod aggregation
// switches, all joined; aggregation switch a of every pod is joined to the spines/aggs_per_pod
// spines of plane a. There are as many pods as the hosts need.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"
#include "topologies/builders/clos_fabric.hpp"

namespace weft {

Module<TopologyFactory> clos_module();

/// Throws InputError as check_shape(), read_server() and uplinks_for().
ClosShape clos_shape(const ParamSet& params, const SourcePlace& place);

}  // namespace weft
