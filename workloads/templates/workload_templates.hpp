// SPDX-License-Identifier: Apache-2.0
// Workload templates: workloads that are made from a name and parameters, for users who have no
// trace.
//
// Where it sits: `weft workload make` chooses one by name, `weft modules template` prints them. A
// template is one file that ends in a Module; adding one means adding its line to
// workload_templates.cpp.
//
// Shapes of the DAGs, sizes of tensors and groups of ranks follow the named training scheme; how
// long compute takes is a number that the user gives, or floating-point operations over a rate.
// What a template assumes it lists in Workload::assumptions. Impossible combinations of parameters
// are InputErrors at the given place: [bad-plan], [too-large].
// Thread safety: constants; factories may be called from any thread.
#pragma once

#include <span>

#include "core/text/params.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

using WorkloadFactory = Workload (*)(const ParamSet& params, const SourcePlace& place);

/// Every template, in the order in which they are printed.
std::span<const Module<WorkloadFactory>> workload_templates();

}  // namespace weft
