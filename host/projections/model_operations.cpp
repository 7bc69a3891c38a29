// SPDX-License-Identifier: Apache-2.0
#include "host/projections/model_operations.hpp"

#include <variant>

#include "workloads/models/operator.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

namespace {

double operations_of(const TrainingPass& pass) {
  double sum = 0;
  for (const TrainingStep& step : pass) {
    const auto* compute = std::get_if<ComputeStep>(&step.what);
    if (compute == nullptr) continue;
    for (const TimedOperator& timed : compute->operators) sum += product_operations(timed.op.shape, timed.pass);
  }
  return sum;
}

double operations_of(const PartPasses& part) { return operations_of(part.forward) + operations_of(part.backward); }

}  // namespace

double model_operations(const TransformerModel& model, const ParallelPlan& plan) {
  ParallelPlan kept = plan;
  kept.recompute = {};
  const TrainingSteps steps(model, kept);
  const std::uint64_t dense = model.dense_layers();
  double sum = operations_of(steps.input()) + operations_of(steps.output());
  if (dense > 0) sum += static_cast<double>(dense) * operations_of(steps.layer(false));
  if (dense < model.layers) sum += static_cast<double>(model.layers - dense) * operations_of(steps.layer(true));
  return sum * static_cast<double>(plan.microbatches()) * static_cast<double>(plan.stage_ranks());
}

}  // namespace weft
