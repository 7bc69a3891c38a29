// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/planned_workload.hpp"

#include <variant>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/operator_clock.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/block_workload.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

Workload make_planned_workload(const PlannedWorkload& planned, const PlannedPlaces& places) {
  const ModelDescription model = load_model(planned.model, places.model);
  const ParallelPlan plan = load_plan(planned.plan, model, places.plan);
  const AnalyticalTimes times(gpu_named(planned.gpu, places.gpu), default_settings<AnalyticalSettings>(analytical_params()));
  const OperatorClock clock = operator_clock(times, places.gpu);
  const std::string name = fmt::format("{}, {}", model.name, plan.name);
  Workload workload =
      std::visit([&](const auto& what) { return make_training_workload(name, what, plan, clock, places.plan); }, model.what);
  workload.assumptions.push_back(fmt::format("operator times are {}", times.origin()));
  return workload;
}

}  // namespace weft
