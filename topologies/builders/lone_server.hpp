// SPDX-License-Identifier: Apache-2.0
// Lone server: the GPUs of one host and what joins them, without a network.
//
// Where it sits: a builder (builders.hpp).
//
// Model: a server (server.hpp) without NICs: GPUs around an NVSwitch, in a full mesh, in the hybrid
// cube mesh of the DGX-1, or on PCIe.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"

namespace weft {

Module<TopologyFactory> lone_server_module();

}  // namespace weft
