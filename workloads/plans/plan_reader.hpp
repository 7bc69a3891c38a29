// SPDX-License-Identifier: Apache-2.0
// Plan reader: parallel plans in protobuf text format (workloads/plan.proto), or by the name of a
// preset, for one model.
//
// Where it sits: whoever is told PLAN on the command line or in a file calls load_plan().
// What a plan leaves open follows from the model (sequence), from the number of GPUs
// (data_parallel) or from the defaults of Megatron-LM for transformers and of PyTorch's
// DistributedDataParallel for others, which plan.proto states. Others are trained with data
// parallelism and their tables spread over all ranks: fields that divide a model otherwise, or
// that speak of sequences or layers of transformers, break a rule.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/preset_text.hpp"
#include "core/text/source_text.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

struct PlanRequest {
  /// A file if it has a dot or a slash, else a preset; "": defaults alone.
  std::string name;
  std::vector<std::string> overrides;  ///< "tensor_parallel=4", in their order
  /// Where each override stands; empty: they are --set of the command line.
  std::vector<SourcePlace> override_places = {};
  std::optional<std::uint64_t> gpus;  ///< that data_parallel may make up; none: one replica
};

/// Throws InputError with every mistake: those of core/text/textproto and of
/// core/text/textproto_override, [unknown-module], [out-of-range], [bad-plan] with the rule that
/// the plan breaks for this model. `place` is where the plan was named.
ParallelPlan load_plan(const PlanRequest& request, const TransformerModel& model, const SourcePlace& place);
ParallelPlan load_plan(const PlanRequest& request, const RecommenderModel& model, const SourcePlace& place);
ParallelPlan load_plan(const PlanRequest& request, const UNetModel& model, const SourcePlace& place);
ParallelPlan load_plan(const PlanRequest& request, const ModelDescription& model, const SourcePlace& place);

/// Looks at the fields of a plan without a model: throws InputError with every mistake that needs
/// none.
void check_plan_fields(const SourceText& source);

// --- Presets ---

/// Every plan that needs no file.
std::span<const PresetText> plan_presets();

/// A paragraph on each preset, in their order: name, origin.
std::vector<std::string> plan_summaries();

}  // namespace weft
