// SPDX-License-Identifier: Apache-2.0
// Template "llm": a dense decoder in tensor, pipeline and data parallelism.
//
// Where it sits: one of workload_templates(); templates/transformer has the model.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> llm_module();

}  // namespace weft
