// SPDX-License-Identifier: Apache-2.0
// Live set: the activations that a pipeline stage holds at once, from the order of its passes.
//
// Where it sits: stage_memory.hpp asks for the moment at which a stage holds most.
//
// Model: a chunk's activations of a microbatch are held from the start of its forward pass to the
// end of its backward pass; where backward is split, `for_weights` of them from the end of the pass
// for input to that for weights. While a backward pass runs, `working` comes on top. When passes
// run does not matter, their order on the stage does.
//   1f1b              stage i holds min(p - i, m) microbatches
//   interleaved_1f1b  2 (p - 1 - i) + (v - 1) p + 1 chunks of microbatches
//   gpipe             m microbatches
// Behind the warm-up an interleaved schedule repeats itself every p microbatches, so that a few
// groups of p show the most that it ever holds.
// Threads: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/values/units.hpp"
#include "workloads/plans/parallel_plan.hpp"
#include "workloads/schedules/pipeline.hpp"

namespace weft {

/// Bytes of one chunk for one microbatch.
struct ChunkActivations {
  Bytes kept;
  Bytes for_weights;
  Bytes working;
};

/// Microbatches whose activations a chunk holds.
struct LiveChunk {
  std::uint32_t kept = 0;
  std::uint32_t for_weights = 0;  ///< input's gradient is done, that of weights is not

  friend bool operator==(const LiveChunk&, const LiveChunk&) = default;
};

/// The moment at which a stage holds most, the first of them.
struct LivePeak {
  std::vector<LiveChunk> chunks;
  std::optional<std::uint32_t> working_chunk;  ///< whose backward pass runs
  Bytes bytes;
};

LivePeak live_peak(std::span<const PipelinePass> passes, std::span<const ChunkActivations> chunks);

/// Passes of a stage with the same peak as those of the plan's schedule, without times; none where
/// the order depends on times: then ask pipeline_order() for it. Requires: the schedule exists for
/// the plan's numbers.
std::optional<std::vector<PipelinePass>> passes_without_times(const ParallelPlan& plan, std::uint32_t stage);

}  // namespace weft
