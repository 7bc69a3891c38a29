// SPDX-License-Identifier: Apache-2.0
// Pass cost: how long one pass of a part of a model takes, and how much of that is communication.
//
// Where it sits: projections put the passes of all parts together (host/projections); the training
// workload asks it for what stays inside hosts, where that is not simulated.
//
// Model: steps run as the training workload has them - computations one after the other, the
// collectives of an axis one after the other, and so its shifts, which go the same way - each as
// soon as the steps that it waits for have ended. Exposed is the time of communication that no
// computation hides; where several axes communicate at a time, each has all of it
// (host/ranks/exposure).
// Threads: pure functions; clocks are called from the caller's thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "core/values/units.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

struct AxisTime {
  Duration busy;
  Duration exposed;
};

struct PassCost {
  Duration time;
  Duration compute;
  std::array<AxisTime, plan_axis_count> axes;

  /// The other follows.
  PassCost& operator+=(const PassCost& next);
};

/// What one rank gives to a collective, of which `load` is as below.
Bytes input_of(const AxisCollective& collective, double load);

/// Of one step: its communication, or nothing where it computes.
using StepCost = AxisTime;

/// By step. `load` as below.
std::vector<StepCost> step_costs(const TrainingPass& pass, const OperatorClock& operators, const AxisClock& network,
                                 double load = 1.0);

/// `load`: what all-to-alls to experts and back move over what they do on even loads.
PassCost cost_of(const TrainingPass& pass, const OperatorClock& operators, const AxisClock& network, double load = 1.0);

}  // namespace weft
