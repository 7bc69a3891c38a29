// SPDX-License-Identifier: Apache-2.0
// Template "collectives": one collective after the other, with a pause between them. The plainest
// load for a fabric.
//
// Where it sits: one of workload_templates(). All ranks play one role.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> collectives_module();

}  // namespace weft
