// Presets: parameters of machines that were measured, and of other simulators, under one name for a run.
//
// Where it sits: `preset` among a run's settings chooses one (`--set=preset=hgx_a100`, tools/weft/parameters); `weft modules preset` prints
// them. What is given beside it stands. The machine's links are the topology's business: its builder's parameter `server` has names for
// them (topologies/builders/server_presets).
//
// Model: values are of the tables flow, packet, dcqcn, collective and host. Those that are no data sheet's were fitted to all-reduces of NCCL on that machine;
// tests/validation/README.md has the table of measured and simulated times.
// Thread safety: constants.
#pragma once

#include <span>

#include "core/params.hpp"

namespace weft {

/// Every preset; the names of its values are "module.param".
std::span<const ModuleInfo> run_presets();

}  // namespace weft
