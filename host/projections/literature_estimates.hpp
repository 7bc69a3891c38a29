// SPDX-License-Identifier: Apache-2.0
// Literature estimates: the published estimators of this folder asked about one plan, as they were
// printed and as they are right.
//
// Where it sits: `weft project training --estimators` prints them beside what Weft finds.
//
// Model: each gets its inputs from the clocks of the projection.
//   composition  stage_composition.hpp: a layer is what one layer computes and its tensor-parallel
//                all-reduces. As published the first stage has ceil(L / P) layers, all layers run
//                forward again, and gradients are all-reduced; else as the plan has it. Chunks of a
//                stage count as one.
//   precision    precision_estimate.hpp, on links inside hosts where the plan has one, else between
//   nodes        node_projection.hpp
// Threads: pure functions; clocks are called from the caller's thread.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "host/projections/component_times.hpp"
#include "host/projections/node_projection.hpp"

namespace weft {

/// What all of them ask. What it refers to outlives it.
struct EstimatedPlan {
  const TransformerModel& model;
  const ParallelPlan& plan;
  const PartClocks& operators;
  const AxisClock& network;
  const HardwareConfig& hardware;
};

struct LiteratureEstimate {
  std::string name;
  std::optional<Duration> published;
  std::optional<Duration> right;
  std::string rule;  ///< why there is none
};

/// Times of components of the plan's stages. Requires: layers without experts.
ComponentTimes clocked_components(const EstimatedPlan& of, Arithmetic arithmetic);

/// AFAB and 1F1B. `table`: instead of times by clocks; null: those. Throws InputError [other-plan]
/// at `place` for a table of another number of stages or microbatches.
std::vector<LiteratureEstimate> composition_estimates(const EstimatedPlan& of, const ComponentTable* table,
                                                      const SourcePlace& place);

/// With the plan's precision and with everything in FP32.
std::vector<LiteratureEstimate> precision_estimates(const EstimatedPlan& of);

/// The hardware with nodes that the plan's GPUs fill, smaller ones where it has less than one of
/// them; or the rule that it breaks.
std::variant<HardwareConfig, std::string> filled_nodes(const HardwareConfig& hardware, const ParallelPlan& plan);

/// On the plan's own GPUs. Layers were timed under `bench`. Throws as project_on_nodes() does.
LiteratureEstimate nodes_estimate(const EstimatedPlan& of, const ParallelPlan& bench, const LayerTimes& times,
                                  const SourcePlace& place);

}  // namespace weft
