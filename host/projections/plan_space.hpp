// SPDX-License-Identifier: Apache-2.0
// Plan space: every plan by which a model can be trained on so many GPUs.
//
// Where it sits: `weft project search` ranks what is in it.
//
// Model: what the user set stays; of everything else each combination is tried and kept if it
// breaks no rule (plan_rules):
//   tensor_parallel         powers of 2 that divide the heads, within a host
//   context_parallel        powers of 2 up to 8
//   pipeline_parallel       divisors of the remaining GPUs, up to the layers
//   virtual_pipeline        divisors of a stage's layers, up to 12
//   data_parallel           the rest
//   expert_parallel         powers of 2 up to the experts; expert_tensor_parallel 1 or as tensor
//   microbatch              1, 2, 4, 8
//   recompute.kind          KEEP, SELECTIVE (unless attention is fused, which keeps no scores),
//                           UNIFORM
//   zero_stage              1; 3 too without a pipeline
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "workloads/plans/parallel_plan.hpp"

namespace weft {

struct PlanSpace {
  std::string base;                   ///< a file or a preset; "": nothing but defaults
  std::vector<std::string> settings;  ///< "field=value", which are not tried otherwise
  std::uint64_t gpus = 1;
  std::uint32_t gpus_per_host = 8;
};

struct PlanCandidates {
  std::vector<ParallelPlan> plans;  ///< in the order of the rows above
  std::uint64_t refused = 0;        ///< combinations that break a rule
};

/// Throws InputError of load_plan() where what the user set breaks no rule of plans but of files:
/// [unknown-field], [bad-value] ...; [bad-plan] where it divides neither GPUs nor heads, or has
/// more stages than layers.
PlanCandidates plans_in(const PlanSpace& space, const TransformerModel& model, const SourcePlace& place);

}  // namespace weft
