// SPDX-License-Identifier: Apache-2.0
// Presets: parameters of machines that were measured, and of other simulators, under one name for a
// run.
//
// Where it sits: `preset` among a run's settings chooses one (`--set=preset=hgx_a100`,
// tools/simulation/scenario/parameters); `weft modules preset` prints them. What is given beside it
// stands. The machine's links are the topology's business: its builder's parameter `server` has
// names for them (topologies/builders/server_presets).
//
// Model: values are of the tables flow, packet, dcqcn, nccl and host. A machine's preset takes the
// constants of its collective library (host/collectives/nccl_tuner) for any topology; a topology
// whose `server` is that machine needs none.
// Thread safety: constants.
#pragma once

#include <span>

#include "core/text/params.hpp"

namespace weft {

/// Every preset; the names of its values are "module.param".
std::span<const ModuleInfo> run_presets();

}  // namespace weft
