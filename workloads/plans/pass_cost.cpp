// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/pass_cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
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

Bytes scaled_bytes(Bytes bytes, double factor) {
  return factor == 1.0 ? bytes : Bytes::of(std::llround(static_cast<double>(bytes.count()) * factor));
}

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
  PassCost cost;
  std::vector<Duration> ends;
  std::vector<Span> computing;
  std::vector<std::pair<PlanAxis, Span>> communicating;
  Duration compute_free;
  std::array<Duration, plan_axis_count> axis_free = {};
  for (const TrainingStep& step : pass) {
    Duration begin;
    for (const std::uint32_t before : step.after) begin = std::max(begin, ends[before]);
    Duration end = begin;
    if (const auto* compute = std::get_if<ComputeStep>(&step.what)) {
      begin = std::max(begin, compute_free);
      end = begin + time_of(*compute, operators);
      cost.compute += end - begin;
      compute_free = end;
      computing.push_back({begin, end});
    } else if (const auto* collective = std::get_if<AxisCollective>(&step.what)) {
      Duration& free = axis_free[index_of(collective->axis)];
      begin = std::max(begin, free);
      const bool goes_by_load = collective->goes_by_load || collective->returns_by_load;
      const Bytes input = scaled_bytes(collective->input, goes_by_load ? load : 1.0);
      end = begin + network.collective(collective->axis, collective->type, input);
      free = end;
      communicating.push_back({collective->axis, {begin, end}});
    } else {
      const auto& shift = std::get<ShiftStep>(step.what);
      end = begin + network.message(shift.axis, shift.bytes);
      communicating.push_back({shift.axis, {begin, end}});
    }
    ends.push_back(end);
    cost.time = std::max(cost.time, end);
  }
  for (const auto& [axis, span] : communicating) {
    cost.axes[index_of(axis)].busy += span.end - span.begin;
    cost.axes[index_of(axis)].exposed += uncovered(span, computing);
  }
  return cost;
}

}  // namespace weft
