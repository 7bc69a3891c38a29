// SPDX-License-Identifier: Apache-2.0
// Projection setup: plans of short Llama-like and Mixtral-like models on clusters of named servers,
// with the analytical times of an H100.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/operator_clock.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "tools/projections/training_projection.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft::projection_setup {

inline SourcePlace place() { return SourcePlace::named("test"); }

struct TestedPlan {
  TransformerModel model;
  ParallelPlan plan;
  Scenario cluster;
  AnalyticalTimes times{gpu_named("h100_sxm", place()), default_settings<AnalyticalSettings>(analytical_params())};
  OperatorClock clock = remembering(operator_clock(times, place()));

  /// `layers` of the model under the plan of 8B with these settings.
  TestedPlan(const std::string& name, std::uint64_t layers, std::vector<std::string> settings, const std::string& server) {
    model = *load_model(name, place()).transformer();
    model.layers = layers;
    settings.insert(settings.begin(), {"context_parallel=1", "global_batch=16", "sequence=4096"});
    plan = load_plan({.name = "llama3_8b_nemo", .overrides = std::move(settings), .gpus = {}}, model, place());
    cluster = load_cluster({.name = server, .gpus = plan.ranks()}, place());
  }

  TrainingRequest request() const {
    return {.model = model,
            .plan = plan,
            .cluster = cluster,
            .operators = clock,
            .name = "test",
            .place = place(),
            .hardware = {},
            .benchmark = {},
            .estimators = {}};
  }
  TrainingProjection projection() const { return project_training(request()); }
};

}  // namespace weft::projection_setup
