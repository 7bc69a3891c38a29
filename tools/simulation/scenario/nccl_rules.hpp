// SPDX-License-Identifier: Apache-2.0
// The rule set `nccl` as text: for every machine which algorithm and protocol the tuner takes from
// which size on, and what it weighs.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "core/text/params.hpp"

namespace weft {

/// Comment lines of a file of rules (host/rules_file.proto), as found by asking the tuner
/// (host/collectives/nccl_tuning_table) for groups of hosts of each machine in a rail-optimized
/// fabric. `machines` are of nccl_machines(), `nccl` is over nccl_params(). Throws what sets that
/// do not fit each other throw.
std::string nccl_rules_text(std::span<const ModuleInfo> machines, const ParamSet& nccl);

}  // namespace weft
