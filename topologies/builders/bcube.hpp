// SPDX-License-Identifier: Apache-2.0
// BCube: servers with several ports, joined by small switches only, which pass on each other's
// traffic (Guo et al., SIGCOMM 2009).
//
// Where it sits: a builder (builders.hpp).
//
// Model: section 3 of the paper. BCube_k of n-port switches has n^(k+1) servers with addresses of
// k+1 digits to base n, and k+1 levels of n^k switches. The switch of level l and address without
// digit l joins the n servers that differ in digit l only.
//   In the paper a server relays: it takes a packet in at one port and sends it out at another.
//   Weft's paths never pass through an endpoint, so each server has one NIC with k+1 ports of
//   nic_rate that does the relaying; relayed traffic costs the NIC's ports and no PCIe bandwidth,
//   as with the paper's NetFPGA cards. GPUs are behind the NIC at pcie_rate. Between NICs of
//   servers that differ in d digits the shortest paths have 2d cables: one correct digit per
//   switch, in any order.
// Numbering: servers in order of their addresses, lowest digit first, then switches level by level.
// A NIC's links: its GPUs, then levels 0 to k. A switch's links: digit 0 to n-1.
//
// Not modelled: partial BCubes, source routing over the k+1 parallel paths of which some are
// longer, and the CPU load of relaying.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"

namespace weft {

Module<TopologyFactory> bcube_module();

}  // namespace weft
