// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/planned_workload.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/operator_clock.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

Workload make_planned_workload(const PlannedWorkload& planned, const PlannedPlaces& places) {
  const ModelDescription model = load_model(planned.model, places.model);
  const TransformerModel* transformer = model.transformer();
  if (transformer == nullptr) {
    fail("bad-model", fmt::format("{} is no transformer, and plans are for transformers", model.name), places.model,
         "the templates dlrm and unet make workloads of others");
  }
  const ParallelPlan plan = load_plan(planned.plan, *transformer, places.plan);
  const AnalyticalTimes times(gpu_named(planned.gpu, places.gpu), default_settings<AnalyticalSettings>(analytical_params()));
  Workload workload = make_training_workload(fmt::format("{}, {}", model.name, plan.name), *transformer, plan,
                                             operator_clock(times, places.gpu), places.plan);
  workload.assumptions.push_back(fmt::format("operator times are {}", times.origin()));
  return workload;
}

}  // namespace weft
