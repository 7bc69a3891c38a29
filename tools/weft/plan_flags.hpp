// SPDX-License-Identifier: Apache-2.0
// The flags that say which model is trained and how it is spread over GPUs, the same for every
// command about a plan.
//
// Where it sits: `weft workload make` has a model and a plan as options, `weft project` as its
// first two arguments.
// Threads: pure functions; the command line is its caller's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "workloads/models/model.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft {

struct PlanFlags {
  std::string model;
  std::string plan;
  std::uint64_t gpus = 0;             ///< 0: as the plan says
  std::vector<std::string> settings;  ///< fields of the plan, "tensor_parallel=4"
};

/// As they were named on the command line.
struct PlanPlaces {
  SourcePlace model;
  SourcePlace plan;
};

struct PlannedModel {
  ModelDescription description;
  ParallelPlan plan;
  PlanPlaces places;

  const TransformerModel& model() const { return *description.transformer(); }
};

struct PlanOptions {
  CLI::Option* model = nullptr;
  CLI::Option* plan = nullptr;
};

/// Adds --model and --plan, which need each other, and --gpus. The caller adds what fills
/// `settings`.
PlanOptions add_plan_options(CLI::App& command, PlanFlags& flags);

/// Adds the arguments MODEL and PLAN, which the command needs, --gpus and --set.
void add_plan_arguments(CLI::App& command, PlanFlags& flags);

PlanPlaces option_places(const PlanFlags& flags);
PlanPlaces argument_places(const PlanFlags& flags);

/// Throws [bad-model] for a model that is no transformer, which projections are for.
const TransformerModel& transformer_of(const ModelDescription& model, const SourcePlace& place);

/// Throws what load_model(), transformer_of() and load_plan() do.
PlannedModel load_planned_model(const PlanFlags& flags, PlanPlaces places);

}  // namespace weft
