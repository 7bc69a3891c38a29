// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/one_forward_one_backward.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft {

namespace {

PipelineScheduleResult make_1f1b(const PipelineSizes& sizes, const ParamSet& /*params*/) {
  if (auto broken = check_chunks(sizes, "1f1b", 1)) return *std::move(broken);
  PipelineOrder order;
  for (std::uint32_t device = 0; device < sizes.stages; ++device) {
    order.devices.push_back(one_forward_one_backward_passes(sizes, device));
  }
  return executed(sizes, std::move(order));
}

}  // namespace

std::vector<PipelinePass> one_forward_one_backward_passes(const PipelineSizes& sizes, std::uint32_t device) {
  std::vector<PipelinePass> passes;
  passes.reserve(std::size_t{2} * sizes.microbatches);
  std::uint32_t forward = 0;
  while (forward < std::min(sizes.microbatches, sizes.stages - 1 - device)) passes.push_back({PassKind::forward, forward++, 0});
  for (std::uint32_t backward = 0; backward < sizes.microbatches; ++backward) {
    if (forward < sizes.microbatches) passes.push_back({PassKind::forward, forward++, 0});
    passes.push_back({PassKind::backward, backward, 0});
  }
  return passes;
}

Module<PipelineScheduleMaker> one_forward_one_backward_module() {
  return {{"schedule",
           "1f1b",
           "One forward and one backward pass in turns after a warm-up. The step takes as long as GPipe's, and the first device "
           "holds the activations of as many microbatches as there are stages. Narayanan et al., PipeDream-Flush, ICML 2021.",
           {}},
          {1, make_1f1b}};
}

}  // namespace weft
