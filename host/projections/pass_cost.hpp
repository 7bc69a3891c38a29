// SPDX-License-Identifier: Apache-2.0
// Pass cost: how long one pass of a part of a model takes, and how much of that is communication.
//
// Where it sits: the iteration estimate puts the passes of all parts together.
//
// Model: steps run as the training workload has them - computations one after the other, the
// collectives of an axis one after the other, shifts of both directions at a time - each as soon as
// the steps that it waits for have ended. Exposed is the time of communication that no computation
// hides; where several axes communicate at a time, each has all of it (host/ranks/exposure).
// Threads: pure functions; clocks are called from the caller's thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "core/values/units.hpp"
#include "workloads/plans/training_steps.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

constexpr std::size_t plan_axis_count = static_cast<std::size_t>(PlanAxis::embedding) + 1;

/// How long the ranks of an axis take for a collective (`type`, input of one rank), or for a
/// message from each to the next.
struct AxisClock {
  std::function<Duration(PlanAxis axis, CollectiveType type, Bytes input)> collective;
  std::function<Duration(PlanAxis axis, Bytes bytes)> message;
};

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

/// `load`: what all-to-alls to experts and back move over what they do on even loads.
PassCost cost_of(const TrainingPass& pass, const OperatorClock& operators, const AxisClock& network, double load = 1.0);

}  // namespace weft
