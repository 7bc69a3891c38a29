// SPDX-License-Identifier: Apache-2.0
// Template "moe": a decoder whose MLPs are experts, spread over ranks that exchange tokens by
// all-to-alls.
//
// Where it sits: one of workload_templates(); templates/transformer makes model and plan of it.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> moe_module();

}  // namespace weft
