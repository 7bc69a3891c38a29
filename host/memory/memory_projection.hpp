// SPDX-License-Identifier: Apache-2.0
// Memory projection: what each pipeline stage of a plan needs on one GPU, at the moment at which it
// needs most.
//
// Where it sits: `weft project memory` prints it, a search asks it whether a plan fits. Every rank
// of a stage needs the same; where experts have uneven loads, the one with the most tokens counts.
//
// Model, for the P parameters that a rank of the stage holds, R replicas of them (dense ones and
// experts apart) and the bytes of precision.hpp:
//   parameters     P, over R under ZeRO 3; else under torch.amp a copy in half precision, too, and
//                  under FP8 and FP4 of layers' weights one by rows and one by columns, as
//                  Transformer Engine keeps them
//   gradients      P, over R under ZeRO 2 and 3
//   optimizer      master copy and moments P, over R under ZeRO 1 to 3
//   activations    live set of the schedule (live_set.hpp) x chunks (activation_memory.hpp)
//   working        what the backward pass at that moment needs for a while: layers computed again,
//                  gradients of activations, logits; messages between stages; under ZeRO 2 a bucket
//                  of gradients before it is reduced; under ZeRO 3 the parameters of the unit at
//                  work and of the next one, and gradients of a unit
//   communicators  16 channels of 9,633,792 B for each (NCCL 2, defaults of src/include: buffers of
//                  LL, LL128 and Simple)
// Left out: the context of the driver, workspaces of libraries, what an allocator wastes; a
// benchmark measures them (benchmark_projection.hpp).
// Threads: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/values/units.hpp"
#include "host/memory/live_set.hpp"
#include "workloads/models/model.hpp"
#include "workloads/plans/parallel_plan.hpp"
#include "workloads/schedules/pipeline.hpp"

namespace weft {

struct ComponentMemory {
  std::string_view name;
  std::uint64_t parameters = 0;  ///< that the rank holds
  Bytes activations;             ///< of one microbatch in all chunks of the stage
  Bytes at_peak;                 ///< of all microbatches that are held then
};

struct StageMemory {
  std::uint32_t stage = 0;
  std::uint64_t layers = 0;
  std::uint64_t held = 0;  ///< parameters
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes working;
  Bytes communicators;
  LivePeak peak;
  Bytes recomputed;   ///< part of working
  Bytes for_weights;  ///< part of activations: what waits for its weights' gradients
  std::vector<ComponentMemory> components;

  Bytes total() const { return parameters + gradients + optimizer + activations + working + communicators; }
};

struct MemoryProjection {
  std::vector<StageMemory> stages;

  /// The stage that needs most, the first of them.
  const StageMemory& worst() const;
};

/// What measured activations of layers are over calculated ones.
struct ActivationCorrection {
  double dense_layer = 1.0;
  double expert_layer = 1.0;
};

/// Has the plan's schedule an order that depends on times?
bool needs_order(const ParallelPlan& plan);

/// Requires: the plan breaks no rule for the model, its schedule exists for its numbers.
MemoryProjection project_memory(const TransformerModel& model, const ParallelPlan& plan, const PipelineOrder& order,
                                const ActivationCorrection& correction = {});

/// The same without an order. Requires: !needs_order(plan).
MemoryProjection project_memory(const TransformerModel& model, const ParallelPlan& plan,
                                const ActivationCorrection& correction = {});

/// Buffers of one rank's communicators; `is_end`: of the first or last stage.
Bytes communicator_memory(const TransformerModel& model, const ParallelPlan& plan, bool is_end);

}  // namespace weft
