// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/gpipe.hpp"

#include <utility>

namespace weft {

namespace {

PipelineScheduleResult make_gpipe(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  if (auto broken = check_chunks(sizes, "gpipe", 1)) return *std::move(broken);
  return executed(sizes, {ChunkPlacement::loop, std::vector(sizes.stages, gpipe_passes(sizes))});
}

}  // namespace

std::vector<PipelinePass> gpipe_passes(const PipelineSizes& sizes) {
  std::vector<PipelinePass> passes;
  for (std::uint32_t i = 0; i < sizes.microbatches; ++i) passes.push_back({PassKind::forward, i, 0});
  for (std::uint32_t i = sizes.microbatches; i-- > 0;) passes.push_back({PassKind::backward, i, 0});
  return passes;
}

Module<PipelineScheduleMaker> gpipe_module() {
  return {{"schedule",
           "gpipe",
           "All forward passes, then all backward passes. A device holds the activations of every microbatch. Huang et al., "
           "GPipe, NeurIPS 2019.",
           {}},
          {1, make_gpipe}};
}

}  // namespace weft
