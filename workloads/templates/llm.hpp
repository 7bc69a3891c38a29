// SPDX-License-Identifier: Apache-2.0
// Template "llm": a dense decoder in tensor, context, pipeline and data parallelism.
//
// Where it sits: one of workload_templates(); templates/transformer makes model and plan of it.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> llm_module();

}  // namespace weft
