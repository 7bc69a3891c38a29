// SPDX-License-Identifier: Apache-2.0
// Single switch: every host on one non-blocking switch. The fabric of closed forms.
//
// Where it sits: a builder (builders.hpp).
//
// Model: hosts -- one leaf. With gpus_per_host=1 a host is its GPU, cabled to the switch by one
// cable of nic_rate; no NVSwitch, no NIC.
// Thread safety: pure functions.
#pragma once

#include "topologies/builders.hpp"
#include "topologies/builders/clos_fabric.hpp"

namespace weft {

Module<TopologyFactory> single_switch_module();

/// Throws InputError as check_shape() and read_server().
ClosShape single_switch_shape(const ParamSet& params, const SourcePlace& place);

}  // namespace weft
