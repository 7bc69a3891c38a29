// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/pass_cost.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "workloads/plans/stage_program.hpp"

namespace weft {

namespace {

struct Span {
  Duration begin;
  Duration end;
};

/// Of a span, what no computation covers. `computing` is in order and does not overlap.
Duration uncovered(const Span& span, const std::vector<Span>& computing) {
  Duration open = span.end - span.begin;
  for (const Span& one : computing) {
    const Duration begin = std::max(one.begin, span.begin);
    const Duration end = std::min(one.end, span.end);
    if (begin < end) open -= end - begin;
  }
  return open;
}

std::size_t index_of(PlanAxis axis) { return static_cast<std::size_t>(axis); }

/// When each step of a pass runs.
struct PassTimeline {
  struct Step {
    Span span;
    std::optional<PlanAxis> axis;  ///< none: it computes
  };

  PassTimeline(const TrainingPass& pass, const OperatorClock& operators, const AxisClock& network, double load) {
    Duration compute_free;
    std::array<Duration, plan_axis_count> axis_free = {};
    std::array<Duration, plan_axis_count> shift_free = {};
    steps.reserve(pass.size());
    for (const TrainingStep& step : pass) {
      Duration begin;
      for (const std::uint32_t before : step.after) begin = std::max(begin, steps[before].span.end);
      Step timed{{begin, begin}, std::nullopt};
      Span& span = timed.span;
      if (const auto* work = std::get_if<ComputeStep>(&step.what)) {
        span.begin = std::max(begin, compute_free);
        span.end = span.begin + time_of(*work, operators);
        compute += span.end - span.begin;
        compute_free = span.end;
        computing.push_back(span);
      } else if (const auto* collective = std::get_if<AxisCollective>(&step.what)) {
        Duration& free = axis_free[index_of(collective->axis)];
        span.begin = std::max(begin, free);
        span.end = span.begin + network.collective(collective->axis, collective->type, input_of(*collective, load));
        free = span.end;
        timed.axis = collective->axis;
      } else {
        const auto& shift = std::get<ShiftStep>(step.what);
        Duration& free = shift_free[index_of(shift.axis)];
        span.begin = std::max(begin, free);
        span.end = span.begin + network.message(shift.axis, shift.bytes);
        free = span.end;
        timed.axis = shift.axis;
      }
      end = std::max(end, span.end);
      steps.push_back(timed);
    }
  }

  std::vector<Step> steps;
  std::vector<Span> computing;  ///< in order
  Duration compute;
  Duration end;
};

}  // namespace

PassCost& PassCost::operator+=(const PassCost& next) {
  time += next.time;
  compute += next.compute;
  for (std::size_t axis = 0; axis < plan_axis_count; ++axis) {
    axes[axis].busy += next.axes[axis].busy;
    axes[axis].exposed += next.axes[axis].exposed;
  }
  return *this;
}

PassCost cost_of(const TrainingPass& pass, const OperatorClock& operators, const AxisClock& network, double load) {
  const PassTimeline timeline(pass, operators, network, load);
  PassCost cost{.time = timeline.end, .compute = timeline.compute, .axes = {}};
  for (const PassTimeline::Step& step : timeline.steps) {
    if (!step.axis) continue;
    AxisTime& axis = cost.axes[index_of(*step.axis)];
    axis.busy += step.span.end - step.span.begin;
    axis.exposed += uncovered(step.span, timeline.computing);
  }
  return cost;
}

Bytes input_of(const AxisCollective& collective, double load) {
  const bool goes_by_load = collective.goes_by_load || collective.returns_by_load;
  if (!goes_by_load || load == 1.0) return collective.input;
  return Bytes::of(std::llround(static_cast<double>(collective.input.count()) * load));
}

std::vector<StepCost> step_costs(const TrainingPass& pass, const OperatorClock& operators, const AxisClock& network, double load) {
  const PassTimeline timeline(pass, operators, network, load);
  std::vector<StepCost> costs;
  for (const PassTimeline::Step& step : timeline.steps) {
    costs.push_back(step.axis ? StepCost{step.span.end - step.span.begin, uncovered(step.span, timeline.computing)} : StepCost{});
  }
  return costs;
}

}  // namespace weft
