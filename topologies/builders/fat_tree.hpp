// SPDX-License-Identifier: Apache-2.0
// Fat tree: the k-ary fat tree of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008, section 3).
//
// Where it sits: a builder (builders.hpp).
//
// Model: switches with k ports, k even. k pods of k/2 leafs and k/2 second-tier switches; each leaf
// has k/2 hosts; (k/2)^2 spines, each with one cable to every pod. k^3/4 hosts; full bisection
// bandwidth when fabric_rate is the rate of a host.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"
#include "topologies/builders/clos_fabric.hpp"

namespace weft {

Module<TopologyFactory> fat_tree_module();

/// Throws InputError [odd-k], and as check_shape().
ClosShape fat_tree_shape(const ParamSet& params, const SourcePlace& place);

}  // namespace weft
