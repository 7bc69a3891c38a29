// SPDX-License-Identifier: Apache-2.0
// Operator clock: operator times for whoever needs one for every operator.
//
// Where it sits: workloads of models are made with it; it hands them what an OperatorTimes knows.
// Threads: the clock may be called from any thread while its source lives.
#pragma once

#include "core/text/diagnostics_fwd.hpp"
#include "host/op_times/operator_times.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

/// Throws InputError [no-operator-time] at `place` for an operator that `times` has no time for.
/// `times` outlives it.
OperatorClock operator_clock(const OperatorTimes& times, const SourcePlace& place);

/// Asks the clock once per operator and pass. Belongs to one thread.
OperatorClock remembering(OperatorClock clock);

}  // namespace weft
