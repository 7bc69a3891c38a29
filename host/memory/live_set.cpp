// SPDX-License-Identifier: Apache-2.0
#include "host/memory/live_set.hpp"

#include <algorithm>

#include "workloads/schedules/gpipe.hpp"
#include "workloads/schedules/interleaved_1f1b.hpp"
#include "workloads/schedules/one_forward_one_backward.hpp"

namespace weft {

LivePeak live_peak(std::span<const PipelinePass> passes, std::span<const ChunkActivations> chunks) {
  std::vector<LiveChunk> live(chunks.size());
  Bytes held;
  LivePeak peak{.chunks = live, .working_chunk = std::nullopt, .bytes = Bytes::zero()};
  const auto look = [&](Bytes bytes, std::optional<std::uint32_t> working_chunk) {
    if (bytes <= peak.bytes) return;
    peak.chunks = live;
    peak.working_chunk = working_chunk;
    peak.bytes = bytes;
  };
  for (const PipelinePass& pass : passes) {
    LiveChunk& chunk = live[pass.chunk];
    const ChunkActivations& size = chunks[pass.chunk];
    switch (pass.kind) {
      case PassKind::forward:
        ++chunk.kept;
        held += size.kept;
        look(held, std::nullopt);
        break;
      case PassKind::backward:
        look(held + size.working, pass.chunk);
        --chunk.kept;
        held = held - size.kept;
        break;
      case PassKind::backward_input:
        look(held + size.working, pass.chunk);
        --chunk.kept;
        ++chunk.for_weights;
        held = held - size.kept + size.for_weights;
        look(held, std::nullopt);
        break;
      case PassKind::backward_weight:
        --chunk.for_weights;
        held = held - size.for_weights;
        break;
    }
  }
  return peak;
}

std::optional<std::vector<PipelinePass>> passes_without_times(const ParallelPlan& plan, std::uint32_t stage) {
  PipelineSizes sizes = pipeline_sizes(plan);
  if (plan.pipeline == 1) return std::vector<PipelinePass>{{PassKind::forward, 0, 0}, {PassKind::backward, 0, 0}};
  if (plan.schedule == "1f1b") {
    sizes.microbatches = std::min(sizes.microbatches, sizes.stages);
    return one_forward_one_backward_passes(sizes, stage);
  }
  if (plan.schedule == "interleaved_1f1b") {
    // At most (v + 1) p chunks are warmed up with, a period has v p.
    constexpr std::uint32_t groups = 4;
    sizes.microbatches = std::min(sizes.microbatches, groups * sizes.stages);
    return interleaved_passes(sizes, stage);
  }
  if (plan.schedule == "gpipe") return gpipe_passes(sizes);
  return std::nullopt;
}

}  // namespace weft
