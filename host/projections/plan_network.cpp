// SPDX-License-Identifier: Apache-2.0
#include "host/projections/plan_network.hpp"

namespace weft {

namespace {

StridedGroup group_of(PlanAxis axis, const ParallelPlan& plan) { return {size_of(axis, plan), stride_of(axis, plan)}; }

}  // namespace

AxisClock axis_clock(NetworkFormula& formula, const ParallelPlan& plan) {
  AxisClock clock;
  clock.collective = [&formula, plan](PlanAxis axis, CollectiveType type, Bytes input) {
    return formula.collective(group_of(axis, plan), type, input);
  };
  clock.message = [&formula, plan](PlanAxis axis, Bytes bytes) { return formula.message(group_of(axis, plan), bytes); };
  return clock;
}

InsideAxes inside_axes(NetworkFormula& formula, const TransformerModel& model, const ParallelPlan& plan) {
  InsideAxes inside;
  inside.clock = axis_clock(formula, plan);
  const bool is_uneven = model.experts && !model.experts->load_shares.empty();
  for (const PlanAxis axis : {PlanAxis::tensor, PlanAxis::context, PlanAxis::expert, PlanAxis::expert_tensor}) {
    const bool may_differ = is_uneven && (axis == PlanAxis::expert || axis == PlanAxis::expert_tensor);
    inside.is_inside[static_cast<std::size_t>(axis)] = !may_differ && formula.stays_inside(group_of(axis, plan));
  }
  return inside;
}

}  // namespace weft
