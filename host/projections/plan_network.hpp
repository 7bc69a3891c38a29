// SPDX-License-Identifier: Apache-2.0
// Plan network: the communication of a plan's axes on a cluster whose network has a formula.
//
// Where it sits: between the network formula, which knows strided groups, and what asks for axes:
// the iteration estimate and workloads that combine what stays inside hosts.
// Threads: as the formula, which outlives the result.
#pragma once

#include "host/projections/network_formula.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

/// The plan is copied. Requires: it fits the formula's cluster.
AxisClock axis_clock(NetworkFormula& formula, const ParallelPlan& plan);

/// The axes all of whose groups share a host over NVLink. Not those of experts with uneven loads,
/// whose ranks wait for each other.
InsideAxes inside_axes(NetworkFormula& formula, const TransformerModel& model, const ParallelPlan& plan);

}  // namespace weft
