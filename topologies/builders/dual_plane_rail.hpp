// SPDX-License-Identifier: Apache-2.0
// Dual-plane rail: rail-optimised hosts whose NICs have two ports to two ToRs, as in Alibaba HPN
// (Qian et al., SIGCOMM 2024).
//
// Where it sits: a builder (builders.hpp).
//
// Model: clos_fabric.hpp with rails = nics_per_host and nic_ports = tors. Hosts are dealt to
// segments; in a segment NIC j of every host has a port to each of the `tors` ToRs (leafs) of rail
// j. Segments are dealt to pods.
//   planes = tors   ToR t of every rail belongs to plane t, which has its own aggs_per_plane
//                   aggregation switches: a flow that left by port t comes in by port t (the paper:
//                   no hash polarisation, and one ToR may fail)
//   planes = 1      all ToRs of a pod share the aggregation switches: dual ToR without dual plane
// Every ToR has a cable to each aggregation switch of its plane and pod; an aggregation switch to
// each of its cores_per_agg core switches (spines), which it shares with the switches of equal
// number in other pods. Without cores there is one pod.
//
// ECMP picks the port of the NIC for every flow; moving flows to the other port after a failure,
// and core switches that join several aggregation switches of one pod, are not modelled.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"
#include "topologies/builders/clos_fabric.hpp"

namespace weft {

Module<TopologyFactory> dual_plane_rail_module();

/// Throws InputError as check_shape() and read_servers(), and [bad-shape] for planes that are
/// neither 1 nor tors.
ClosShape dual_plane_rail_shape(const ParamSet& params, const SourcePlace& place);

}  // namespace weft
